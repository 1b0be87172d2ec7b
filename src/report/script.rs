//! Events for tests, as a run would tell them: each 100 ms after the one before.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::model::Run;
use crate::event::{EtcdSample, Event, FORMAT, INVARIANTS, Judgement, Member, MemberId, Moment, Outcome, TaskPlan, Told, Verdict, Work};
use crate::sys::clock::Stamp;

/// A run, told event by event.
pub(super) struct Script {
    pub(super) told: Vec<Told>,
    ms: u64,
}

/// What the reporters know after a script.
pub(super) fn run_of(script: &Script) -> Run {
    let mut run = Run::default();
    for told in &script.told {
        run.hear(told);
    }
    run
}

/// The moment `ms` after a script's begin.
pub(super) fn stamp(ms: u64) -> Stamp {
    let wall = jiff::Timestamp::from_millisecond(1_790_000_000_000 + i64::try_from(ms).expect("small")).expect("a time");
    Stamp { mono: 1_000_000_000 + ms * 1_000_000, wall }
}

pub(super) fn judged(name: &str, verdict: Verdict, saw: &str, evidence: &[u64]) -> Judgement {
    let wanted = if name == "members" { "voters 3, learners 0" } else { "from announced to voter, at most 30.0s" };
    Judgement { name: name.into(), verdict, wanted: wanted.into(), saw: saw.into(), evidence: evidence.to_vec() }
}

pub(super) fn name(number: u64) -> String {
    format!("joinder-control-plane-{number}")
}

impl Script {
    pub(super) fn new() -> Self {
        let mut script = Self { told: Vec::new(), ms: 0 };
        script.tell(Event::RunStarted { format: FORMAT, run: "k3v9x2ab".into(), joinder: "0.1.0".into(), engine: "Docker 20.10".into() });
        script
    }

    /// Now.
    pub(super) fn now(&self) -> Stamp {
        stamp(self.ms)
    }

    pub(super) fn tell(&mut self, event: Event) -> Told {
        let told = Told { seq: self.told.len() as u64 + 1, at: self.now(), event };
        self.ms += 100;
        self.told.push(told.clone());
        told
    }

    /// The only case, of the file `workflows/join/parallel.yaml`: tasks with their limits in seconds.
    pub(super) fn case_of(&mut self, tasks: &[(&str, u64)]) -> Told {
        self.case((1, 1), "parallel", &[], tasks)
    }

    pub(super) fn case(&mut self, (index, of): (usize, usize), case: &str, choice: &[(&str, &str)], tasks: &[(&str, u64)]) -> Told {
        let task = |(at, (name, limit)): (usize, &(&str, u64))| TaskPlan {
            index: at + 1,
            group: None,
            name: (*name).to_owned(),
            what: if name.starts_with("join") { "join all, in parallel".into() } else { format!("kubeadm {name}") },
            description: if *name == "join" { "Both at once".into() } else { String::new() },
            limit: Duration::from_secs(*limit),
            force: *name == "delete",
        };
        self.tell(Event::CaseStarted {
            index,
            of,
            case: case.into(),
            language: 2,
            choice: choice.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            repeat: choice
                .iter()
                .fold("joinder run workflows/join/parallel.yaml".to_owned(), |text, (k, v)| format!("{text} --case {k}={v}")),
            folder: if of == 1 { String::new() } else { format!("{index:02}-case") },
            file: "workflows/join/parallel.yaml".into(),
            summary: "Two control planes join at once".into(),
            tasks: tasks.iter().enumerate().map(task).collect(),
            round: 1,
            rounds: 1,
            seed: 7,
            vars: vec![],
            image: "joinder/node:v1.36.3-etcd3.6.16".into(),
            kubernetes: "v1.36.3".into(),
            etcd: "3.6.16".into(),
        })
    }

    pub(super) fn starts(&mut self, index: usize, name: &str) -> Told {
        self.tell(Event::TaskStarted { index, name: name.into() })
    }

    pub(super) fn ends(&mut self, index: usize, name: &str, outcome: Outcome, counts: bool) -> Told {
        let took = Duration::from_millis(if matches!(outcome, Outcome::Skipped { .. }) { 0 } else { 12_345 });
        self.tell(Event::TaskFinished { index, name: name.into(), outcome, counts, took })
    }

    pub(super) fn judges(&mut self, index: usize, task: &str, judgement: Judgement) -> Told {
        self.tell(Event::Judged { index, task: task.into(), judgement })
    }

    pub(super) fn output(&mut self, index: usize, node: &str, line: &str) -> Told {
        self.tell(Event::Output { index, node: node.into(), error: false, line: line.into() })
    }

