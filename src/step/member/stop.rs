//! `member: {stop: …}`: a node's etcd ends.

use std::time::Duration;

use super::super::error::StepError;
use super::super::world::World;
use crate::agent::Call;
use crate::cluster::only;
use crate::event::Event;
use crate::node::Node;
use crate::spec::{Ending, StopMember};
use crate::sys::clock::Stamp;

/// etcd hands its leadership over before it ends; the agent waits for 20 s.
const ASK: Duration = Duration::from_secs(25);

/// Ends a node's etcd, and waits until it is gone.
///
/// # Errors
/// [`StepError::Member`] when it does not run or does not end.
pub(super) async fn stop(world: &World, stop: &StopMember) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let node = only(&cluster, &stop.node).await?;
    let began = Stamp::now();
    // before it has ended: whoever judges in the meantime must know
    if let Some(observer) = &world.observer {
        observer.stopped(&node.name, began);
    }
    let ended = end(&node, stop.how).await;
    if let (Err(_), Some(observer)) = (&ended, &world.observer) {
        observer.told_back(&node.name, Stamp::now());
    }
    ended?;
    world.events.tell(Event::Note { text: format!("etcd of {} has ended", node.name) });
    Ok(())
}

/// Ends the etcd of a node that has no system.
///
/// # Errors
/// As [`stop`].
pub(in super::super) async fn end(node: &Node, how: Ending) -> Result<(), StepError> {
    let (kill, word) = match how {
        Ending::Stop => (false, "stop"),
        Ending::Kill => (true, "kill"),
    };
    let ended = node.agent().ask(Call::End { program: "etcd".into(), kill }, ASK).await;
    ended.map(drop).map_err(|e| StepError::Member { what: format!("{word} etcd of {}", node.name), why: e.to_string() })
}
