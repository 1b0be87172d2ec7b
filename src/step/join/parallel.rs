//! All nodes at once, from a barrier.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::error::StepError;
use super::node::Joiner;
use crate::event::{Bus, Event};
use crate::node::Node;
use crate::spec::Join;

/// Joins all nodes, at most `join.in_flight` at a time; returns the failures in the order of the nodes.
pub(super) async fn run(joiner: &Arc<Joiner>, nodes: &[Arc<Node>], join: &Join, events: &Bus) -> Vec<StepError> {
    let most = join.in_flight.unwrap_or(nodes.len()).min(nodes.len()).max(1);
    let slots = Arc::new(Semaphore::new(most));
    // The barrier lets the first ones go in the same instant.
    let barrier = Arc::new(Barrier::new(most));
    let mut random = join.jitter.map(|most| (most.0, seeded(join.seed, events)));
    let mut joins = JoinSet::new();
    for (at, node) in nodes.iter().enumerate() {
        let delay = random.as_mut().map_or(Duration::ZERO, |(most, random)| most.mul_f64(random.f64()));
        let (joiner, node, slots, barrier) = (joiner.clone(), node.clone(), slots.clone(), barrier.clone());
        // The first ones get their slots here: one that came too late for its own would keep the others at the barrier.
        let slot = if at < most { slots.clone().try_acquire_owned().ok() } else { None };
        joins.spawn(async move {
            let _slot = match slot {
                Some(slot) => Some(slot),
                None => slots.acquire_owned().await.ok(),
            };
            if at < most {
                barrier.wait().await;
            }
            tokio::select! {
                () = joiner.until_stopped() => {}
                () = sleep(delay) => {}
            }
            (node.index, if joiner.stopped() { Ok(()) } else { joiner.join(&node).await })
        });
    }
    let mut ended = joins.join_all().await;
    ended.sort_by_key(|(index, _)| *index);
    ended.into_iter().filter_map(|(_, outcome)| outcome.err()).collect()
}

fn seeded(seed: Option<u64>, events: &Bus) -> fastrand::Rng {
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    // the report page shows it by these words
    events.tell(Event::Note { text: format!("jitter: seed {seed}") });
    fastrand::Rng::with_seed(seed)
}
