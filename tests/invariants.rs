//! Invariants over a real run: as it was recorded all hold that could be seen, and each is found broken when just that is changed.
//!
//! The run is `workflows/join/parallel.yaml`, without what no invariant hears. Calls of clients and of kubeadm are put in: it had neither
//! a load nor a proxy.

use std::path::Path;
use std::time::Duration;

use joinder::event::{CallEnd, ClientCall, EtcdCall, EtcdSample, Event, MemberId, Moment, Notice, Op, Outcome, Told, Verdict, Work};
use joinder::expect::Invariance;
use joinder::spec::{Invariant, Invariants};
use joinder::sys::clock::Stamp;

const FIRST: &str = "joinder-control-plane-1";
const JOINER: &str = "joinder-control-plane-3";

fn recorded() -> Vec<Told> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/invariants/events.jsonl");
    let text = std::fs::read_to_string(path).expect("read");
    let told: Vec<Told> = text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    assert!(told.len() > 100, "{} events", told.len());
    loaded(told)
}

/// A client writes each 50 ms from the first member's first list to the last event of any member, and a proxy sees each joiner's calls.
fn loaded(told: Vec<Told>) -> Vec<Told> {
    let from = told.iter().find_map(|t| sample(&t.event).filter(|s| s.members.is_some()).map(|_| t.at)).expect("a list");
    let to = told.iter().rfind(|t| sample(&t.event).is_some()).expect("a look").at;
    let mut next = from;
    let mut all = Vec::new();
    for one in told {
        while next <= one.at && next <= to {
            all.push(Told { seq: 0, at: next, event: write(next) });
            next = next.after(Duration::from_millis(50));
        }
        let asks = matches!(&one.event, Event::Member { moment: Moment::Announced, .. }).then(|| asks(JOINER, "10.213.0.11:2379", one.at));
        all.push(one.clone());
        all.extend(asks.map(|event| Told { event, ..one }));
    }
    // as if they had been told so
    for (at, one) in (1..).zip(&mut all) {
        one.seq = at;
    }
    all
}

fn write(at: Stamp) -> Event {
    let call = ClientCall {
        client: "writer".into(),
        node: FIRST.into(),
        op: Op::Write,
        key: "k".into(),
        value: Some(1),
        began: at,
        ended: at,
        end: CallEnd::Ok,
        revision: 1,
    };
    Event::Called { call }
}

fn asks(node: &str, endpoint: &str, at: Stamp) -> Event {
    let call = EtcdCall {
        method: "MemberList".into(),
        endpoint: endpoint.into(),
        began: at,
        ended: at,
        answered: Some(0),
        said: String::new(),
        disturbed: None,
    };
    Event::Proxied { node: node.into(), call }
}

fn sample(event: &Event) -> Option<&EtcdSample> {
    if let Event::Etcd { sample, .. } = event { Some(sample) } else { None }
}

/// Changes what each look shows, from the moment on at which `from` holds.
fn looks(told: &mut [Told], from: impl Fn(&Event) -> bool, change: impl Fn(&str, &mut EtcdSample)) {
    let begin = told.iter().position(|t| from(&t.event)).expect("there");
    for one in &mut told[begin..] {
        if let Event::Etcd { node, sample } = &mut one.event {
            change(node, sample);
        }
    }
}

fn joined(event: &Event) -> bool {
    matches!(event, Event::Worked { work: Work::Join, on, .. } if on == JOINER)
}

fn last_promotion(told: &[Told]) -> usize {
    told.iter().rposition(|t| matches!(t.event, Event::Member { moment: Moment::Promoted, .. })).expect("promoted")
}

