//! Why a step did not succeed.

use thiserror::Error;

use crate::cluster::{AdmitError, CreateError, KubeconfigError};
use crate::kubeadm::KubeadmError;
use crate::node::NodeError;
use crate::sys::wait::WaitError;

/// A failed step.
#[derive(Debug, Error)]
pub enum StepError {
    /// The nodes could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// kubeadm failed.
    #[error(transparent)]
    Kubeadm(#[from] KubeadmError),
    /// A node could not be spoken to.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// An API server did not get ready.
    #[error(transparent)]
    Admit(#[from] AdmitError),
    /// The kubeconfig could not be kept.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// A condition did not hold in time.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// Some nodes did not join; the others did.
    #[error("{} of {} nodes did not join{}", failures.len(), of, list(.failures))]
    Joins {
        /// Why, for each.
        failures: Vec<StepError>,
        /// How many were to join.
        of: usize,
    },
    /// Something is left that should have been removed.
    #[error("could not remove {}", left.join("; "))]
    Left {
        /// What, with the reason.
        left: Vec<String>,
    },
    /// A selector means no node that is there.
    #[error("{selector:?} selects none of the nodes that are there")]
    Selects {
        /// The selector.
        selector: String,
    },
    /// This version has no such step.
    #[error("this version of joinder cannot run the step {step}")]
    NotThere {
        /// Its word.
        step: &'static str,
    },
    /// There is no cluster, since an earlier step failed or removed it.
    #[error("there is no cluster")]
    NoCluster,
}

fn list(failures: &[StepError]) -> String {
    failures.iter().fold(String::new(), |text, failure| text + "\n  " + &failure.to_string())
}
