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
    /// Those of an etcd alone, which has no others.
    pub(super) etcd: u8,
}

impl std::fmt::Display for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |n: u8, what: &str| match n {
            0 => format!("no {what}"),
            1 => format!("1 {what}"),
            _ => format!("{n} {what}s"),
        };
        if self.is_etcd_alone() {
            return f.write_str(&count(self.etcd, "etcd node"));
        }
        write!(f, "{} and {}", count(self.control_planes, "control plane"), count(self.workers, "worker"))
    }
}

impl Nodes {
    /// Is there no Kubernetes?
    pub(super) fn is_etcd_alone(&self) -> bool {
        self.etcd > 0
    }

    fn name(&self, (role, n): (Role, u8)) -> String {
        format!("{}-{}-{n}", self.cluster, role.as_str())
    }

    fn of(&self, role: Role) -> u8 {
        match role {
            Role::ControlPlane => self.control_planes,
            Role::Worker => self.workers,
            Role::Etcd => self.etcd,
        }
    }

    /// All, by role and number.
    fn all(&self) -> impl Iterator<Item = (Role, u8)> {
        [Role::ControlPlane, Role::Worker, Role::Etcd].into_iter().flat_map(|role| (1..=self.of(role)).map(move |n| (role, n)))
    }

    /// The words for each node, for help.
    pub(super) fn words(&self) -> String {
        self.all().map(short).collect::<Vec<_>>().join(", ")
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.all().map(|node| self.name(node))
    }

    /// The nodes that a word means; `None` when only etcd can tell.
    fn meant(&self, pick: &Pick) -> Option<BTreeSet<(Role, u8)>> {
        let means: &dyn Fn((Role, u8)) -> bool = match pick {
            Pick::All => &|_| true,
            Pick::First => &|(role, n)| role.has_member() && n == 1,
            Pick::ControlPlanes => &|(role, _)| role == Role::ControlPlane,
            Pick::Secondaries => &|(role, n)| role.has_member() && n > 1,
            Pick::Workers => &|(role, _)| role == Role::Worker,
            Pick::ControlPlane(n) => &|node| node == (Role::ControlPlane, *n),
            Pick::Worker(n) => &|node| node == (Role::Worker, *n),
            Pick::Etcd(n) => &|node| node == (Role::Etcd, *n),
            Pick::Name(name) => &|node| self.name(node) == *name,
            Pick::Leader | Pick::Followers | Pick::Learner => return None,
        };
        Some(self.all().filter(|node| means(*node)).collect())
    }

    /// The nodes that a selector means; words that mean none are told of by [`look_up`].
    pub(super) fn selected(&self, selector: &Selector) -> Meant {
        let mut meant = Meant::default();
        for pick in &selector.0 {
            match self.meant(pick) {
                Some(those) => meant.nodes.extend(those),
                None => meant.unknown = true,
            }
        }
        meant
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
        Role::Etcd => format!("etcd{n}"),
    }
}

/// Looks a selector up; words that mean no node are told of where they must mean one.
pub(super) fn look_up(selector: &Selector, nodes: &Nodes, empty: Empty, path: &Path, findings: &mut Findings<'_>) -> Meant {
    if selector.0.is_empty() && empty != Empty::Allowed(true) {
        findings.wrong(path, "an empty list selects no node");
    }
    for pick in &selector.0 {
        let Some(those) = nodes.meant(pick) else { continue };
        if those.is_empty() && empty != Empty::Allowed(true) {
            let allow = if empty == Empty::Never { "" } else { ", or say `allowEmpty: true` where selecting none is fine" };
            let raise = |key: &str| format!("raise `{key}` of the cluster{allow}");
            let alone = nodes.is_etcd_alone();
            let help = match pick {
                Pick::Name(_) => format!("its nodes are: {}", nodes.names().collect::<Vec<_>>().join(", ")),
                Pick::Secondaries | Pick::Etcd(_) if alone => format!("raise `nodes` of the cluster's `etcd`{allow}"),
                // what no number of nodes would bring
                Pick::ControlPlanes | Pick::Workers | Pick::ControlPlane(_) | Pick::Worker(_) if alone => {
                    format!("its nodes are: {}", nodes.words())
                }
                Pick::Etcd(_) => format!("its nodes are: {}", nodes.words()),
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
    }
    nodes.selected(selector)
}
