//! The tree of one case to a plan.

use serde::Deserialize;

use super::super::file::{Node, Path, Problem, decode};
use super::findings::{Findings, Named};
use super::types::{Language, Plan};
use super::{alone, check, flow, load, steps};
use crate::cluster::{Topology, TopologyError};
use crate::spec::{ClusterSpec, Invariants, KnownBad, Load, Task};

/// What of a file's case is read once its templates are written out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    cluster: ClusterSpec,
    #[serde(default)]
    load: Load,
    #[serde(default)]
    known_bad: Vec<KnownBad>,
    #[serde(default)]
    invariants: Invariants,
    tasks: Vec<Task>,
}

/// A case's plan, when there is one.
pub(in crate::workflow) struct Planned {
    pub(in crate::workflow) plan: Option<Plan>,
    /// Were tasks not looked at together, because some are not whole?
    pub(in crate::workflow) partial: bool,
}

/// Plans one case; what is wrong goes to `problems`. `whole`: nothing is left out of the tree that the tasks could need.
pub(in crate::workflow) fn plan(root: &Node, whole: bool, named: &Named<'_>, problems: &mut Vec<Problem>) -> Planned {
    let read = decode::<Case>(root, problems);
    let none = |partial| Planned { plan: None, partial };
    let Some(case) = read.value else { return none(false) };
    let mut findings = Findings::new(root, problems);
    let topology = topology(&case.cluster, named.name, &mut findings);
    versions(&case.cluster, &mut findings);
    alone::cluster(&case.cluster, &mut findings);
    load::check(&case.load, &mut findings);
    if case.tasks.is_empty() && whole && read.whole {
        findings.wrong(&Path::default().key("tasks"), "there is no task");
    }
    // What was left out may have been what a task lacks now.
    if !whole || !read.whole {
        return none(true);
    }
    let tasks = steps::tasks(&case.tasks, named, &mut findings);
    let Some(topology) = topology else { return none(true) };
    check::known_bad(&case.known_bad, &tasks, &mut findings);
    flow::tasks(&tasks, &topology, &mut findings);
    load::tasks(&tasks, &case.load, &mut findings);
    let stem = named.file.file_stem().unwrap_or_default().to_string_lossy();
    let choice = named.choice.iter().fold(String::new(), |text, (name, value)| format!("{text} {name}={value}"));
    let plan = Plan {
        language: Language::V2,
        file: named.file.display().to_string(),
        case: format!("{stem}{choice}"),
        choice: named.choice.to_vec(),
        summary: case.summary,
        cluster: case.cluster,
        topology,
        load: case.load,
        known_bad: case.known_bad,
        invariants: case.invariants,
        tasks: tasks.into_iter().map(|(_, task)| task).collect(),
    };
    Planned { plan: Some(plan), partial: false }
}

/// A node image is found by the whole version on its label.
fn versions(spec: &ClusterSpec, findings: &mut Findings<'_>) {
    let cluster = Path::default().key("cluster");
    if let Some(text) = spec.kubernetes.as_deref().filter(|text| !text.strip_prefix('v').is_some_and(whole)) {
        findings.wrong_with(&cluster.key("kubernetes"), format!("{text:?} is no version of Kubernetes"), "write all of it, as in v1.36.3");
    }
    if let Some(text) = spec.etcd.version.as_deref().filter(|text| !whole(text)) {
        findings.wrong_with(
            &cluster.key("etcd").key("version"),
            format!("{text:?} is no version of etcd"),
            "write all of it, as in 3.6.16",
        );
    }
}

/// Is it a version with all of its three numbers?
pub(super) fn whole(text: &str) -> bool {
    let bare = text.split_once(['-', '+']).map_or(text, |(bare, _)| bare);
    let numbers: Vec<&str> = bare.split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|n| n.parse::<u16>().is_ok())
}

fn topology(spec: &ClusterSpec, name: Option<&str>, findings: &mut Findings<'_>) -> Option<Topology> {
    let cluster = Path::default().key("cluster");
    let tell = |all: Vec<TopologyError>| {
        for error in all {
            let key = match &error {
                TopologyError::NoMember | TopologyError::FewNodes { .. } => "etcd",
                TopologyError::TooMany { .. } if spec.etcd.members.is_some() => "etcd",
                TopologyError::NoControlPlane | TopologyError::TooMany { .. } => "controlPlanes",
                TopologyError::BadName { .. } | TopologyError::LongName { .. } => "name",
                TopologyError::BadSubnet { .. } => "subnet",
                TopologyError::Version { at, .. } => {
                    findings.wrong(&cluster.key("versions").index(*at), error.to_string());
                    continue;
                }
            };
            findings.wrong(&cluster.key(key), error.to_string());
        }
    };
    Topology::of(spec, name).map_err(tell).ok()
}
