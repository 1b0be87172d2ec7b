//! Taking away by label, retried and verified.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::kubeconfig::KeptFile;
use super::thaw::{ROOT, thaw};
use crate::runtime::{Container, Network, Runtime, RuntimeError, Volume};
use crate::sys::clock::human;

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(300);
/// All has to stay gone for this long where the engine owes an answer: it may make an object after the first look.
const SETTLE: Duration = Duration::from_secs(10);
/// One call's limit: one that hangs is tried again before the removal's own limit has passed.
const TRY: Duration = Duration::from_secs(30);
/// At the hard level: time for one look at what is left.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// What came of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// What was removed, by kind and name.
    pub removed: Vec<String>,
    /// What could not be, with the reason.
    pub left: Vec<String>,
}

/// Removes containers (with their volumes), volumes and networks that carry all these labels. Tries until nothing is found
/// in two looks running, or until `limit` passes. When `hard` fires it only looks once more at what is left.
pub async fn remove(runtime: &dyn Runtime, labels: &[String], limit: Duration, hard: &CancellationToken) -> Gone {
    let end = Instant::now() + limit;
    let mut removed = Vec::new();
    let mut kept = BTreeSet::new();
    let mut clean_since = None;
    let mut left = loop {
        let mut left = BTreeMap::new();
        let found = tokio::select! {
            biased;
            () = hard.cancelled() => break last_look(runtime, labels).await,
            found = sweep(runtime, labels, &mut removed, &mut left, &mut kept) => found,
        };
        let now = Instant::now();
        let clean = found == 0 && left.is_empty();
        clean_since = if clean { clean_since.or(Some(now)) } else { None };
        let settle = if runtime.owes() { SETTLE } else { PAUSE };
        if clean_since.is_some_and(|since| now - since >= settle) || now >= end {
            break left;
        }
        tokio::select! {
            () = hard.cancelled() => {}
            () = sleep(PAUSE) => {}
        }
    };
    // While something of the cluster is left, so is what tells of the file.
    if left.is_empty() {
        for file in kept {
            match file.remove() {
                Ok(true) => removed.push(file.name()),
                Ok(false) => {}
                Err(e) => drop(left.insert(file.name(), e.to_string())),
            }
        }
    }
    removed.sort();
    removed.dedup();
    Gone { removed, left: left.into_iter().map(|(what, why)| format!("{what}: {why}")).collect() }
}

/// One round; returns how much was found.
async fn sweep(
    runtime: &dyn Runtime,
    labels: &[String],
    removed: &mut Vec<String>,
    left: &mut BTreeMap<String, String>,
    kept: &mut BTreeSet<KeptFile>,
) -> usize {
    let mut outcomes: Vec<(String, Result<(), String>)> = Vec::new();
    // Containers first: what they use cannot be removed before them.
    match tried(runtime.containers(labels)).await {
        Ok(list) => {
            kept.extend(list.iter().filter_map(|c| KeptFile::of(&c.labels)));
            for c in &list {
                thaw(Path::new(ROOT), &c.id);
            }
            outcomes.extend(join_all(list.iter().map(async |c| (container(c), tried(runtime.remove(&c.name)).await))).await);
        }
        Err(why) => outcomes.push(("list of containers".into(), Err(why))),
    }
    match tried(runtime.volumes(labels)).await {
        Ok(list) => outcomes.extend(join_all(list.iter().map(async |v| (volume(v), tried(runtime.remove_volume(&v.name)).await))).await),
        Err(why) => outcomes.push(("list of volumes".into(), Err(why))),
    }
    match tried(runtime.networks(labels)).await {
        Ok(list) => {
            kept.extend(list.iter().filter_map(|n| KeptFile::of(&n.labels)));
            outcomes.extend(join_all(list.iter().map(async |n| (network(n), tried(runtime.remove_network(&n.name)).await))).await);
        }
        Err(why) => outcomes.push(("list of networks".into(), Err(why))),
    }
    let found = outcomes.len();
    for (what, outcome) in outcomes {
        match outcome {
            Ok(()) => removed.push(what),
            Err(why) => drop(left.insert(what, why)),
        }
    }
    found
}

async fn tried<T>(call: impl Future<Output = Result<T, RuntimeError>>) -> Result<T, String> {
    match timeout(TRY, call).await {
        Ok(answer) => answer.map_err(|e| e.said),
        Err(_) => Err(format!("no answer from the engine in {}", human(TRY))),
    }
}

/// Names what is there, for one who cannot wait for its removal.
async fn last_look(runtime: &dyn Runtime, labels: &[String]) -> BTreeMap<String, String> {
    let look = async {
        let (containers, volumes, networks) =
            tokio::try_join!(runtime.containers(labels), runtime.volumes(labels), runtime.networks(labels))?;
        let names = containers.iter().map(container).chain(volumes.iter().map(volume)).chain(networks.iter().map(network));
        Ok::<_, RuntimeError>(names.map(|what| (what, "removal was stopped".to_owned())).collect())
    };
    let unseen = |why: String| BTreeMap::from([(format!("whatever carries the label {}", labels.join(" ")), why)]);
    match timeout(LAST_LOOK, look).await {
        Ok(Ok(left)) => left,
        Ok(Err(e)) => unseen(format!("removal was stopped, and {e}")),
        Err(_) => unseen("removal was stopped, and the engine does not say what there is".into()),
    }
}

fn container(c: &Container) -> String {
    format!("container {}", c.name)
}

fn volume(v: &Volume) -> String {
    format!("volume {}", v.name)
}

fn network(n: &Network) -> String {
    format!("network {}", n.name)
}
