//! Taking away by label, retried and verified.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::runtime::{Runtime, RuntimeError};

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(300);
/// All has to be gone in this many looks running: a call that was late may make its object after the first of them.
const LOOKS: usize = 2;

/// What came of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// What was removed, by kind and name.
    pub removed: Vec<String>,
    /// What could not be, with the reason.
    pub left: Vec<String>,
}

/// Removes containers (with their volumes), volumes and networks that carry all these labels. Tries until nothing is found
/// in two looks running, `limit` passes, or `hard` fires.
pub async fn remove(runtime: &dyn Runtime, labels: &[String], limit: Duration, hard: &CancellationToken) -> Gone {
    let end = Instant::now() + limit;
    let mut removed = Vec::new();
    let mut clean = 0;
    let mut left: BTreeMap<String, String>;
    loop {
        left = BTreeMap::new();
        let found = tokio::select! {
            () = hard.cancelled() => {
                left.insert("whatever carries the label".into(), "removal was stopped".into());
                break;
            }
            found = sweep(runtime, labels, &mut removed, &mut left) => found,
        };
        clean = if found == 0 && left.is_empty() { clean + 1 } else { 0 };
        if clean == LOOKS || Instant::now() >= end {
            break;
        }
        tokio::select! {
            () = hard.cancelled() => {}
            () = sleep(PAUSE) => {}
        }
    }
    removed.sort();
    removed.dedup();
    Gone { removed, left: left.into_iter().map(|(what, why)| format!("{what}: {why}")).collect() }
}

/// One round; returns how much was found.
async fn sweep(runtime: &dyn Runtime, labels: &[String], removed: &mut Vec<String>, left: &mut BTreeMap<String, String>) -> usize {
    let mut outcomes: Vec<(String, Result<(), RuntimeError>)> = Vec::new();
    // Containers first: what they use cannot be removed before them.
    match runtime.containers(labels).await {
        Ok(list) => {
            outcomes
                .extend(join_all(list.iter().map(|c| async { (format!("container {}", c.name), runtime.remove(&c.name).await) })).await);
        }
        Err(e) => outcomes.push(("list of containers".into(), Err(e))),
    }
    match runtime.volumes(labels).await {
        Ok(list) => outcomes
            .extend(join_all(list.iter().map(|v| async { (format!("volume {}", v.name), runtime.remove_volume(&v.name).await) })).await),
        Err(e) => outcomes.push(("list of volumes".into(), Err(e))),
    }
    match runtime.networks(labels).await {
        Ok(list) => outcomes
            .extend(join_all(list.iter().map(|n| async { (format!("network {}", n.name), runtime.remove_network(&n.name).await) })).await),
        Err(e) => outcomes.push(("list of networks".into(), Err(e))),
    }
    let found = outcomes.len();
    for (what, outcome) in outcomes {
        match outcome {
            Ok(()) => removed.push(what),
            Err(e) => drop(left.insert(what, e.said)),
        }
    }
    found
}
