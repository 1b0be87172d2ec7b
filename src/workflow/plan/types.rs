//! What can be run, as plain types.

use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::Topology;
use crate::spec::{
    Advise, ClusterSpec, Exec, Expectations, Export, Fault, Invariants, Join, KnownBad, Load, MemberStep, Repair, Reset, Restart, Scale,
    Selector, Wait, When,
};

/// What one task does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run a process on this machine.
    Cmd(Process),
    /// Make the nodes.
    Create,
    /// `kubeadm init`.
    Init,
    /// `kubeadm join`.
    Join(Join),
    /// Run a command in nodes.
    Exec(Exec),
    /// Copy files into nodes or out of one.
    Copy(Transfer),
    /// Wait for a time or a state.
    Wait(Wait),
    /// Run tasks side by side.
    Group {
        /// The tasks.
        tasks: Vec<PlannedTask>,
        /// A failure does not stop the others.
        keep_going: bool,
    },
    /// Write the nodes' logs.
    Export(Export),
    /// Restart nodes or something in them.
    Restart(Restart),
    /// `kubeadm reset`.
    Reset(Reset),
    /// Take away what failed joins have left.
    Repair(Repair),
    /// Grow or shrink the cluster.
    Scale(Scale),
    /// Ask whether the next control plane may join.
    Advise(Advise),
    /// Change an etcd alone.
    Member(Box<MemberStep>),
    /// Break something from here on.
    Fault(Box<Fault>),
    /// End the fault of this id.
    Heal(String),
    /// Remove everything.
    Delete,
    /// Nothing but its expectations.
    Expect,
}

impl Step {
    /// The key that a person writes for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Cmd(_) => "cmd",
            Self::Create => "create",
            Self::Init => "init",
            Self::Join(_) => "join",
            Self::Exec(_) => "exec",
            Self::Copy(_) => "copy",
            Self::Wait(_) => "wait",
            Self::Group { .. } => "group",
            Self::Export(_) => "export",
            Self::Restart(_) => "restart",
            Self::Reset(_) => "reset",
            Self::Repair(_) => "repair",
            Self::Scale(_) => "scale",
            Self::Advise(_) => "advise",
            Self::Member(_) => "member",
            Self::Fault(_) => "fault",
            Self::Heal(_) => "heal",
            Self::Delete => "delete",
            Self::Expect => "expect",
        }
    }
}

/// Stands in a process of version 2 for the folder of the case's artifacts, which is there when it runs.
pub const ARTIFACTS: &str = "{{ .env.ARTIFACTS }}";

/// A process on this machine. Program, arguments and folder may hold [`ARTIFACTS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// A name that is looked up in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its folder; joinder's own when not said.
    pub dir: Option<PathBuf>,
    /// Environment beside joinder's own.
    pub env: Vec<(String, String)>,
}

/// Files between this machine and nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Into nodes.
    In {
        /// A file or folder here.
        from: PathBuf,
        /// Which nodes.
        nodes: Selector,
        /// An absolute path in them.
        to: String,
        /// Copying into no node is fine.
        allow_empty: bool,
    },
    /// Out of one node.
    Out {
        /// The node.
        node: Selector,
        /// An absolute path in it.
        from: String,
        /// A path here.
        to: PathBuf,
    },
}

/// A task that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTask {
    /// Counts from 1, in version 1 from 0 as with kinder; those of a group count on behind it.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// What it does.
    pub step: Step,
    /// Its limit.
    pub limit: Duration,
    /// Run it even after a failure or a stop.
    pub force: bool,
    /// Its failure does not make the run fail.
    pub ignore_error: bool,
    /// More words on it.
    pub description: String,
    /// Run it only with these versions.
    pub when: Option<When>,
    /// What is broken while it runs.
    pub faults: Vec<Fault>,
    /// What is expected after it.
    pub expect: Expectations,
}

/// The language that a workflow is written in, by whose rules it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// joinder's, `version: 2`.
    #[default]
    V2,
    /// kinder's, `version: 1`: all its tasks are processes.
    V1 {
        /// The folder that its tasks were told of as `ARTIFACTS`.
        artifacts: PathBuf,
    },
}

impl Language {
    /// The number that the file has.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V1 { .. } => 1,
        }
    }
}

/// A workflow with one choice of its matrix that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The language of its file.
    pub language: Language,
    /// The file, as named by the user.
    pub file: String,
    /// The case's name: the file's without the ending, and the choice of its matrix.
    pub case: String,
    /// The choice of its matrix, in the order of the file.
    pub choice: Vec<(String, String)>,
    /// One line on what it shows.
    pub summary: String,
    /// The cluster as asked for.
    pub cluster: ClusterSpec,
    /// The cluster as decided.
    pub topology: Topology,
    /// What joinder's own clients do.
    pub load: Load,
    /// Versions that are known to fail, and how.
    pub known_bad: Vec<KnownBad>,
    /// What must hold at every sample.
    pub invariants: Invariants,
    /// Its tasks in order.
    pub tasks: Vec<PlannedTask>,
}

impl Plan {
    /// Does any task make nodes?
    pub fn makes_nodes(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task.step, Step::Create | Step::Init))
    }

    /// Is anything drawn at random, with no seed in the file?
    pub fn is_random(&self) -> bool {
        self.all_tasks().any(|task| matches!(&task.step, Step::Join(join) if join.jitter.is_some() && join.seed.is_none()))
    }

    /// All tasks, those of a group behind it.
    pub fn all_tasks(&self) -> impl Iterator<Item = &PlannedTask> {
        self.tasks.iter().flat_map(|task| {
            let inner = if let Step::Group { tasks, .. } = &task.step { tasks.as_slice() } else { &[] };
            std::iter::once(task).chain(inner)
        })
    }
}
