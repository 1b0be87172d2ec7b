//! What must hold at every sample while a workflow runs, by the words that a person writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which invariants are judged, and what a broken one does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Invariants {
    /// A broken one ends ordinary work at once; only the end of the case tells of it otherwise. Yes when not said.
    #[serde(default = "yes")]
    pub fail_fast: bool,
    /// Those that are not judged.
    #[serde(default)]
    pub off: Vec<Invariant>,
}

fn yes() -> bool {
    true
}

impl Default for Invariants {
    fn default() -> Self {
        Self { fail_fast: true, off: Vec::new() }
    }
}

impl Invariants {
    /// None is judged.
    pub fn none() -> Self {
        Self { fail_fast: false, off: Invariant::ALL.to_vec() }
    }

    /// Those that are judged, in the order of the documentation.
    pub fn on(&self) -> impl Iterator<Item = Invariant> {
        Invariant::ALL.into_iter().filter(|one| !self.off.contains(one))
    }
}

/// One invariant; docs/invariants.md has an entry for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invariant {
    /// I1: all members that run have one cluster id.
    OneCluster,
    /// I2: each voter holds the same member list.
    SameList,
    /// I3: no member is without a name once the join is over.
    Started,
    /// I4: no more learners than etcd's limit.
    LearnerLimit,
    /// I5: the list and the member itself agree on who learns.
    LearnerFlag,
    /// I6: writes are acknowledged while there should be a quorum.
    WriteGap,
    /// I7: a join that ended well has given a started voter.
    Truthful,
    /// I8: a joiner's initial cluster is the member list at its add.
    InitialCluster,
    /// I9: kubeadm asks started voters only.
    Endpoints,
    /// I10: all voters hold the same data.
    DataEqual,
    /// I11: all ends inside its limit.
    Limits,
    /// I12: a failed kubeadm names the cause.
    Cause,
    /// I13: cleanup leaves nothing.
    NothingLeft,
    /// No term has two leaders.
    OneLeader,
    /// No member raises an alarm.
    NoAlarm,
    /// The leader changes only where something explains it.
    StableLeader,
}

impl Invariant {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 16] = [
        Self::OneCluster,
        Self::SameList,
        Self::Started,
        Self::LearnerLimit,
        Self::LearnerFlag,
        Self::WriteGap,
        Self::Truthful,
        Self::InitialCluster,
        Self::Endpoints,
        Self::DataEqual,
        Self::Limits,
        Self::Cause,
        Self::NothingLeft,
        Self::OneLeader,
        Self::NoAlarm,
        Self::StableLeader,
    ];

    /// Its word in files.
    pub fn as_str(self) -> &'static str {
        self.title().rsplit(' ').next().unwrap_or_default()
    }

    /// As verdicts name it: with its number, where it has one.
    pub fn title(self) -> &'static str {
        match self {
            Self::OneCluster => "I1 one-cluster",
            Self::SameList => "I2 same-list",
            Self::Started => "I3 started",
            Self::LearnerLimit => "I4 learner-limit",
            Self::LearnerFlag => "I5 learner-flag",
            Self::WriteGap => "I6 write-gap",
            Self::Truthful => "I7 truthful",
            Self::InitialCluster => "I8 initial-cluster",
            Self::Endpoints => "I9 endpoints",
            Self::DataEqual => "I10 data-equal",
            Self::Limits => "I11 limits",
            Self::Cause => "I12 cause",
            Self::NothingLeft => "I13 nothing-left",
            Self::OneLeader => "one-leader",
            Self::NoAlarm => "no-alarm",
            Self::StableLeader => "stable-leader",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_files_is_the_one_in_verdicts() {
        for one in Invariant::ALL {
            assert_eq!(serde_json::to_value(one).expect("json"), one.as_str());
        }
        assert_eq!(Invariants::default().on().count(), Invariant::ALL.len());
        assert_eq!(Invariants::none().on().count(), 0);
    }
}
