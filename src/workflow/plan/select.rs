//! Selectors against the nodes that there will be.

use std::collections::BTreeSet;

use super::super::file::Path;
use super::findings::Findings;
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

/// The nodes that a selector means, by role and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) nodes: BTreeSet<(Role, u8)>,
    /// Can only etcd tell?
    pub(super) unknown: bool,
}

impl Meant {
    pub(super) fn workers(&self) -> usize {
        self.nodes.iter().filter(|(role, _)| *role == Role::Worker).count()
    }
}

/// What becomes of a selector that means no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// It is wrong, unless `allowEmpty` says otherwise.
    Allowed(bool),
    /// It is wrong.
    Never,
}

/// The first control plane, which `init` makes a member.
pub(super) const FIRST: (Role, u8) = (Role::ControlPlane, 1);

/// A node as selectors call it.
pub(super) fn short((role, n): (Role, u8)) -> String {
    match role {
        Role::ControlPlane => format!("cp{n}"),
        Role::Worker => format!("worker{n}"),
    }
}

/// Looks a selector up; words that mean no node are told of where they must mean one.
pub(super) fn look_up(selector: &Selector, nodes: &Nodes, empty: Empty, path: &Path, findings: &mut Findings<'_>) -> Meant {
    let mut meant = Meant::default();
    if selector.0.is_empty() && empty != Empty::Allowed(true) {
        findings.wrong(path, "an empty list selects no node");
    }
    for pick in &selector.0 {
        let Some((control_planes, workers)) = nodes.meant(pick) else {
            meant.unknown = true;
            continue;
        };
        if control_planes.is_empty() && workers.is_empty() && empty != Empty::Allowed(true) {
            let allow = if empty == Empty::Never { "" } else { ", or say `allowEmpty: true` where selecting none is fine" };
            let raise = |key: &str| format!("raise `{key}` of the cluster{allow}");
            let help = match pick {
                Pick::Name(_) => format!("its nodes are: {}", nodes.names().collect::<Vec<_>>().join(", ")),
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
            findings.wrong_with(path, format!("`{pick}` selects no node: the cluster has {nodes} by then"), help);
        }
        meant.nodes.extend(control_planes.into_iter().map(|n| (Role::ControlPlane, n)));
        meant.nodes.extend(workers.into_iter().map(|n| (Role::Worker, n)));
    }
    meant
}
