//! All invariants of a case: hears each event once, and tells of each invariant once.

use super::alarm::NoAlarm;
use super::cause::Cause;
use super::cluster_id::OneCluster;
use super::data_equal::DataEqual;
use super::endpoints::Endpoints;
use super::initial_cluster::InitialCluster;
use super::leaders::{OneLeader, StableLeader};
use super::learner_flag::LearnerFlag;
use super::learner_limit::LearnerLimit;
use super::limits::Limits;
use super::nothing_left::NothingLeft;
use super::rule::{End, Rule, Shown};
use super::same_list::SameList;
use super::started::Started;
use super::truthful::Truthful;
use super::view::View;
use super::write_gap::WriteGap;
use crate::event::{Judgement, Told, Verdict};
use crate::spec::{Invariant, Invariants};

/// So many events show a verdict; the first ones and the last.
const MOST_EVIDENCE: usize = 8;

/// The invariants of a case that are judged and not broken yet.
pub struct Invariance {
    view: View,
    rules: Vec<(Invariant, Box<dyn Rule>)>,
    learners: usize,
}

impl Invariance {
    /// Begins with a case, in which etcd lets so many learners in at once.
    pub fn new(which: &Invariants, learners: usize) -> Self {
        Self { view: View::new(), rules: which.on().map(|one| (one, rule(one, learners))).collect(), learners }
    }

    /// Hears an event; tells which invariants it breaks.
    pub fn hear(&mut self, told: &Told) -> Vec<Judgement> {
        let Self { view, rules, learners } = self;
        view.hear(told);
        let mut broken = Vec::new();
        rules.retain_mut(|(one, rule)| match rule.hear(told, view) {
            Some(shown) => {
                broken.push(judgement(*one, *learners, Verdict::Fail, shown));
                false
            }
            None => true,
        });
        broken
    }

    /// What all that were not seen broken came to.
    pub fn end(self) -> Vec<Judgement> {
        let came_to = |(one, rule): &(Invariant, Box<dyn Rule>)| {
            let (verdict, shown) = match rule.end(&self.view) {
                End::Held(shown) => (Verdict::Pass, shown),
                End::Broken(shown) => (Verdict::Fail, shown),
                End::Idle(why) => (Verdict::NotApplicable, Shown::new(why, [])),
                End::Unseen(why) => (Verdict::Undecided, Shown::new(why, [])),
            };
            judgement(*one, self.learners, verdict, shown)
        };
        self.rules.iter().map(came_to).collect()
    }
}

fn judgement(one: Invariant, learners: usize, verdict: Verdict, shown: Shown) -> Judgement {
    let Shown { saw, mut evidence } = shown;
    if evidence.len() > MOST_EVIDENCE {
        evidence.drain(MOST_EVIDENCE - 1..evidence.len() - 1);
    }
    Judgement { name: one.title().into(), verdict, wanted: wanted(one, learners), saw, evidence }
}

fn rule(one: Invariant, learners: usize) -> Box<dyn Rule> {
    match one {
        Invariant::OneCluster => Box::new(OneCluster::default()),
        Invariant::SameList => Box::new(SameList::default()),
        Invariant::Started => Box::new(Started::default()),
        Invariant::LearnerLimit => Box::new(LearnerLimit::new(learners)),
        Invariant::LearnerFlag => Box::new(LearnerFlag::default()),
        Invariant::WriteGap => Box::new(WriteGap::default()),
        Invariant::Truthful => Box::new(Truthful::default()),
        Invariant::InitialCluster => Box::new(InitialCluster::default()),
        Invariant::Endpoints => Box::new(Endpoints::default()),
        Invariant::DataEqual => Box::new(DataEqual::default()),
        Invariant::Limits => Box::new(Limits::default()),
        Invariant::Cause => Box::new(Cause::default()),
        Invariant::NothingLeft => Box::new(NothingLeft::default()),
        Invariant::OneLeader => Box::new(OneLeader::default()),
        Invariant::NoAlarm => Box::new(NoAlarm::default()),
        Invariant::StableLeader => Box::new(StableLeader::default()),
    }
}

/// What each demands, in words.
fn wanted(one: Invariant, learners: usize) -> String {
    let words = match one {
        Invariant::OneCluster => "all members that run have one cluster id",
        Invariant::SameList => "all voters hold the same member list within 3s of a change",
        Invariant::Started => "no member is without a name 10s after its join ended",
        Invariant::LearnerLimit if learners == 1 => "at most 1 learner",
        Invariant::LearnerLimit => return format!("at most {learners} learners"),
        Invariant::LearnerFlag => "list and status agree on who learns within 5s",
        Invariant::WriteGap => "with a quorum a write is acknowledged at least every 5s, every 10s while the second voter comes",
        Invariant::Truthful => "a join that ended well has given a started, serving voter, and one that failed leaves what has a name",
        Invariant::InitialCluster => "a joiner's initial cluster is the member list at its add, each with a name of its own",
        Invariant::Endpoints => "kubeadm asks started voters only",
        Invariant::DataEqual => "at one revision all voters have one hash",
        Invariant::Limits => "each task ends by itself inside its limit",
        Invariant::Cause => "a kubeadm that fails names the cause, not the last symptom",
        Invariant::NothingLeft => "cleanup leaves nothing",
        Invariant::OneLeader => "each term has one leader",
        Invariant::NoAlarm => "no member raises an alarm",
        Invariant::StableLeader => {
            "the leader changes only after a member or a fault gave cause, and at most once for each join beside that"
        }
    };
    words.to_owned()
}
