//! What a step demands of the result.

use serde::{Deserialize, Serialize};

use super::unit::Span;

/// The expectations of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectations {
    /// etcd's settled member list.
    pub members: Option<Members>,
    /// Time from a learner's first moment to its vote.
    pub promotion: Option<Promotion>,
    /// Node objects.
    pub nodes: Option<NodesReady>,
}

impl Expectations {
    /// Is nothing demanded?
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// What the settled member list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Members {
    /// Number of voters.
    pub voters: Option<usize>,
    /// Number of learners.
    pub learners: Option<usize>,
    /// Number of members that have started.
    pub started: Option<usize>,
    /// Their names, in any order.
    pub names: Option<Vec<String>>,
    /// How long after the step's end the list may take to be so; 10 s when not said.
    pub within: Option<Span>,
}

/// How long each member that was promoted in the step took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Promotion {
    /// The moment that starts the clock.
    #[serde(default)]
    pub from: PromotionStart,
    /// Each member's time is within these bounds.
    #[serde(flatten)]
    pub bounds: Bounds<Span>,
}

/// The moment that starts a promotion's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromotionStart {
    /// First seen as a learner in any list.
    #[default]
    Announced,
    /// First seen with a name.
    Started,
}

/// A value's bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds<T> {
    /// At least.
    pub min: Option<T>,
    /// At most.
    pub max: Option<T>,
}

impl<T: PartialOrd + Copy> Bounds<T> {
    /// Is `value` within them?
    pub fn hold(&self, value: T) -> bool {
        self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }
}

/// Node objects that are Ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodesReady {
    /// How many.
    pub ready: usize,
    /// How long after the step's end that may take; 2 m when not said.
    pub within: Option<Span>,
}
