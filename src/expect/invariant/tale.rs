//! Tells a story of some nodes event by event, for the tests of invariants. Node `n` is `cp-n` at 10.0.0.n, its member has id n.

use std::collections::BTreeMap;
use std::time::Duration;

use super::judge::Invariance;
use crate::event::{
    CallEnd, ClientCall, EtcdCall, EtcdSample, Event, FaultMoment, Member, MemberId, MemberStatus, Moment, Notice, Op, Outcome, Told,
    Verdict, Work,
};
use crate::spec::{Invariant, Invariants};
use crate::sys::clock::Stamp;

#[derive(Clone, Default)]
pub(super) struct Tale {
    told: Vec<Told>,
    ms: u64,
    own: BTreeMap<u64, MemberStatus>,
}

fn stamp(ms: u64) -> Stamp {
    Stamp { mono: (ms + 1_000) * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
}

fn name(n: u64) -> String {
    format!("cp-{n}")
}

fn member(n: u64, started: bool, learner: bool) -> Member {
    let name = if started { name(n) } else { String::new() };
    Member { id: MemberId(n), name, peer_urls: vec![format!("https://10.0.0.{n}:2380")], learner }
}

impl Tale {
    /// So many nodes that are up, and nothing in them.
    pub(super) fn new(nodes: u64) -> Self {
        let up = |n: u64| Event::NodeUp { node: name(n), address: std::net::Ipv4Addr::new(10, 0, 0, u8::try_from(n).unwrap_or(0)) };
        (1..=nodes).fold(Self::default(), |tale, n| tale.tell(up(n)))
    }

    /// Three voters that each gave its list; the first one leads in term 7.
    pub(super) fn of_three() -> Self {
        (1..=3).fold(Self::new(3), |tale, n| tale.cluster(n, 0xc1).leads(n, 7, 1).looks(n, &[1, 2, 3]))
    }

    fn tell(mut self, event: Event) -> Self {
        let seq = u64::try_from(self.told.len()).unwrap_or(0) + 1;
        self.told.push(Told { seq, at: stamp(self.ms), event });
        self
    }

    pub(super) fn wait(mut self, ms: u64) -> Self {
        self.ms += ms;
        self
    }

    /// From the next look on this member is in that cluster.
    pub(super) fn cluster(mut self, n: u64, id: u64) -> Self {
        self.own.entry(n).or_default().cluster = MemberId(id);
        self
    }

    /// From the next look on this member follows that leader.
    pub(super) fn leads(mut self, n: u64, term: u64, leader: u64) -> Self {
        let own = self.own.entry(n).or_default();
        (own.term, own.leader) = (term, MemberId(leader));
        self
    }

    /// From the next look on this member reports an error.
    pub(super) fn error(mut self, n: u64, error: &str) -> Self {
        self.own.entry(n).or_default().errors = vec![error.to_owned()];
        self
    }

    fn look(self, n: u64, members: Option<Vec<Member>>, learner: bool) -> Self {
        let status = MemberStatus { id: MemberId(n), learner, ..self.own.get(&n).cloned().unwrap_or_default() };
        let seen = stamp(self.ms);
        let sample = EtcdSample { seen, members, status: Some(status), error: None, gap_ms: Some(50), looks: 1, missed: 0 };
        self.tell(Event::Etcd { node: name(n), sample })
    }

    /// This member, a voter, gives a list of voters.
    pub(super) fn looks(self, n: u64, voters: &[u64]) -> Self {
        self.look(n, Some(voters.iter().map(|n| member(*n, true, false)).collect()), false)
    }

    /// The first member's list has one more learner without a name.
    pub(super) fn adds(self, n: u64, learner: u64) -> Self {
        self.adds_to(n, &[1], learner)
    }

    pub(super) fn adds_to(self, n: u64, voters: &[u64], learner: u64) -> Self {
        let mut list: Vec<Member> = voters.iter().map(|n| member(*n, true, false)).collect();
        list.push(member(learner, false, true));
        self.look(n, Some(list), false)
    }

    /// The first member's list has these learners without names.
    pub(super) fn learners(self, n: u64, learners: &[u64]) -> Self {
        let list = std::iter::once(member(1, true, false)).chain(learners.iter().map(|n| member(*n, false, true)));
        self.look(n, Some(list.collect()), false)
    }

    /// A list with voters, and learners that have started.
    pub(super) fn learners_of(self, n: u64, voters: &[u64], learners: &[u64]) -> Self {
        let voters = voters.iter().map(|n| member(*n, true, false));
        let list = voters.chain(learners.iter().map(|n| member(*n, true, true)));
        self.look(n, Some(list.collect()), false)
    }

    pub(super) fn nameless_voter(self, n: u64, voter: u64) -> Self {
        self.look(n, Some(vec![member(1, true, false), member(voter, false, false)]), false)
    }

    /// This member takes itself for a learner, and gives no list.
    pub(super) fn learns(self, n: u64) -> Self {
        self.look(n, None, true)
    }

    /// This member does not answer.
    pub(super) fn down(self, n: u64) -> Self {
        let seen = stamp(self.ms);
        let sample = EtcdSample { seen, members: None, status: None, error: Some("refused".into()), gap_ms: None, looks: 1, missed: 0 };
        self.tell(Event::Etcd { node: name(n), sample })
    }

    pub(super) fn moment(self, n: u64, moment: Moment) -> Self {
        let seen = stamp(self.ms);
        self.tell(Event::Member { id: MemberId(n), name: name(n), moment, seen })
    }

    pub(super) fn kubeadm(self, n: u64, command: &str) -> Self {
        self.tell(Event::KubeadmStarted { node: name(n), argv: vec!["kubeadm".into(), command.into()] })
    }

    pub(super) fn fault(self, moment: FaultMoment) -> Self {
        self.tell(Event::Fault { index: 1, id: "f".into(), node: String::new(), what: "cut".into(), moment })
    }

    pub(super) fn ends(self, n: u64, code: Option<i32>, error: Option<&str>) -> Self {
        let error = error.map(str::to_owned);
        self.tell(Event::KubeadmFinished { node: name(n), code, phase: None, error, took: Duration::ZERO })
    }

    pub(super) fn joined(self, n: u64) -> Self {
        let began = stamp(self.ms);
        self.tell(Event::Worked { work: Work::Join, on: name(n), began, took: Duration::ZERO })
    }

    pub(super) fn manifest(self, n: u64, entries: &[&str]) -> Self {
        let notice = Notice::InitialCluster { entries: entries.iter().map(|e| (*e).to_owned()).collect() };
        let seen = stamp(self.ms);
        self.tell(Event::Noticed { node: name(n), seen, notice })
    }

    /// Its etcd's process starts for the first time.
    pub(super) fn runs(self, n: u64) -> Self {
        let notice = Notice::ProcessStarted { component: "etcd".into(), times: 1 };
        let seen = stamp(self.ms);
        self.tell(Event::Noticed { node: name(n), seen, notice })
    }

    pub(super) fn hash(self, n: u64, revision: u64, compacted: u64, hash: u32) -> Self {
        let seen = stamp(self.ms);
        self.tell(Event::Noticed { node: name(n), seen, notice: Notice::DataHash { member: MemberId(n), revision, compacted, hash } })
    }

    /// kubeadm of one node asks another's member.
    pub(super) fn proxied(self, n: u64, method: &str, of: u64) -> Self {
        let at = stamp(self.ms);
        let endpoint = format!("10.0.0.{of}:2379");
        let call =
            EtcdCall { method: method.into(), endpoint, began: at, ended: at, answered: Some(0), said: String::new(), disturbed: None };
        self.tell(Event::Proxied { node: name(n), call })
    }

    /// A write that began so many milliseconds ago ends.
    pub(super) fn writes(self, n: u64, ago: u64, ok: bool) -> Self {
        let end = if ok { CallEnd::Ok } else { CallEnd::Unknown { why: "late".into() } };
        let call = ClientCall {
            client: format!("writer {}", name(n)),
            node: name(n),
            op: Op::Write,
            key: "k".into(),
            value: Some(1),
            began: Stamp { mono: stamp(self.ms).mono.saturating_sub(ago * 1_000_000), ..stamp(0) },
            ended: stamp(self.ms),
            end,
            revision: 1,
        };
        self.tell(Event::Called { call })
    }

    pub(super) fn task(self, task: &str, outcome: Outcome, counts: bool) -> Self {
        self.tell(Event::TaskFinished { index: 1, name: task.into(), outcome, counts, took: Duration::ZERO })
    }

    pub(super) fn cleaned(self, left: &[&str]) -> Self {
        self.tell(Event::Cleaned { removed: vec!["container x".into()], left: left.iter().map(|l| (*l).to_owned()).collect() })
    }

    /// What an invariant comes to, alone.
    pub(super) fn judged(self, one: Invariant) -> (Verdict, String) {
        self.judged_with(one, 1)
    }

    /// The same where etcd lets so many learners in.
    pub(super) fn judged_with(self, one: Invariant, learners: usize) -> (Verdict, String) {
        let off = Invariant::ALL.into_iter().filter(|other| *other != one).collect();
        let mut all = Invariance::new(&Invariants { fail_fast: true, off }, learners);
        for told in &self.told {
            if let Some(broken) = all.hear(told).pop() {
                assert!(!broken.evidence.is_empty(), "what shows it?");
                return (broken.verdict, broken.saw);
            }
        }
        let judgement = all.end().remove(0);
        (judgement.verdict, judgement.saw)
    }
}