    pub(super) fn worked(&mut self, work: Work, on: &str, ms: u64) -> Told {
        let began = stamp(self.ms.saturating_sub(ms));
        self.tell(Event::Worked { work, on: on.into(), began, took: Duration::from_millis(ms) })
    }

    pub(super) fn kubeadm(&mut self, node: &str, command: &str) -> Told {
        let argv = ["kubeadm", command, "--config", "/kind/kubeadm.conf"].map(str::to_owned).into();
        self.tell(Event::KubeadmStarted { node: node.into(), argv })
    }

    pub(super) fn kubeadm_line(&mut self, node: &str, line: &str) -> Told {
        let seen = self.now();
        self.tell(Event::KubeadmLine { node: node.into(), seen, line: line.into() })
    }

    pub(super) fn phase(&mut self, node: &str, phase: &str) -> Told {
        let seen = self.now();
        self.tell(Event::KubeadmPhase { node: node.into(), seen, phase: phase.into() })
    }

    pub(super) fn kubeadm_ends(&mut self, node: &str, code: Option<i32>, error: Option<&str>) -> Told {
        let took = Duration::from_secs(9);
        self.tell(Event::KubeadmFinished { node: node.into(), code, phase: Some("etcd".into()), error: error.map(str::to_owned), took })
    }

    pub(super) fn list(&mut self, node: &str, members: Vec<Member>) -> Told {
        let seen = self.now();
        let sample = EtcdSample { seen, members: Some(members), status: None, error: None, gap_ms: Some(50), looks: 1, missed: 0 };
        self.tell(Event::Etcd { node: node.into(), sample })
    }

    pub(super) fn member(&mut self, id: u64, name: &str, moment: Moment) -> Told {
        let seen = self.now();
        self.tell(Event::Member { id: MemberId(id), name: name.into(), moment, seen })
    }

    pub(super) fn finish(mut self, exit: u8) -> Self {
        let took = Duration::from_millis(self.ms);
        self.tell(Event::RunFinished { exit, took });
        self
    }

    pub(super) fn case_finishes(&mut self, index: usize, failed: Option<&str>) -> Told {
        let took = Duration::from_secs(41);
        self.tell(Event::CaseFinished { index, failed: failed.map(str::to_owned), undecided: false, left: false, took })
    }

    /// One control plane is there, and so many more nodes.
    pub(super) fn grown(more: u64) -> Self {
        let mut script = Self::new();
        script.case_of(&[("init", 300), ("join", 300), ("delete", 120)]);
        script.starts(1, "init");
        for number in 1..=more + 1 {
            script.worked(Work::CreateNode, &name(number), 200 + number);
            script.worked(Work::Boot, &name(number), 900 + number);
            let address = Ipv4Addr::new(10, 0, u8::try_from(number / 200).expect("few"), u8::try_from(number % 200 + 2).expect("few"));
            script.tell(Event::NodeUp { node: name(number), address });
        }
        script.worked(Work::CreateNodes, "joinder", 1_600);
        script.kubeadm(&name(1), "init");
        script.phase(&name(1), "etcd");
        script.list(&name(1), vec![member(1, &name(1), false)]);
        script.member(1, &name(1), Moment::Founded);
        script.member(1, &name(1), Moment::Started);
        script.kubeadm_ends(&name(1), Some(0), None);
        script.worked(Work::Init, &name(1), 7_500);
        script.judges(1, "init", Judgement { wanted: "voters 1".into(), ..judged("members", Verdict::Pass, "voters 1", &[]) });
        script.ends(1, "init", Outcome::Passed, false);
        script.starts(2, "join");
        script
    }

    /// Two that join at once: the first is a voter, the second learns and its kubeadm still runs.
    pub(super) fn joining() -> Self {
        let mut script = Self::grown(2);
        script.kubeadm(&name(2), "join");
        script.kubeadm(&name(3), "join");
        script.phase(&name(3), "check-etcd");
        script.phase(&name(2), "etcd");
        script.list(&name(1), vec![member(1, &name(1), false), member(2, "", true)]);
        script.member(2, "", Moment::Announced);
        script.list(&name(1), vec![member(1, &name(1), false), member(2, &name(2), true)]);
        script.member(2, &name(2), Moment::Started);
        script.list(&name(1), vec![member(1, &name(1), false), member(2, &name(2), false)]);
        script.member(2, &name(2), Moment::Promoted);
        script.kubeadm_ends(&name(2), Some(0), None);
        script.worked(Work::Join, &name(2), 9_200);
        script.phase(&name(3), "etcd");
        script.list(&name(1), vec![member(1, &name(1), false), member(2, &name(2), false), member(3, "", true)]);
        script.member(3, "", Moment::Announced);
        script
    }

