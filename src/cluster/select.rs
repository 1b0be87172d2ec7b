//! Selectors to the nodes of a cluster that runs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use thiserror::Error;
use tokio::time::timeout;

use super::create::Cluster;
use super::pick::means as by_name;
use crate::agent::{Call, Said};
use crate::event::MemberStatus;
use crate::node::Node;
use crate::spec::{Pick, Selector};

/// One member's answer.
const ASK: Duration = Duration::from_secs(3);

/// Why a selector means nothing.
#[derive(Debug, Error)]
pub enum SelectError {
    /// It means no node that is there.
    #[error("{selector:?} selects none of the nodes that are there")]
    Nothing {
        /// The selector.
        selector: String,
    },
    /// A selector means several nodes where it may mean one.
    #[error("{selector:?} selects {}, but just one can be meant here", names.join(", "))]
    Many {
        /// The selector.
        selector: String,
        /// The nodes.
        names: Vec<String>,
    },
    /// It is about etcd, and no member could be asked.
    #[error("{selector:?} needs an answer from etcd: {}", if said.is_empty() { "there is no control plane".to_owned() } else { said.join("; ") })]
    Unseen {
        /// The selector.
        selector: String,
        /// What the members said.
        said: Vec<String>,
    },
}

/// The nodes that a selector means, each once, in the order of their indexes. What depends on etcd is asked of its members now.
///
/// # Errors
/// [`SelectError::Nothing`] when there is none and that is not `allowed`; [`SelectError::Unseen`] when no member says who leads.
pub async fn select(cluster: &Cluster, selector: &Selector, allowed: bool) -> Result<Vec<Arc<Node>>, SelectError> {
    let parts = if selector.0.iter().any(Pick::depends_on_etcd) { parts(cluster, selector).await? } else { Parts::default() };
    let meant = |node: &&Arc<Node>| selector.0.iter().any(|pick| means(cluster, pick, node, &parts));
    let nodes: Vec<Arc<Node>> = cluster.nodes.iter().filter(meant).cloned().collect();
    if nodes.is_empty() && !allowed {
        return Err(SelectError::Nothing { selector: selector.to_string() });
    }
    Ok(nodes)
}

/// Names of the nodes by what their members are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    leader: Option<String>,
    followers: Vec<String>,
    learners: Vec<String>,
}

fn means(cluster: &Cluster, pick: &Pick, node: &Node, parts: &Parts) -> bool {
    let first = node.index == cluster.first().index;
    match by_name(pick, &node.name, node.role, first) {
        Some(meant) => meant,
        None if *pick == Pick::Leader => parts.leader.as_ref() == Some(&node.name),
        None if *pick == Pick::Followers => parts.followers.contains(&node.name),
        None => parts.learners.contains(&node.name),
    }
}

/// Asks every member what it is.
async fn parts(cluster: &Cluster, selector: &Selector) -> Result<Parts, SelectError> {
    let asked = join_all(cluster.with_member().map(async |node| (node.name.clone(), status(node).await))).await;
    let (mut seen, mut said) = (Vec::new(), Vec::new());
    for (name, status) in asked {
        match status {
            Ok(status) => seen.push((name, status)),
            Err(why) => said.push(format!("{name}: {why}")),
        }
    }
    let parts = sort(&seen);
    // Without a leader nobody follows, and a learner may be a voter by now.
    if parts.leader.is_none() {
        said.extend(seen.iter().map(|(name, status)| format!("{name}: no leader in term {}", status.term)));
        return Err(SelectError::Unseen { selector: selector.to_string(), said });
    }
    Ok(parts)
}

/// The one node that a selector means.
///
/// # Errors
/// As [`select`]; [`SelectError::Many`] when it means several.
pub async fn only(cluster: &Cluster, selector: &Selector) -> Result<Arc<Node>, SelectError> {
    let mut nodes = select(cluster, selector, false).await?;
    if nodes.len() > 1 {
        let names = nodes.iter().map(|node| node.name.clone()).collect();
        return Err(SelectError::Many { selector: selector.to_string(), names });
    }
    Ok(nodes.remove(0))
}

/// What a node's member says of itself now: the first sample of a sampler of its own.
///
/// # Errors
/// Why there is none.
pub async fn status(node: &Node) -> Result<MemberStatus, String> {
    let mut replies = node.agent().call(Call::Watch { etcd: node.etcd(), every: 1000, busy: 1000 });
    match timeout(ASK, replies.next()).await {
        Ok(Ok(Said::Sample { sample })) => sample.status.ok_or_else(|| sample.error.unwrap_or_default()),
        Ok(Ok(other)) => Err(format!("{other:?}")),
        Ok(Err(e)) => Err(e.to_string()),
        Err(_) => Err("no answer in time".into()),
    }
}

/// The leader is who takes itself for it; of several the one with the highest term.
fn sort(seen: &[(String, MemberStatus)]) -> Parts {
    let leads = |status: &MemberStatus| status.leader == status.id && !status.learner;
    let leader = seen.iter().filter(|(_, status)| leads(status)).max_by_key(|(_, status)| status.term).map(|(name, _)| name.clone());
    let names = |is: &dyn Fn(&str, &MemberStatus) -> bool| {
        seen.iter().filter(|(name, status)| is(name, status)).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    Parts {
        followers: names(&|name, status| !status.learner && leader.as_deref() != Some(name)),
        learners: names(&|_, status| status.learner),
        leader,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MemberId;

    #[test]
    fn members_are_told_apart_and_an_old_leader_does_not_lead() {
        let status =
            |id, leader, term, learner| MemberStatus { id: MemberId(id), leader: MemberId(leader), term, learner, ..Default::default() };
        let seen = [
            ("a".to_owned(), status(1, 1, 2, false)),
            ("b".to_owned(), status(2, 2, 3, false)),
            ("c".to_owned(), status(3, 2, 3, false)),
            ("d".to_owned(), status(4, 2, 3, true)),
        ];
        let parts = sort(&seen);
        assert_eq!(parts, Parts { leader: Some("b".into()), followers: vec!["a".into(), "c".into()], learners: vec!["d".into()] });
        assert_eq!(sort(&[("a".to_owned(), status(1, 0, 4, false))]).leader, None);
    }
}
