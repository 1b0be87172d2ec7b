//! `kubeadm-reset`: all nodes, the last one first, or the one that was named.

use super::error::ActionError;
use super::ground::Ground;
use crate::spec::{Pick, Reset, Selector};
use crate::step;

/// `kubeadm reset`, and that nothing of the node is left in the cluster.
pub(super) async fn reset(ground: &Ground) -> Result<(), ActionError> {
    let names = ground.meant()?.iter().map(|node| Pick::Name(node.name.clone())).collect();
    Ok(step::reset(&ground.world, &Reset { nodes: Selector(names), allow_empty: false }, &ground.stop).await?)
}