    fn joined() -> Self {
        let mut script = Self::joining();
        script.member(3, &name(3), Moment::Started);
        script.list(&name(1), vec![member(1, &name(1), false), member(2, &name(2), false), member(3, &name(3), false)]);
        script.member(3, &name(3), Moment::Promoted);
        script.kubeadm_ends(&name(3), Some(0), None);
        script.worked(Work::Join, &name(3), 20_400);
        script.worked(Work::Joins, "joinder", 20_500);
        script.worked(Work::Ready, "joinder", 1_700);
        script.judges(2, "join", judged("members", Verdict::Pass, "voters 3, learners 0", &[]));
        script
    }

    fn deleted(mut self, exit: u8, left: &[&str]) -> Self {
        self.starts(3, "delete");
        self.worked(Work::Delete, "joinder", 1_500);
        self.tell(Event::Cleaned { removed: vec!["a".into(), "b".into()], left: left.iter().map(|l| (*l).to_owned()).collect() });
        self.ends(3, "delete", Outcome::Passed, false);
        self.finish(exit)
    }

    /// All well.
    pub(super) fn passing() -> Self {
        let mut script = Self::joined();
        let (announced, promoted) = script.evidence();
        script.judges(
            2,
            "join",
            judged(&format!("promotion {}", name(2)), Verdict::Pass, "400ms (350ms to 450ms)", &[announced, promoted]),
        );
        script.ends(2, "join", Outcome::Passed, false);
        script.deleted(0, &[])
    }

    /// A join fails, its members and a promotion with it; another promotion is known to fail, and one verdict is undecided.
    pub(super) fn failing() -> Self {
        let mut script = Self::joining();
        let (announced, promoted) = script.evidence();
        for at in 1..=25 {
            script.output(2, &name(3), &format!("line {at} of the output"));
        }
        script.kubeadm_line(&name(3), "[etcd] Waiting for the new etcd member to join the cluster");
        script.kubeadm_ends(&name(3), Some(1), Some("error execution phase etcd-join: can only promote a learner member"));
        script.judges(2, "join", judged("members", Verdict::Fail, "voters 2, learners 1", &[]));
        script.judges(2, "join", judged(&format!("promotion {}", name(2)), Verdict::Fail, "31.0s", &[announced, promoted]));
        script.judges(2, "join", judged("promotion of the last", Verdict::Undecided, "the sampler missed ticks", &[]));
        script.judges(2, "join", judged("joins", Verdict::Known, "kubernetes/kubeadm#3317: can only promote a learner", &[]));
        let reason = format!("1 of 2 joins failed:\n{}: can only promote a learner member", name(3));
        script.ends(2, "join", Outcome::Failed { reason }, true);
        script.deleted(100, &[])
    }

    /// An invariant breaks while nodes join; another one holds, and one could not be seen.
    pub(super) fn broken() -> Self {
        let mut script = Self::joining();
        let (announced, _) = script.evidence();
        let of = |name: &str, verdict, saw: &str, evidence: &[u64]| Judgement {
            wanted: format!("what {name} wants"),
            ..judged(name, verdict, saw, evidence)
        };
        script.judges(0, INVARIANTS, of("I2 same-list", Verdict::Fail, "for 3.0s they differ", &[announced]));
        script.ends(2, "join", Outcome::Stopped, false);
        script.starts(3, "delete");
        script.ends(3, "delete", Outcome::Passed, false);
        script.judges(0, INVARIANTS, of("I1 one-cluster", Verdict::Pass, "c1, of 3 members", &[announced]));
        script.judges(0, INVARIANTS, of("I6 write-gap", Verdict::Undecided, "no client wrote", &[]));
        script.judges(0, INVARIANTS, of("I12 cause", Verdict::NotApplicable, "no kubeadm failed", &[]));
        script.case_finishes(1, Some("I2 same-list"));
        script.finish(100)
    }

    /// A signal comes while nodes join.
    pub(super) fn stopped() -> Self {
        let mut script = Self::joining();
        script.ends(2, "join", Outcome::Stopped, false);
        script.deleted(143, &[])
    }

    /// One verdict could not be reached.
    pub(super) fn undecided() -> Self {
        let mut script = Self::joined();
        script.judges(2, "join", judged("promotion", Verdict::Undecided, "no learner was seen in this step", &[]));
        script.ends(2, "join", Outcome::Passed, false);
        script.deleted(102, &[])
    }

