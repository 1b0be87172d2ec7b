//! The step: who is meant, in which order, and what became of each.

use std::sync::Arc;

use super::super::error::StepError;
use super::super::world::{Commands, World};
use super::{node, parallel, serial};
use crate::event::{Event, Work};
use crate::node::{Node, Role};
use crate::spec::{Join, Nodes, Order};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Joins the nodes that the step names. A node that fails does not stop the others.
///
/// # Errors
/// [`StepError::Joins`] with one failure a node.
pub async fn join(world: &mut World, join: &Join, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let nodes: Vec<Arc<Node>> = cluster.nodes.iter().skip(1).filter(|n| is_meant(join.nodes, n.role)).cloned().collect();
    let commands = Commands::of(&cluster, &world.events, stop)?;
    let joiner = Arc::new(node::Joiner::prepare(cluster.clone(), commands, world.topology.discovery).await?);
    let began = Stamp::now();
    let of = nodes.len();
    let failures = match join.order {
        Order::Serial => serial::run(&joiner, &nodes).await,
        Order::Parallel => parallel::run(&joiner, &nodes, join, &world.events).await,
    };
    world.events.tell(Event::Worked { work: Work::Joins, on: cluster.name.clone(), began, took: Stamp::now().since(began) });
    if failures.is_empty() { Ok(()) } else { Err(StepError::Joins { failures, of }) }
}

fn is_meant(nodes: Nodes, role: Role) -> bool {
    match nodes {
        Nodes::All => true,
        Nodes::Secondaries => role == Role::ControlPlane,
        Nodes::Workers => role == Role::Worker,
    }
}
