//! Why a step did not succeed.

use thiserror::Error;

use crate::cluster::{AdmitError, CreateError, KubeconfigError, SelectError};
use crate::fault::ArmError;
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
    #[error("{} of {of} nodes did not join{}", failures.len(), list(.failures))]
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
    /// A selector means nothing.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The faults of the step could not be made ready.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// Something could not be broken.
    #[error("fault {id:?} could not be done: {why}")]
    Fault {
        /// The fault.
        id: String,
        /// Why.
        why: String,
    },
    /// A command could not be started.
    #[error("cannot start {what}: {why}")]
    NotStarted {
        /// The command.
        what: String,
        /// The system's words.
        why: String,
    },
    /// A command did not end as it should.
    #[error("{what}: {how}")]
    Command {
        /// The command.
        what: String,
        /// How it ended: `exit code 3`.
        how: String,
    },
    /// Processes that could not be ended.
    #[error("{what} is over, but these processes of it do not end: {}", left.join(", "))]
    Running {
        /// The command.
        what: String,
        /// Their ids and command lines.
        left: Vec<String>,
    },
    /// A file or folder could not be copied.
    #[error("cannot copy {from} to {to}: {why}")]
    Copy {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// Why not.
        why: Box<NodeError>,
    },
    /// A step failed on some nodes.
    #[error("{step} failed on {} of {of} nodes{}{}", failures.len(), list(.failures), not_tried(.untried))]
    Nodes {
        /// The step.
        step: &'static str,
        /// Why, for each.
        failures: Vec<StepError>,
        /// How many nodes there are.
        of: usize,
        /// Nodes whose turn did not come.
        untried: Vec<String>,
    },
    /// A kubeadm of this version cannot join so.
    #[error("order {order}: {why}")]
    CannotJoin {
        /// The order.
        order: &'static str,
        /// Why not, and what to do.
        why: String,
    },
    /// Something in a node could not be restarted.
    #[error("cannot restart {what} of {node}: {why}")]
    Restart {
        /// What.
        what: &'static str,
        /// The node.
        node: String,
        /// Why not.
        why: String,
    },
    /// etcd did not do what it was asked, or a member did not come to be what it should.
    #[error("{what}: {why}")]
    Member {
        /// What was tried, and on which node.
        what: String,
        /// etcd's words, or the agent's.
        why: String,
    },
    /// A reset left something behind that it should have removed.
    #[error("kubeadm reset on {node} has left {what}")]
    Residue {
        /// The node.
        node: String,
        /// What, and what to do.
        what: String,
    },
    /// What a failed join has left cannot be taken away.
    #[error("cannot repair {what}: {why}")]
    Repair {
        /// The node.
        what: String,
        /// Why not.
        why: String,
    },
    /// A cluster cannot get that size.
    #[error("cannot scale: {why}")]
    Size {
        /// Why not.
        why: String,
    },
    /// The store could not be filled.
    #[error("cannot put {size} into etcd's store: {why}")]
    Preload {
        /// How much was wanted.
        size: String,
        /// Why not.
        why: String,
    },
    /// There is no folder for logs.
    #[error("no folder for the logs: say `to`, or run with --artifacts")]
    NoFolder,
    /// Tasks of a group failed.
    #[error("{} of {of} tasks failed: {}", failed.len(), failed.join(", "))]
    Group {
        /// Their names.
        failed: Vec<String>,
        /// How many tasks there are.
        of: usize,
    },
    /// A step that makes or removes nodes cannot run beside others.
    #[error("the step {step} cannot be in a group: it makes or removes nodes")]
    NotInGroup {
        /// Its word.
        step: &'static str,
    },
    /// It was stopped.
    #[error("stopped")]
    Stopped,
    /// There is no cluster, since an earlier step failed or removed it.
    #[error("there is no cluster")]
    NoCluster,
}

impl StepError {
    /// How many nodes did not join, by the words of [`StepError::Joins`].
    pub fn did_not_join(words: &str) -> Option<usize> {
        let (failed, rest) = words.split_once(" of ")?;
        let (_, rest) = rest.split_once(' ')?;
        rest.starts_with("nodes did not join").then(|| failed.parse().ok())?
    }

    /// Was nothing done, because the command could not be started?
    pub fn is_no_start(&self) -> bool {
        matches!(self, Self::NotStarted { .. })
    }
}

fn not_tried(untried: &[String]) -> String {
    if untried.is_empty() { String::new() } else { format!("\n  not tried: {}", untried.join(", ")) }
}

fn list(failures: &[StepError]) -> String {
    failures.iter().fold(String::new(), |text, failure| text + "\n  " + &failure.to_string())
}
