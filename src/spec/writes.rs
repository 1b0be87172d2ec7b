//! What a step demands of the history of joinder's own clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expected::Over;
use super::unit::{Compare, Span};
use super::version::When;

/// The longest time without an acknowledgement from any voter's writer, while quorum should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteGap {
    /// At least this long.
    pub min: Option<Span>,
    /// At most this long.
    pub max: Option<Span>,
    /// The time that it is looked at over; `step` when not said.
    #[serde(default)]
    pub over: Over,
    /// The same around the second voter's vote, from one second before it to five behind it; as the rest when not said.
    pub one_to_two: Option<Compare<Span>>,
    /// The same while too few voters are up because the workflow restarts them; anything when not said.
    pub while_down: Option<Compare<Span>>,
    /// Only with these versions.
    pub when: Option<When>,
}

impl WriteGap {
    /// The bounds for a time in which nothing but quorum is to be expected; `None` where there are none.
    pub fn bounds(&self) -> Option<Compare<Span>> {
        (self.min.is_some() || self.max.is_some()).then_some(Compare { equals: None, min: self.min, max: self.max })
    }
}

/// Writes that were acknowledged, and that etcd does not have in the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LostWrites {
    /// At most so many of the run.
    pub max: usize,
    /// Only with these versions.
    pub when: Option<When>,
}

/// Reads that returned what no linearizable read could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaleReads {
    /// At most so many.
    pub max: usize,
    /// The time that it is looked at over; `step` when not said.
    #[serde(default)]
    pub over: Over,
    /// Only with these versions.
    pub when: Option<When>,
}
