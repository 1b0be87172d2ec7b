//! The step: who is meant, in which order, and what became of each.

use std::sync::Arc;

use super::super::error::StepError;
use super::super::world::{Commands, World};
use super::{node, parallel, serial, staged};
use crate::cluster::{Cluster, select};
use crate::event::{Event, Work};
use crate::node::Node;
use crate::spec::{Join, Order, Selector};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Joins the nodes that the step names. A node that fails does not stop the others.
///
/// # Errors
/// [`StepError::Joins`] with one failure a node.
pub async fn join(world: &World, join: &Join, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let first = cluster.first().index;
    let meant = select(&cluster, join.nodes.as_ref().unwrap_or(&Selector::all()), join.allow_empty).await?;
    let nodes: Vec<Arc<Node>> = meant.into_iter().filter(|node| node.index != first).collect();
    if nodes.is_empty() && !join.allow_empty {
        let why = format!("only {} is meant, which others join: it cannot join them", cluster.first().name);
        return Err(StepError::CannotJoin { order: join.order.as_str(), why });
    }
    these(world, &cluster, &nodes, join, stop).await
}

/// Joins just these nodes.
pub(in super::super) async fn these(
    world: &World,
    cluster: &Arc<Cluster>,
    nodes: &[Arc<Node>],
    join: &Join,
    stop: &Stop,
) -> Result<(), StepError> {
    let commands = Commands::of(cluster, &world.wishes, &world.events, stop)?;
    let joiner = Arc::new(node::Joiner::prepare(cluster.clone(), commands, world.topology.discovery).await?);
    let began = Stamp::now();
    let of = nodes.len();
    let failures = match join.order {
        Order::Serial => serial::run(&joiner, nodes).await,
        Order::Parallel => parallel::run(&joiner, nodes, join, world.seed, &world.events).await,
        Order::Staged => staged::run(&joiner, nodes, world.observer.as_ref()).await?,
    };
    world.events.tell(Event::Worked { work: Work::Joins, on: cluster.name.clone(), began, took: Stamp::now().since(began) });
    if failures.is_empty() { Ok(()) } else { Err(StepError::Joins { failures, of }) }
}