    /// A network could not be removed.
    pub(super) fn left() -> Self {
        let mut script = Self::joined();
        script.ends(2, "join", Outcome::Passed, false);
        script.deleted(101, &["network joinder: it has endpoints"])
    }

    /// A group of a join and a command, both of which run; the command began last.
    pub(super) fn grouped() -> Self {
        let mut script = Self::new();
        script.case_of(&[("together", 600), ("join others", 300), ("exec in all", 300)]);
        if let Some(Told { event: Event::CaseStarted { tasks, .. }, .. }) = script.told.last_mut() {
            tasks.iter_mut().skip(1).for_each(|task| task.group = Some(1));
        }
        script.starts(1, "together");
        script.starts(2, "join others");
        script.starts(3, "exec in all");
        script
    }

    /// Three choices of a matrix: passed, failed, and one that was never judged to its end.
    pub(super) fn matrix() -> Self {
        let mut script = Self::new();
        for (at, order) in ["serial", "parallel", "it's all"].iter().enumerate() {
            let case = format!("parallel order={order}");
            script.case((at + 1, 3), &case, &[("order", order)], &[("init", 300), ("delete", 120)]);
            script.starts(1, "init");
            let outcome = if at == 1 { Outcome::TimedOut { limit: Duration::from_mins(5) } } else { Outcome::Passed };
            script.ends(1, "init", outcome, at == 1);
            if at < 2 {
                script.starts(2, "delete");
                script.ends(2, "delete", Outcome::Passed, false);
                script.case_finishes(at + 1, (at == 1).then_some("init"));
            } else {
                script.ends(2, "delete", Outcome::Stopped, false);
            }
        }
        script.finish(130)
    }

    /// Ten rounds of one case: eight passed, one failed, one was undecided.
    pub(super) fn rounds() -> Self {
        let mut script = Self::new();
        for at in 1..=10 {
            script.case((at, 10), &format!("parallel round {at}"), &[], &[("join", 300)]);
            if let Some(Told { event: Event::CaseStarted { round, rounds, .. }, .. }) = script.told.last_mut() {
                (*round, *rounds) = (u32::try_from(at).expect("small"), 10);
            }
            script.starts(1, "join");
            script.worked(Work::Joins, "joinder", 20_000 + 100 * at as u64);
            if at == 4 {
                script.judges(1, "join", judged("members", Verdict::Fail, "voters 2, learners 1", &[]));
            }
            if at == 7 {
                script.judges(1, "join", judged("promotion", Verdict::Undecided, "no learner was seen in this step", &[]));
            }
            script.ends(1, "join", Outcome::Passed, at == 4);
            script.case_finishes(at, (at == 4).then_some("join"));
            if at == 7
                && let Some(Told { event: Event::CaseFinished { undecided, .. }, .. }) = script.told.last_mut()
            {
                *undecided = true;
            }
        }
        script.finish(100)
    }

    /// Names and lines that would like to command terminals, CI systems and XML readers.
    pub(super) fn hostile() -> Self {
        let mut script = Self::new();
        let task = "a/../b \x1b[2J]]><x>&\0\n::set-output name=x::y";
        script.case((1, 1), "::error::x | `y` <b>\r", &[("a", "\u{202e}b")], &[(task, 60), ("two", 60)]);
        script.starts(1, task);
        script.output(1, "", "::set-output name=token::1");
        script.output(1, "n", "  ##[command]rm -rf /");
        script.output(1, "", "\x1b]0;title\x07]]> section_start:1:x\r\x1b[0K");
        let judgement =
            Judgement { name: "::warning::m\x1b[31m".into(), ..judged("members", Verdict::Fail, "%0A::error::\n::debug::x, y", &[]) };
        script.judges(1, task, judgement);
        script.ends(1, task, Outcome::Failed { reason: "exit code 1:\n::add-mask::a\n##[group]x ]]> \u{fffe}".into() }, true);
        script.ends(2, "two", Outcome::Skipped { reason: "task failed".into() }, false);
        script.finish(100)
    }

    /// Numbers of the lists that show the second member as a learner and as a voter.
    fn evidence(&self) -> (u64, u64) {
        let shows = |learner: bool, told: &&Told| matches!(&told.event, Event::Etcd { sample, .. } if sample.members.iter().flatten().any(|m| m.id.0 == 2 && m.learner == learner));
        let first = |learner| self.told.iter().find(|told| shows(learner, told)).expect("it joined").seq;
        (first(true), first(false))
    }
}

/// A member of a list, with the address that `grown` gives its node.
fn member(id: u64, name: &str, learner: bool) -> Member {
    Member { id: MemberId(id), name: name.into(), peer_urls: vec![format!("https://10.0.0.{}:2380", id + 2)], learner }
}
