//! `scale`: new nodes that join, or the last ones that leave.

use std::sync::Arc;

use super::error::StepError;
use super::join;
use super::reset::take_out;
use super::world::World;
use crate::cluster::{Cluster, Creation, NodePlace, Topology};
use crate::event::Event;
use crate::node::{Node, Role};
use crate::spec::{Join, Scale};
use crate::sys::stop::Stop;

/// Brings the cluster to this size: the highest numbers leave, one after the other, then new ones are made and join.
///
/// # Errors
/// Those of `reset`, `create` and `join`. The world is then as the cluster is: a node that left is gone, one that was made and
/// did not join is there.
pub async fn scale(world: &mut World, scale: &Scale, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let count = |role| u8::try_from(cluster.nodes.iter().filter(|node| node.role == role).count()).unwrap_or(u8::MAX);
    let control_planes = scale.control_planes.unwrap_or_else(|| count(Role::ControlPlane));
    let workers = scale.workers.unwrap_or_else(|| count(Role::Worker));
    let (wanted, new) = world.topology.resized(control_planes, workers).map_err(|e| StepError::Size { why: e.to_string() })?;
    let stays = |node: &Arc<Node>| wanted.nodes.iter().any(|place| place.name == node.name);
    // Workers before control planes, and of those the highest number first.
    let mut leaving: Vec<Arc<Node>> = cluster.nodes.iter().filter(|node| !stays(node)).cloned().collect();
    leaving.sort_by_key(|node| (node.role == Role::ControlPlane, std::cmp::Reverse(node.index)));
    for node in leaving {
        if stop.soft.is_cancelled() {
            return Err(StepError::Stopped);
        }
        leave(world, &node, stop).await?;
    }
    if new.is_empty() {
        return Ok(());
    }
    let grown = make(world, wanted, &new, stop).await?;
    let joining: Vec<Arc<Node>> = grown.nodes.iter().filter(|node| new.iter().any(|place| place.name == node.name)).cloned().collect();
    if let Some(observer) = &mut world.observer {
        for node in &joining {
            observer.add(node);
        }
    }
    join::these(world, &grown, &joining, &Join { order: scale.order, ..Join::default() }, stop).await
}

/// Takes a node out of the cluster, and its container away.
async fn leave(world: &mut World, node: &Node, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    take_out(world, &cluster, node, stop).await?;
    if let Some(observer) = &mut world.observer {
        observer.forget(&node.name);
    }
    world.cluster = Some(Arc::new(cluster.without(&node.name)));
    world.topology.nodes.retain(|place| place.name != node.name);
    world.runtime.remove(&node.name).await.map_err(crate::node::NodeError::from)?;
    world.events.tell(Event::Note { text: format!("{} has left, and its container is removed", node.name) });
    Ok(())
}

/// Makes the new nodes; the world knows them from then on.
async fn make(world: &mut World, wanted: Topology, new: &[NodePlace], stop: &Stop) -> Result<Arc<Cluster>, StepError> {
    let cluster = world.cluster()?;
    let creation = Creation {
        topology: &wanted,
        images: &world.images,
        overrides: &world.overrides,
        run: &world.run,
        lifetime: world.lifetime,
        limits: &world.limits,
        kubeconfig: world.kubeconfig.as_deref(),
        runtime: &world.runtime,
        events: &world.events,
        stop,
    };
    let grown = Arc::new(cluster.grow(&creation, new).await?);
    world.cluster = Some(grown.clone());
    world.topology = wanted;
    Ok(grown)
}
