//! Do all voters hold the same data? Their hashes at one revision are told; who compares them hears of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use crate::agent::{Call, Said};
use crate::event::{Bus, Event, Notice};
use crate::node::Node;

/// One member's answer.
const ASK: Duration = Duration::from_secs(4);

/// The nodes that are watched, by name.
pub(super) type Watched = Arc<Mutex<BTreeMap<String, Arc<Node>>>>;

/// Asks each member of these for its hash at the revision that is the newest one of the first that answers. Where they differ they are asked once
/// more: a compaction that is under way shows in one round, other data in both.
/// One that does not answer is not asked: that would hold the next task up for seconds.
pub(super) async fn compare(nodes: &Watched, answering: &BTreeSet<String>, events: &Bus) {
    if !round(nodes, answering, events).await {
        round(nodes, answering, events).await;
    }
}

/// Are they equal, as far as anybody can tell?
async fn round(nodes: &Watched, answering: &BTreeSet<String>, events: &Bus) -> bool {
    let mut nodes = those(nodes, answering);
    // With one alone there is nothing to compare.
    let mut first = None;
    while first.is_none() && nodes.len() > 1 {
        first = ask(&nodes.remove(0), None, events).await;
    }
    let Some((revision, compacted, hash)) = first else { return true };
    let others = join_all(nodes.iter().map(|node| ask(node, Some(revision), events))).await;
    let hashes: BTreeSet<u32> =
        others.into_iter().flatten().filter(|other| other.1 == compacted).map(|other| other.2).chain([hash]).collect();
    hashes.len() == 1
}

fn those(nodes: &Watched, answering: &BTreeSet<String>) -> Vec<Arc<Node>> {
    let all = nodes.lock().unwrap_or_else(PoisonError::into_inner);
    all.values().filter(|node| answering.contains(&node.name)).cloned().collect()
}

/// One member's revision, compacted revision and hash; `None` from a learner, and where nobody answers.
async fn ask(node: &Node, revision: Option<u64>, events: &Bus) -> Option<(u64, u64, u32)> {
    let said = node.agent().ask(Call::DataHash { etcd: node.etcd(), revision }, ASK).await.ok()?;
    let Said::Noticed { seen, notice } = said else { return None };
    let Notice::DataHash { revision, compacted, hash, .. } = notice else { return None };
    events.tell(Event::Noticed { node: node.name.clone(), seen, notice });
    Some((revision, compacted, hash))
}
