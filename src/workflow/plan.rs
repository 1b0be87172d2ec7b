//! The typed workflow to a plan that can be run: one step a task, known to fit together.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::check;
use crate::cluster::{Topology, TopologyError};
use crate::spec::{ClusterSpec, Exec, Expectations, Export, Fault, Join, Reset, Restart, Scale, Selector, Task, Wait, When, Workflow};

/// A task without a limit of its own.
const TASK_LIMIT: Duration = Duration::from_mins(10);

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

/// A workflow that can be run.
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
    /// Its tasks in order.
    pub tasks: Vec<PlannedTask>,
}

/// What is wrong with a workflow; one of possibly many.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// The cluster cannot be as asked.
    #[error("cluster: {0}")]
    Topology(TopologyError),
    /// No task.
    #[error("tasks: there is none")]
    NoTask,
    /// A task without a name.
    #[error("task {index}: its name is empty")]
    NoName {
        /// From 1.
        index: usize,
    },
    /// A task that does several things, or nothing.
    #[error("task {index} ({name}): {found}, but a task has exactly one step: create, init, join, delete or expect")]
    Steps {
        /// From 1.
        index: usize,
        /// Its name.
        name: String,
        /// What it has.
        found: String,
    },
    /// A step whose turn it cannot be, or that cannot be as it is written.
    #[error("task {index} ({name}): {why}")]
    Task {
        /// From 1.
        index: usize,
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
}

/// Resolves a workflow; `name` replaces the cluster's.
///
/// # Errors
/// Every problem that was found.
pub fn plan(workflow: &Workflow, file: &str, name: Option<&str>) -> Result<Plan, Vec<PlanError>> {
    let mut errors = Vec::new();
    let topology = Topology::of(&workflow.cluster, name).map_err(|all| errors.extend(all.into_iter().map(PlanError::Topology))).ok();
    if workflow.tasks.is_empty() {
        errors.push(PlanError::NoTask);
    }
    let mut tasks = Vec::new();
    for (at, task) in workflow.tasks.iter().enumerate() {
        match planned(at + 1, task) {
            Ok(task) => tasks.push(task),
            Err(error) => errors.push(error),
        }
    }
    if let (Some(topology), true) = (&topology, errors.is_empty()) {
        errors.extend(check::tasks(&tasks, topology));
    }
    match topology {
        Some(topology) if errors.is_empty() => Ok(Plan {
            file: file.to_owned(),
            case: file.to_owned(),
            choice: Vec::new(),
            summary: workflow.summary.clone(),
            cluster: workflow.cluster.clone(),
            topology,
            tasks,
        }),
        _ => Err(errors),
    }
}

fn planned(index: usize, task: &Task) -> Result<PlannedTask, PlanError> {
    let name = task.name.trim().to_owned();
    if name.is_empty() {
        return Err(PlanError::NoName { index });
    }
    let steps: Vec<(&str, Step)> = [
        task.create.as_ref().map(|_| ("create", Step::Create)),
        task.init.as_ref().map(|_| ("init", Step::Init)),
        task.join.clone().map(|join| ("join", Step::Join(join))),
        task.delete.as_ref().map(|_| ("delete", Step::Delete)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let found = || match steps.len() {
        0 => "it has none".to_owned(),
        _ => format!("it has {}", steps.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" and ")),
    };
    let step = match (&steps[..], &task.expect) {
        ([(_, step)], _) => step.clone(),
        ([], Some(expect)) if !expect.is_empty() => Step::Expect,
        _ => return Err(PlanError::Steps { index, name, found: found() }),
    };
    Ok(PlannedTask {
        index,
        name,
        step,
        limit: task.timeout.map_or(TASK_LIMIT, |t| t.0),
        force: task.force,
        ignore_error: task.ignore_error,
        description: task.description.clone().unwrap_or_default(),
        when: task.when.clone(),
        faults: task.faults.clone(),
        expect: task.expect.clone().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str) -> Result<Plan, Vec<String>> {
        let workflow: Workflow = serde_saphyr::from_str(text).expect("well formed");
        plan(&workflow, "x.yaml", None).map_err(|all| all.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn all_problems_are_found_at_once() {
        let errors =
            planned("{version: 2, cluster: {controlPlanes: 0}, tasks: [{name: a}, {name: b, init: {}, delete: {}}, {name: '', init: {}}]}")
                .expect_err("wrong");
        assert_eq!(errors.len(), 4, "{errors:#?}");
        assert!(errors[2].contains("it has init and delete"), "{errors:#?}");
    }

    #[test]
    fn steps_whose_turn_it_cannot_be_are_refused() {
        let errors =
            planned("{version: 2, cluster: {}, tasks: [{name: j, join: {nodes: workers}}, {name: i, init: {}}, {name: i2, init: {}}]}");
        assert_eq!(errors.expect_err("wrong").len(), 3);
    }

    #[test]
    fn a_usual_workflow_is_fine() {
        let plan = planned(
            "{version: 2, cluster: {controlPlanes: 3}, tasks: [{name: i, init: {}}, {name: j, timeout: 5m, join: {}}, {name: d, force: true, delete: {}}]}",
        );
        let plan = plan.expect("fine");
        assert_eq!(plan.tasks[1].limit, Duration::from_mins(5));
        assert!(plan.tasks[2].force);
    }
}
