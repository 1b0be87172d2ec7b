//! How work ended, and what was thought of it.

use std::time::Duration;

use crate::sys::clock::human;
use serde::{Deserialize, Serialize};

/// How a task ended, before any policy is applied to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Outcome {
    /// It did what it should.
    Passed,
    /// It did not.
    Failed {
        /// Why, the cause first.
        reason: String,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// Its own limit passed.
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// A signal, or another task's failure, stopped it.
    Stopped,
    /// It was not its turn any more.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Why it did not pass, when it has a reason of its own.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Failed { reason } | Self::NotStarted { reason } => Some(reason.clone()),
            Self::TimedOut { limit } => Some(format!("not done at its limit of {}", human(*limit))),
            Self::Passed | Self::Stopped | Self::Skipped { .. } => None,
        }
    }

    /// Did it pass?
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}

/// What an expectation or an invariant came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There was nothing that it could be about: a demand on kubeadm where none runs.
    NotApplicable,
    /// Seen to hold.
    Pass,
    /// Listed as known to fail here, and it failed in just that way.
    Known,
    /// Could not be seen, or was too noisy to say.
    Undecided,
    /// Seen not to hold.
    Fail,
}

/// A verdict with what was wanted, what was seen, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The expectation's key, `members` or `promotion joinder-control-plane-2`.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was demanded, in words.
    pub wanted: String,
    /// What was seen, in words.
    pub saw: String,
    /// Numbers of the events that show it.
    pub evidence: Vec<u64>,
}
