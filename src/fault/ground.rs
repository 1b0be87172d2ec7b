//! What faults stand on: a cluster that runs, and whom to tell.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::agent::AgentError;
use crate::cluster::{Cluster, SelectError, select};
use crate::event::{Bus, Event, FaultMoment};
use crate::node::{BootLimits, Node};
use crate::spec::Selector;

/// From starting a node again to its agent.
const BOOT: Duration = Duration::from_mins(2);

/// Why the faults of a task could not be made ready; its step does not run then.
#[derive(Debug, Error)]
pub enum ArmError {
    /// A selector means nothing.
    #[error("fault {id:?}: {source}")]
    Select {
        /// The fault.
        id: String,
        /// Why.
        source: SelectError,
    },
    /// A proxy does not stand.
    #[error(transparent)]
    Proxy(#[from] AgentError),
}

/// What faults stand on. Clones share it.
#[derive(Clone)]
pub(super) struct Ground {
    /// The task, counted from 1.
    pub(super) index: usize,
    pub(super) cluster: Arc<Cluster>,
    pub(super) events: Bus,
    /// Undoing goes on until this.
    pub(super) hard: CancellationToken,
    /// Nodes that a fault ends: whatever is lost with them is no trouble of its own.
    felled: Arc<Mutex<BTreeSet<String>>>,
}

impl Ground {
    pub(super) fn new(index: usize, cluster: Arc<Cluster>, events: Bus, hard: CancellationToken) -> Self {
        Self { index, cluster, events, hard, felled: Arc::default() }
    }

    /// The nodes that a selector means now.
    pub(super) async fn nodes(&self, selector: &Selector) -> Result<Vec<Arc<Node>>, SelectError> {
        select(&self.cluster, selector, false).await
    }

    /// Tells how far a fault is.
    pub(super) fn tell(&self, id: &str, what: &str, node: &str, moment: FaultMoment) {
        self.events.tell(Event::Fault { index: self.index, id: id.to_owned(), node: node.to_owned(), what: what.to_owned(), moment });
    }

    /// A fault is about to end these nodes.
    pub(super) fn fells(&self, nodes: &[Arc<Node>]) {
        self.felled.lock().unwrap_or_else(PoisonError::into_inner).extend(nodes.iter().map(|node| node.name.clone()));
    }

    pub(super) fn is_felled(&self, node: &str) -> bool {
        self.felled.lock().unwrap_or_else(PoisonError::into_inner).contains(node)
    }

    /// For nodes that are started again.
    pub(super) fn boot(&self) -> BootLimits {
        BootLimits { containerd: BOOT, stop: self.hard.clone() }
    }
}

/// Their names, in one text.
pub(super) fn names(nodes: &[Arc<Node>]) -> String {
    nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}
