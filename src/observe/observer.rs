//! Starts a sampler in each control plane, tells what they see, and keeps the record.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::record::Record;
use crate::agent::{Agent, Call, Said};
use crate::event::{Bus, Event, Moment};
use crate::node::Node;
use crate::sys::clock::Stamp;

/// Between two looks at a member, and the same while a learner or an unstarted member exists.
const EVERY: Duration = Duration::from_millis(100);
const BUSY: Duration = Duration::from_millis(50);

/// The running samplers. Dropping it ends them.
pub struct Observer {
    record: Arc<Mutex<Record>>,
    samplers: JoinSet<()>,
    events: Bus,
    stop: CancellationToken,
    /// One for each node that is watched.
    each: BTreeMap<String, CancellationToken>,
}

impl Observer {
    /// Watches the etcd members of these nodes, whether they run yet or not.
    pub fn start<'a>(nodes: impl IntoIterator<Item = &'a Arc<Node>>, events: &Bus) -> Self {
        let mut this = Self {
            record: Arc::default(),
            samplers: JoinSet::new(),
            events: events.clone(),
            stop: CancellationToken::new(),
            each: BTreeMap::new(),
        };
        nodes.into_iter().for_each(|node| this.add(node));
        this
    }

    /// Watches one more.
    pub fn add(&mut self, node: &Arc<Node>) {
        let stop = self.stop.child_token();
        self.each.insert(node.name.clone(), stop.clone());
        self.samplers.spawn(sample(node.clone(), self.events.clone(), self.record.clone(), stop));
    }

    /// Ends the watch of a node that is about to go; what was seen stays.
    pub fn forget(&mut self, node: &str) {
        if let Some(stop) = self.each.remove(node) {
            stop.cancel();
        }
        self.locked(|record| record.forget(node));
    }

    /// What was seen so far.
    pub fn record(&self) -> Record {
        self.locked(|record| record.clone())
    }

    /// Has a member of this name become a voter since then?
    pub fn promoted(&self, name: &str, since: Stamp) -> bool {
        self.locked(|record| {
            let lives = record.lives.values().filter(|life| life.name == name);
            lives.filter_map(|life| life.sight(Moment::Promoted)).any(|sight| sight.at >= since)
        })
    }

    /// Ends the samplers and waits for them.
    pub async fn stop(mut self) -> Record {
        self.stop.cancel();
        while self.samplers.join_next().await.is_some() {}
        self.record()
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Record) -> T) -> T {
        act(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Samples a node's member, and goes on with the next agent when one is lost with its container.
async fn sample(node: Arc<Node>, events: Bus, record: Arc<Mutex<Record>>, stop: CancellationToken) {
    let mut agents = node.agents();
    loop {
        let agent = agents.borrow_and_update().clone();
        let why = tokio::select! {
            () = stop.cancelled() => return,
            why = follow(&agent, &node.name, &events, &record) => why,
        };
        drop(agent);
        record.lock().unwrap_or_else(PoisonError::into_inner).forget(&node.name);
        events.tell(Event::Warning { text: format!("{} is not watched until it is back: {why}", node.name) });
        tokio::select! {
            () = stop.cancelled() => return,
            changed = agents.changed() => if changed.is_err() { return },
        }
    }
}

/// Keeps what one agent sees; returns why it sees nothing any more.
async fn follow(agent: &Agent, node: &str, events: &Bus, record: &Mutex<Record>) -> String {
    let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    let mut replies = agent.call(Call::Watch { every: millis(EVERY), busy: millis(BUSY) });
    loop {
        match replies.next().await {
            Ok(Said::Sample { sample }) => {
                let seq = events.tell(Event::Etcd { node: node.to_owned(), sample: sample.clone() });
                let fresh = record.lock().unwrap_or_else(PoisonError::into_inner).sample(seq, node, &sample);
                for (id, name, moment) in fresh {
                    events.tell(Event::Member { id, name, moment, seen: sample.seen });
                }
            }
            Ok(Said::Failed { why }) => return why,
            Ok(
                Said::Hello { .. }
                | Said::Started { .. }
                | Said::Line { .. }
                | Said::Exited { .. }
                | Said::Answer { .. }
                | Said::Members { .. }
                | Said::Used { .. }
                | Said::Metered { .. }
                | Said::Noticed { .. }
                | Said::Done,
            ) => {}
            Err(e) => return e.to_string(),
        }
    }
}
