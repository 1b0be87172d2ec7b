//! What is demanded, in words, before anything was seen; and how long it may take where the file does not say.

use std::time::Duration;

use super::{joins, leader, logs, lost_writes, members, nodes, order, promotion, resources, stale_reads, time, write_gap};
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
    let joins = expect.joins.as_ref().map(|j| format!("joins: {}", joins::describe(j)));
    let leader = expect.leader.as_ref().map(|l| format!("leader: {}", leader::describe(l)));
    let order = expect.order.as_ref().map(|o| format!("order: {}", order::describe(o)));
    let resources = expect.resources.as_ref().map(|r| format!("resources: {}", resources::describe(r)));
    let time = expect.time.as_ref().map(|t| format!("time: {}", time::describe(t)));
    let logs = expect.logs.as_ref().map(|l| format!("logs: {}", logs::describe(l)));
    let gap = expect.write_gap.as_ref().map(|g| format!("writeGap: {}", write_gap::describe(g)));
    let lost = expect.lost_writes.as_ref().map(|l| format!("lostWrites: {}", lost_writes::describe(l)));
    let stale = expect.stale_reads.as_ref().map(|s| format!("staleReads: {}", stale_reads::describe(s)));
    [members, promotion, nodes, joins, leader, order, resources, time, logs, gap, lost, stale].into_iter().flatten().collect()
}
