//! Changes of the member list, by way of one member, tried again where etcd refuses for now.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::error::StepError;
use crate::agent::{Call, MemberChange, Said};
use crate::cluster::{Cluster, SelectError, only};
use crate::event::Member;
use crate::node::Node;
use crate::spec::Selector;
use crate::sys::stop::Stop;

/// One answer. etcd gives up after 5 s and two election timeouts, 7 s.
const ASK: Duration = Duration::from_secs(9);
/// Between two tries.
const EVERY: Duration = Duration::from_millis(100);

/// The node that is asked: the one that is named, else the first one with a vote that answers; the one that is changed only where no
/// other does, since what is removed ends before it has answered.
pub(in super::super) async fn via(cluster: &Cluster, named: Option<&Selector>, changed: Option<&Node>) -> Result<Arc<Node>, StepError> {
    if let Some(selector) = named {
        return Ok(only(cluster, selector).await?);
    }
    let mut said = Vec::new();
    let is_changed = |node: &Node| changed.is_some_and(|changed| changed.name == node.name);
    let (last, first): (Vec<_>, Vec<_>) = cluster.with_member().partition(|node| is_changed(node));
    for node in first.into_iter().chain(last) {
        match members(node).await {
            Ok(_) => return Ok(node.clone()),
            Err(why) => said.push(why),
        }
    }
    Err(SelectError::Unseen { selector: "a member with a vote".into(), said }.into())
}

/// The member list as a node's own member has it, as fresh as the question.
///
/// # Errors
/// Why it has none, in words.
pub async fn members(node: &Node) -> Result<Vec<Member>, String> {
    listed(node, Call::Members { etcd: node.etcd() }).await
}

async fn listed(node: &Node, call: Call) -> Result<Vec<Member>, String> {
    match node.agent().ask(call, ASK).await {
        Ok(Said::Members { members }) => Ok(members),
        Ok(other) => Err(format!("{}: {other:?}", node.name)),
        Err(e) => Err(e.to_string()),
    }
}

/// Makes a change, and returns the list behind it. Before each further try, and where no answer came, the list is read: the change
/// may have been made, which `made` sees in it.
pub(in super::super) async fn change(
    via: &Node,
    what: &str,
    change: &MemberChange,
    within: Duration,
    made: impl Fn(&[Member]) -> bool,
    stop: &Stop,
) -> Result<Vec<Member>, StepError> {
    let end = Instant::now() + within;
    loop {
        let why = match listed(via, Call::Change { etcd: via.etcd(), change: change.clone() }).await {
            Ok(members) => return Ok(members),
            Err(why) => why,
        };
        if let Ok(members) = members(via).await
            && made(&members)
        {
            return Ok(members);
        }
        if !passes(&why) || Instant::now() + EVERY > end {
            return Err(StepError::Member { what: what.to_owned(), why });
        }
        tokio::select! {
            () = stop.soft.cancelled() => return Err(StepError::Stopped),
            () = sleep(EVERY) => {}
        }
    }
}

/// Refusals that pass by themselves (`api/v3rpc/rpctypes/error.go`), and answers that did not come.
fn passes(why: &str) -> bool {
    const PASSING: [&str; 9] = [
        "too many learner members",
        "unhealthy cluster",
        "in sync with leader",
        "not enough started members",
        "leader changed",
        "no leader",
        "too many requests",
        "timed out",
        "no answer in time",
    ];
    PASSING.iter().any(|passing| why.contains(passing))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_refusals_that_pass_are_tried_again() {
        for (why, passes) in [
            ("etcdserver: too many learner members in cluster", true),
            ("etcdserver: can only promote a learner member which is in sync with leader", true),
            ("etcdserver: can only promote a learner member", false),
            ("etcdserver: Peer URLs already exists", false),
            ("etcdserver: member not found", false),
        ] {
            assert_eq!(super::passes(why), passes, "{why}");
        }
    }
}
