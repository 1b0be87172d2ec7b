//! What a step demands of the result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expected::{Joins, Leader, Logs, Point, Resources, Time};
use super::unit::{Compare, Span};
use super::version::When;
use super::writes::{LostWrites, StaleReads, WriteGap};

/// The expectations of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectations {
    /// etcd's settled member list.
    pub members: Option<Members>,
    /// Time from a learner's first moment to its vote.
    pub promotion: Option<Promotion>,
    /// Node objects.
    pub nodes: Option<NodesReady>,
    /// How the joins of the step end.
    pub joins: Option<Joins>,
    /// etcd's leader.
    pub leader: Option<Leader>,
    /// Moments of nodes, each not before the one above it.
    pub order: Option<Vec<Point>>,
    /// What nodes have used.
    pub resources: Option<Resources>,
    /// How long things took.
    pub time: Option<Time>,
    /// Texts in logs.
    pub logs: Option<Logs>,
    /// The longest time without an acknowledged write.
    pub write_gap: Option<WriteGap>,
    /// Acknowledged writes that are gone.
    pub lost_writes: Option<LostWrites>,
    /// Reads of what was no longer so.
    pub stale_reads: Option<StaleReads>,
}

impl Expectations {
    /// Is nothing demanded?
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// What the settled member list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Members {
    /// Number of voters.
    pub voters: Option<Compare<usize>>,
    /// Number of learners.
    pub learners: Option<Compare<usize>>,
    /// Number of members that have started.
    pub started: Option<Compare<usize>>,
    /// Their names, in any order.
    pub names: Option<Vec<String>>,
    /// How long after the step's end the list may take to be so; 10 s when not said.
    pub within: Option<Span>,
    /// Only with these versions.
    pub when: Option<When>,
}

/// How long each member that was promoted in the step took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Promotion {
    /// The moment that starts the clock.
    #[serde(default)]
    pub from: PromotionStart,
    /// At least this long.
    pub min: Option<Span>,
    /// At most this long.
    pub max: Option<Span>,
    /// Only with these versions.
    pub when: Option<When>,
}

/// The moment that starts a promotion's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromotionStart {
    /// First seen as a learner in any list.
    #[default]
    Announced,
    /// First seen with a name.
    Started,
}

/// Node objects that are Ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodesReady {
    /// How many.
    pub ready: Compare<usize>,
    /// How long after the step's end that may take; 2 m when not said.
    pub within: Option<Span>,
    /// Only with these versions.
    pub when: Option<When>,
}
