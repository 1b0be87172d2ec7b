//! Why an action did not succeed.

use thiserror::Error;

use crate::agent::AgentError;
use crate::cluster::InventoryError;
use crate::kubeadm::KubeadmError;
use crate::node::NodeError;
use crate::step::StepError;
use crate::sys::wait::WaitError;

/// A failed action.
#[derive(Debug, Error)]
pub enum ActionError {
    /// There is no such cluster, or it cannot be reached.
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    /// kubeadm failed, or what a step does around it.
    #[error(transparent)]
    Step(#[from] StepError),
    /// kubeadm failed.
    #[error(transparent)]
    Kubeadm(#[from] KubeadmError),
    /// A node could not be spoken to.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A node's agent could not be spoken to.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// What was waited for did not come to be.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// A command in a node did not end with 0.
    #[error("{node}: {command}: {how}")]
    Command {
        /// The node.
        node: String,
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// It cannot be done to this cluster.
    #[error("{0}")]
    Not(String),
    /// It was stopped.
    #[error("stopped")]
    Stopped,
    /// What was shown to be otherwise than it should.
    #[error("{what}: {saw}")]
    Saw {
        /// What should be.
        what: String,
        /// What was seen.
        saw: String,
    },
}

impl ActionError {
    /// Can it not be done because of what was asked, before anything was tried?
    pub fn is_unusable(&self) -> bool {
        matches!(self, Self::Inventory(_) | Self::Not(_))
    }
}
