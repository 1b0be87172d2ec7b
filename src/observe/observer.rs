//! Starts a sampler in each control plane, tells what they see, and keeps the record.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::record::Record;
use crate::agent::{Call, Said};
use crate::event::{Bus, Event};
use crate::node::Node;

/// Between two looks at a member, and the same while a learner or an unstarted member exists.
const EVERY: Duration = Duration::from_millis(100);
const BUSY: Duration = Duration::from_millis(50);

/// The running samplers. Dropping it ends them.
pub struct Observer {
    record: Arc<Mutex<Record>>,
    samplers: JoinSet<()>,
    stop: CancellationToken,
}

impl Observer {
    /// Watches the etcd members of these nodes, whether they run yet or not.
    pub fn start(nodes: &[Arc<Node>], events: &Bus) -> Self {
        let record = Arc::new(Mutex::new(Record::default()));
        let stop = CancellationToken::new();
        let mut samplers = JoinSet::new();
        for node in nodes {
            samplers.spawn(sample(node.clone(), events.clone(), record.clone(), stop.clone()));
        }
        Self { record, samplers, stop }
    }

    /// What was seen so far.
    pub fn record(&self) -> Record {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the samplers and waits for them.
    pub async fn stop(mut self) -> Record {
        self.stop.cancel();
        while self.samplers.join_next().await.is_some() {}
        self.record()
    }
}

async fn sample(node: Arc<Node>, events: Bus, record: Arc<Mutex<Record>>, stop: CancellationToken) {
    let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    let mut replies = node.agent().call(Call::Watch { every: millis(EVERY), busy: millis(BUSY) });
    loop {
        let said = tokio::select! {
            () = stop.cancelled() => return,
            said = replies.next() => said,
        };
        match said {
            Ok(Said::Sample { sample }) => {
                let seq = events.tell(Event::Etcd { node: node.name.clone(), sample: sample.clone() });
                let fresh = record.lock().unwrap_or_else(PoisonError::into_inner).sample(seq, &node.name, &sample);
                for (id, name, moment) in fresh {
                    events.tell(Event::Member { id, name, moment, seen: sample.seen });
                }
            }
            Ok(Said::Failed { why }) => {
                events.tell(Event::Warning { text: format!("{} is not watched any more: {why}", node.name) });
                return;
            }
            Ok(
                Said::Hello { .. }
                | Said::Started { .. }
                | Said::Line { .. }
                | Said::Exited { .. }
                | Said::Answer { .. }
                | Said::Members { .. }
                | Said::Used { .. }
                | Said::Done,
            ) => {}
            Err(e) => {
                events.tell(Event::Warning { text: format!("{} is not watched any more: {e}", node.name) });
                return;
            }
        }
    }
}
