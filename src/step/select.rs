//! Selectors to the nodes of a cluster that runs.

use std::sync::Arc;

use super::error::StepError;
use crate::cluster::Cluster;
use crate::node::{Node, Role};
use crate::spec::{Pick, Selector};

/// The nodes that a selector means, each once, in the order of their indexes.
///
/// # Errors
/// [`StepError::Selects`] when there is none and that is not `allowed`.
pub(super) fn select(cluster: &Cluster, selector: &Selector, allowed: bool) -> Result<Vec<Arc<Node>>, StepError> {
    let nodes: Vec<Arc<Node>> =
        cluster.nodes.iter().filter(|node| selector.0.iter().any(|pick| means(cluster, pick, node))).cloned().collect();
    if nodes.is_empty() && !allowed {
        return Err(StepError::Selects { selector: selector.to_string() });
    }
    Ok(nodes)
}

fn means(cluster: &Cluster, pick: &Pick, node: &Node) -> bool {
    let nth = |role: Role, n: u8| node.role == role && node.name.ends_with(&format!("-{}-{n}", role.as_str()));
    match pick {
        Pick::All => true,
        Pick::First => node.index == cluster.first().index,
        Pick::ControlPlanes => node.role == Role::ControlPlane,
        Pick::Secondaries => node.role == Role::ControlPlane && node.index != cluster.first().index,
        Pick::Workers => node.role == Role::Worker,
        Pick::ControlPlane(n) => nth(Role::ControlPlane, *n),
        Pick::Worker(n) => nth(Role::Worker, *n),
        Pick::Name(name) => node.name == *name,
        Pick::Leader | Pick::Followers | Pick::Learner => false,
    }
}
