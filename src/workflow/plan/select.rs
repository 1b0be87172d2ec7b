//! Selectors against the nodes that there will be.

use super::super::file::Path;
use super::case::Findings;
use crate::node::Role;
use crate::spec::{Pick, Selector};

/// The nodes that there are when a task's turn comes.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub(super) cluster: String,
    pub(super) control_planes: u8,
    pub(super) workers: u8,
}

impl std::fmt::Display for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |n: u8, what: &str| match n {
            0 => format!("no {what}"),
            1 => format!("1 {what}"),
            _ => format!("{n} {what}s"),
        };
        write!(f, "{} and {}", count(self.control_planes, "control plane"), count(self.workers, "worker"))
    }
}

impl Nodes {
    fn name(&self, role: Role, n: u8) -> String {
        format!("{}-{}-{n}", self.cluster, role.as_str())
    }

    /// The words for each node, for help.
    pub(super) fn words(&self) -> String {
        let control_planes = (1..=self.control_planes).map(|n| format!("cp{n}"));
        control_planes.chain((1..=self.workers).map(|n| format!("worker{n}"))).collect::<Vec<_>>().join(", ")
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let control_planes = (1..=self.control_planes).map(|n| self.name(Role::ControlPlane, n));
        control_planes.chain((1..=self.workers).map(|n| self.name(Role::Worker, n)))
    }

    /// Numbers of the control planes and workers that a word means; `None` when only etcd can tell.
    fn meant(&self, pick: &Pick) -> Option<(Vec<u8>, Vec<u8>)> {
        let all = |most: u8| (1..=most).collect::<Vec<u8>>();
        let one = |n: u8, most: u8| if n <= most { vec![n] } else { Vec::new() };
        Some(match pick {
            Pick::All => (all(self.control_planes), all(self.workers)),
            Pick::First => (vec![1], Vec::new()),
            Pick::ControlPlanes => (all(self.control_planes), Vec::new()),
            Pick::Secondaries => ((2..=self.control_planes).collect(), Vec::new()),
            Pick::Workers => (Vec::new(), all(self.workers)),
            Pick::ControlPlane(n) => (one(*n, self.control_planes), Vec::new()),
            Pick::Worker(n) => (Vec::new(), one(*n, self.workers)),
            Pick::Name(name) => (
                all(self.control_planes).into_iter().filter(|n| self.name(Role::ControlPlane, *n) == *name).collect(),
                all(self.workers).into_iter().filter(|n| self.name(Role::Worker, *n) == *name).collect(),
            ),
            Pick::Leader | Pick::Followers | Pick::Learner => return None,
        })
    }
}

/// How many nodes of each role a selector means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) control_planes: usize,
    pub(super) workers: usize,
    /// Is the first control plane among them?
    pub(super) first: bool,
    /// Can only etcd tell?
    pub(super) unknown: bool,
}

impl Meant {
    pub(super) fn count(self) -> usize {
        self.control_planes + self.workers
    }
}

/// Looks a selector up; words that mean no node are told of, unless that is `allowed`.
pub(super) fn look_up(selector: &Selector, nodes: &Nodes, allowed: bool, path: &Path, findings: &mut Findings<'_>) -> Meant {
    let (mut control_planes, mut workers) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let mut unknown = false;
    for pick in &selector.0 {
        let Some((some_control_planes, some_workers)) = nodes.meant(pick) else {
            unknown = true;
            continue;
        };
        if some_control_planes.is_empty() && some_workers.is_empty() && !allowed {
            let names: Vec<String> = nodes.names().collect();
            let raise = |key: &str| format!("raise `{key}` of the cluster, or say `allowEmpty: true` where selecting none is fine");
            let help = match pick {
                Pick::Name(_) => format!("its nodes are: {}", names.join(", ")),
                Pick::Worker(_) | Pick::Workers => raise("workers"),
                Pick::All
                | Pick::First
                | Pick::ControlPlanes
                | Pick::Secondaries
                | Pick::ControlPlane(_)
                | Pick::Leader
                | Pick::Followers
                | Pick::Learner => raise("controlPlanes"),
            };
            let what = format!("`{pick}` selects no node: the cluster has {nodes} by then");
            findings.wrong_with(path, what, help);
        }
        control_planes.extend(some_control_planes);
        workers.extend(some_workers);
    }
    Meant { first: control_planes.contains(&1), control_planes: control_planes.len(), workers: workers.len(), unknown }
}
