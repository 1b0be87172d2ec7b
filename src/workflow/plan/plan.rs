//! The tree of one case to a plan.

use std::path::{Path as File, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::super::file::{Node, Path, Problem, decode};
use super::{check, steps};
use crate::cluster::{Topology, TopologyError};
use crate::spec::{ClusterSpec, Exec, Expectations, Export, Fault, Join, KnownBad, Reset, Restart, Scale, Selector, Task, Wait, When};

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
    /// Grow or shrink the cluster.
    Scale(Scale),
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
            Self::Scale(_) => "scale",
            Self::Delete => "delete",
            Self::Expect => "expect",
        }
    }
}

/// A process on this machine.
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
    /// Counts from 1; those of a group count on behind it.
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

/// A workflow with one choice of its matrix that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
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
    /// Versions that are known to fail, and how.
    pub known_bad: Vec<KnownBad>,
    /// Its tasks in order.
    pub tasks: Vec<PlannedTask>,
}

impl Plan {
    /// All tasks, those of a group behind it.
    pub fn all_tasks(&self) -> impl Iterator<Item = &PlannedTask> {
        self.tasks.iter().flat_map(|task| {
            let inner = match &task.step {
                Step::Group { tasks, .. } => tasks.as_slice(),
                _ => &[],
            };
            std::iter::once(task).chain(inner)
        })
    }
}

/// What of a file's case is read once its templates are written out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    cluster: ClusterSpec,
    #[serde(default)]
    known_bad: Vec<KnownBad>,
    tasks: Vec<Task>,
}

/// What a case is called, and what it is given from outside.
pub(in crate::workflow) struct Named<'a> {
    /// The file.
    pub(in crate::workflow) file: &'a File,
    /// The choice of the matrix.
    pub(in crate::workflow) choice: &'a [(String, String)],
    /// In place of the cluster's name.
    pub(in crate::workflow) name: Option<&'a str>,
    /// The file's environment for processes.
    pub(in crate::workflow) env: Vec<(String, String)>,
}

/// What is wrong, found on the way.
pub(super) struct Findings<'a> {
    root: &'a Node,
    problems: &'a mut Vec<Problem>,
}

impl Findings<'_> {
    /// Something is wrong at a path.
    pub(super) fn wrong(&mut self, path: &Path, what: impl Into<String>) {
        self.problems.push(Problem::at(self.root.find(path), what));
    }

    /// Something is wrong at a path, with what would be right.
    pub(super) fn wrong_with(&mut self, path: &Path, what: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem::at(self.root.find(path), what).help(help));
    }
}

/// Plans one case; what is wrong goes to `problems`. `whole`: nothing is left out of the tree that the tasks could need.
pub(in crate::workflow) fn plan(root: &Node, whole: bool, named: &Named<'_>, problems: &mut Vec<Problem>) -> Option<Plan> {
    let read = decode::<Case>(root, problems);
    let case = read.value?;
    let mut findings = Findings { root, problems };
    let topology = topology(&case.cluster, named.name, &mut findings);
    if case.tasks.is_empty() && whole && read.whole {
        findings.wrong(&Path::default().key("tasks"), "there is no task");
    }
    // What was left out may have been what a task lacks now.
    if !whole || !read.whole {
        return None;
    }
    let tasks = steps::tasks(&case.tasks, named, &mut findings);
    let topology = topology?;
    check::known_bad(&case.known_bad, &tasks, &mut findings);
    check::tasks(&tasks, &topology, &mut findings);
    let stem = named.file.file_stem().unwrap_or_default().to_string_lossy();
    let choice: String = named.choice.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    Some(Plan {
        file: named.file.display().to_string(),
        case: format!("{stem}{choice}"),
        choice: named.choice.to_vec(),
        summary: case.summary,
        cluster: case.cluster,
        topology,
        known_bad: case.known_bad,
        tasks: tasks.into_iter().map(|(_, task)| task).collect(),
    })
}

fn topology(spec: &ClusterSpec, name: Option<&str>, findings: &mut Findings<'_>) -> Option<Topology> {
    let cluster = Path::default().key("cluster");
    let tell = |all: Vec<TopologyError>| {
        for error in all {
            let key = match &error {
                TopologyError::NoControlPlane | TopologyError::TooMany { .. } => "controlPlanes",
                TopologyError::BadName { .. } | TopologyError::LongName { .. } => "name",
                TopologyError::BadSubnet { .. } => "subnet",
            };
            findings.wrong(&cluster.key(key), error.to_string());
        }
    };
    Topology::of(spec, name).map_err(tell).ok()
}