/// The changes that break it.
fn spoil(one: Invariant, told: &mut Vec<Told>) {
    match one {
        Invariant::OneCluster => {
            let status = told
                .iter_mut()
                .rev()
                .find_map(|t| if let Event::Etcd { sample, .. } = &mut t.event { sample.status.as_mut() } else { None });
            status.expect("a status").cluster = MemberId(1);
        }
        Invariant::SameList => looks(told, joined, |node, sample| {
            if let (FIRST, Some(list)) = (node, &mut sample.members) {
                list.retain(|member| member.name != "joinder-control-plane-2");
            }
        }),
        Invariant::Started => looks(told, joined, |_, sample| {
            for member in sample.members.iter_mut().flatten().filter(|member| member.name == JOINER) {
                member.name.clear();
            }
        }),
        Invariant::LearnerLimit => {
            let two = |list: &&mut Vec<joinder::event::Member>| list.len() > 1 && list.iter().any(|member| member.learner);
            let lists =
                told.iter_mut().filter_map(|t| if let Event::Etcd { sample, .. } = &mut t.event { sample.members.as_mut() } else { None });
            lists.into_iter().find(two).expect("a learner").iter_mut().for_each(|member| member.learner = true);
        }
        Invariant::LearnerFlag => looks(told, joined, |node, sample| {
            if let (JOINER, Some(status)) = (node, &mut sample.status) {
                status.learner = true;
            }
        }),
        Invariant::WriteGap => {
            // from the last promotion on no write is acknowledged
            let (at, mut waits) = (last_promotion(told), None);
            for one in &mut told[at..] {
                if let Event::Called { call } = &mut one.event {
                    call.end = CallEnd::Unknown { why: "late".into() };
                    call.began = *waits.get_or_insert(call.began);
                }
            }
        }
        // its list never shows what kubeadm has seen
        Invariant::Truthful => looks(
            told,
            |_| true,
            |_, sample| {
                for member in sample.members.iter_mut().flatten().filter(|member| member.name == JOINER) {
                    member.learner = true;
                }
            },
        ),
        Invariant::InitialCluster => {
            let joins = |t: &mut Told| {
                let Event::Noticed { notice: Notice::InitialCluster { entries }, .. } = &mut t.event else { return false };
                let joins = entries.len() > 1;
                entries.retain(|entry| !joins || !entry.starts_with(FIRST));
                joins
            };
            assert!(told.iter_mut().any(joins), "a join's manifest");
        }
        Invariant::Endpoints => {
            let asked = told.iter_mut().find_map(|t| if let Event::Proxied { call, .. } = &mut t.event { Some(call) } else { None });
            asked.expect("a call").endpoint = "10.213.0.13:2379".into();
        }
        Invariant::DataEqual => {
            for one in told {
                if let Event::Noticed { node, notice: Notice::DataHash { hash, .. }, .. } = &mut one.event {
                    *hash += u32::from(node == JOINER);
                }
            }
        }
        Invariant::Limits | Invariant::Cause | Invariant::NothingLeft => ends(one, told),
        Invariant::OneLeader => looks(told, joined, |node, sample| {
            if let (JOINER, Some(status)) = (node, &mut sample.status) {
                status.leader = MemberId(1);
            }
        }),
        Invariant::NoAlarm => {
            let status =
                told.iter_mut().find_map(|t| if let Event::Etcd { sample, .. } = &mut t.event { sample.status.as_mut() } else { None });
            status.expect("a status").errors.push("memberID:1 alarm:CORRUPT ".into());
        }
        Invariant::StableLeader => {
            // another term with each look, which is more often than there are joins
            let at = last_promotion(told);
            let statuses = told[at..]
                .iter_mut()
                .filter_map(|t| if let Event::Etcd { sample, .. } = &mut t.event { sample.status.as_mut() } else { None });
            for (status, term) in statuses.zip(3..) {
                status.term = term;
            }
        }
    }
}

/// What the ends of tasks, of kubeadm and of cleanup say.
fn ends(one: Invariant, told: &mut [Told]) {
    for told in told {
        if let (Invariant::Limits, Event::TaskFinished { outcome, counts, .. }) = (one, &mut told.event) {
            (*outcome, *counts) = (Outcome::TimedOut { limit: Duration::from_mins(5) }, true);
        }
        if let (Invariant::Cause, Event::KubeadmFinished { code, error, .. }) = (one, &mut told.event) {
            (*code, *error) = (Some(1), None);
        }
        if let (Invariant::NothingLeft, Event::Cleaned { left, .. }) = (one, &mut told.event) {
            left.push("network joinder: in use".into());
        }
    }
}

fn judged(which: &Invariants, told: &[Told]) -> Vec<joinder::event::Judgement> {
    let mut all = Invariance::new(which, 1);
    let mut judgements: Vec<_> = told.iter().flat_map(|told| all.hear(told)).collect();
    judgements.extend(all.end());
    judgements
}

#[test]
fn all_that_could_be_seen_of_a_real_run_holds() {
    let lines: Vec<String> =
        judged(&Invariants::default(), &recorded()).into_iter().map(|j| format!("{:?} {}: {}", j.verdict, j.name, j.saw)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn each_is_found_broken_when_just_that_is_changed() {
    for one in Invariant::ALL {
        let off = Invariant::ALL.into_iter().filter(|other| *other != one).collect();
        let which = Invariants { off, ..Invariants::default() };
        let mut told = recorded();
        let before = judged(&which, &told).remove(0).verdict;
        let wanted = if one == Invariant::Cause { Verdict::NotApplicable } else { Verdict::Pass };
        assert_eq!(before, wanted, "{}", one.title());
        spoil(one, &mut told);
        let judgement = judged(&which, &told).remove(0);
        assert_eq!(judgement.verdict, Verdict::Fail, "{}: {}", judgement.name, judgement.saw);
        assert!(!judgement.evidence.is_empty() && judgement.evidence.iter().all(|seq| *seq > 0), "{}", judgement.name);
    }
}

/// A run tells some hundred events a second. What is kept must not make the later ones dearer: measured, 20 µs each in a debug build.
#[test]
fn a_long_run_is_heard_in_no_time() {
    let told = recorded();
    let mut all = Invariance::new(&Invariants::default(), 1);
    let began = Stamp::now();
    let mut heard = 0_u32;
    for _ in 0..20 {
        for one in &told {
            all.hear(one);
            heard += 1;
        }
    }
    // a hundred times of what was measured: the machine may be busy
    let each = Stamp::now().since(began) / heard;
    assert!(each < Duration::from_millis(2), "{each:?} an event");
}
