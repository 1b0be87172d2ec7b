//! What is demanded, in words, before anything was seen; and how long it may take where the file does not say.

use std::time::Duration;

use super::{members, nodes, promotion};
use crate::spec::Expectations;

/// How long the member list may take to settle.
pub const SETTLE: Duration = Duration::from_secs(10);
/// How long nodes may take to get Ready.
pub const READY: Duration = Duration::from_mins(2);

/// One line for each expectation.
pub fn wanted(expect: &Expectations) -> Vec<String> {
    let members = expect.members.as_ref().map(|m| format!("members: {}", members::describe_wanted(m)));
    let promotion = expect.promotion.as_ref().map(|p| format!("promotion: {}", promotion::describe(p)));
    let nodes = expect.nodes.as_ref().map(|n| format!("nodes: {}", nodes::describe(n, n.within.map_or(READY, |w| w.0))));
    [members, promotion, nodes].into_iter().flatten().collect()
}
