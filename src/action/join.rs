//! `kubeadm-join`: the other nodes.

use std::sync::Arc;

use super::error::ActionError;
use super::ground::Ground;
use super::{certs, secrets, settle};
use crate::kubeadm::wishes::{CopyCerts, Discover};
use crate::node::{Node, Role};
use crate::spec::{Join, Order, Pick, Selector};
use crate::step;

/// All but the first control plane, or the one that was named; in kinder's order each is whole before the next begins.
pub(super) async fn join(ground: &mut Ground) -> Result<(), ActionError> {
    let first = ground.cluster.first().clone();
    let nodes: Vec<Arc<Node>> = ground.meant()?.into_iter().filter(|node| node.index != first.index).collect();
    if nodes.is_empty() {
        if let Some(name) = &ground.options.only_node {
            return Err(ActionError::Not(format!("{name} is the node that others join: it cannot join them")));
        }
        ground.note("there is one node: nobody is to join");
        return Ok(());
    }
    let control_planes: Vec<Arc<Node>> = nodes.iter().filter(|node| node.role == Role::ControlPlane).cloned().collect();
    ground.patches(&nodes).await?;
    let wishes = &ground.options.wishes;
    if matches!(wishes.discovery, None | Some(Discover::Token | Discover::File | Discover::FileWithToken)) {
        secrets::ensure_token(ground).await?;
    }
    match wishes.copy_certs {
        _ if control_planes.is_empty() => {}
        CopyCerts::Auto => secrets::ensure_certs(ground).await?,
        CopyCerts::Manual => certs::copy(ground, &control_planes).await?,
        CopyCerts::None => {}
    }
    if ground.options.order == Order::Staged {
        // the slot moves on when the promotion is seen
        let cluster = ground.cluster.clone();
        ground.world.watch(&cluster);
    }
    let turns: Vec<&[Arc<Node>]> = match ground.options.order {
        Order::Serial => nodes.chunks(1).collect(),
        Order::Parallel | Order::Staged => vec![&nodes],
    };
    for turn in turns {
        let names = turn.iter().map(|node| Pick::Name(node.name.clone())).collect();
        let join = Join { nodes: Some(Selector(names)), order: ground.options.order, ..Join::default() };
        step::join(&ground.world, &join, &ground.stop).await?;
        for node in turn {
            settle::settled(ground, node).await?;
        }
    }
    Ok(())
}
