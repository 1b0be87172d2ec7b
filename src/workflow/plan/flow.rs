//! Tasks in their order: what earlier ones have made, and steps whose turn it is not.

use std::collections::BTreeSet;

use super::super::file::{Path, suggestion};
use super::faults::Then;
use super::findings::Findings;
use super::select::{FIRST, Nodes, short};
use super::types::{PlannedTask, Step};
use super::{alone, check};
use crate::cluster::Topology;
use crate::node::Role;
use crate::spec::{Fault, Join, Joins, MemberStep, Scale, Selector, State, Wait};

/// What earlier tasks have made.
struct Flow {
    created: bool,
    inited: bool,
    nodes: Nodes,
    /// Nodes that have surely joined.
    joined: BTreeSet<(Role, u8)>,
    /// Nodes that may have joined.
    tried: BTreeSet<(Role, u8)>,
    /// Faults that last until they are healed.
    standing: Vec<Fault>,
    /// How many nodes an etcd alone is founded with.
    founders: u8,
    /// Its nodes that are, or were, members.
    members: BTreeSet<(Role, u8)>,
    /// Has something run that may have changed the list by itself?
    others: bool,
}

/// Looks at all tasks in their order.
pub(super) fn tasks(tasks: &[(Path, PlannedTask)], topology: &Topology, findings: &mut Findings<'_>) {
    let of = |role: Role| u8::try_from(topology.nodes.iter().filter(|n| n.role == role).count()).unwrap_or(u8::MAX);
    let nodes =
        Nodes { cluster: topology.name.clone(), control_planes: of(Role::ControlPlane), workers: of(Role::Worker), etcd: of(Role::Etcd) };
    let mut flow = Flow {
        created: false,
        inited: false,
        nodes,
        joined: BTreeSet::new(),
        tried: BTreeSet::new(),
        standing: Vec::new(),
        founders: topology.etcd.as_ref().map_or(0, |etcd| etcd.members),
        members: BTreeSet::new(),
        others: false,
    };
    for (path, task) in tasks {
        flow.take(task, path, findings);
        if let Step::Group { tasks, .. } = &task.step {
            let path = path.key("group").key("tasks");
            for (at, inner) in tasks.iter().enumerate() {
                let path = path.index(at);
                if matches!(inner.step, Step::Fault(_) | Step::Heal(_)) {
                    let what = format!("tasks of a group run side by side: what `{}` is there for may come before it", inner.step.word());
                    let help = "put it before or behind the group, or into `faults` of a task";
                    findings.wrong_with(&path.key(inner.step.word()), what, help);
                }
                if inner.expect.joins == Some(Joins::Oracle)
                    && (!task.faults.is_empty() || tasks.iter().any(|other| !other.faults.is_empty()))
                {
                    let what = "the oracle knows nothing of what the faults of this group will do";
                    findings.wrong(&path.key("expect").key("joins"), what);
                }
                flow.take(inner, &path, findings);
            }
        }
    }
}

impl Flow {
    fn take(&mut self, task: &PlannedTask, path: &Path, findings: &mut Findings<'_>) {
        let created = self.created;
        self.turn(task, &path.key(task.step.word()), findings);
        let then = Then { created, inited: self.inited, standing: &self.standing };
        check::one(task, path, &self.nodes, then, findings);
    }

    /// Is it the step's turn, and what is there behind it?
    fn turn(&mut self, task: &PlannedTask, path: &Path, findings: &mut Findings<'_>) {
        let (created, inited) = (self.created, self.inited);
        if !alone::belongs(&task.step, &self.nodes, path, findings) {
            return;
        }
        let mut needs = |there: bool, what: &str, step: &str| {
            if !there {
                findings.wrong_with(path, what, format!("put a task with {step} before it"));
            }
        };
        match &task.step {
            Step::Create if created => findings.wrong(path, "the nodes are made already"),
            Step::Create => self.created = true,
            Step::Init if inited && self.nodes.is_etcd_alone() => findings.wrong(path, "etcd is founded already"),
            Step::Init if inited => findings.wrong(path, "kubeadm init has run already"),
            Step::Init => {
                (self.created, self.inited) = (true, true);
                self.joined = [FIRST].into();
                self.tried = [FIRST].into();
                self.members = (1..=self.founders).map(|n| (Role::Etcd, n)).collect();
            }
            Step::Join(join) => {
                needs(inited, "nothing can join by then", "`init`");
                self.join(task, join, path, findings);
            }
            Step::Expect => needs(inited, "nothing can be expected by then", "`init`"),
            Step::Reset(reset) => {
                needs(inited, "there is no Kubernetes by then", "`init`");
                // whatever is wrong with the selector is told by the check
                let meant = self.nodes.selected(&reset.nodes);
                self.joined.retain(|node| !meant.nodes.contains(node) && !meant.unknown);
            }
            Step::Repair(repair) => {
                needs(inited, "no join can have failed by then", "`init`");
                let selector = repair.nodes.clone().unwrap_or_else(Selector::all);
                let meant = self.nodes.selected(&selector);
                self.joined.retain(|node| *node == FIRST || !meant.nodes.contains(node));
            }
            Step::Advise(_) => needs(inited, "there is no etcd to ask by then", "`init`"),
            Step::Scale(scale) => {
                needs(inited, "there is no Kubernetes by then", "`init`");
                self.scale(scale, path, findings);
            }
            Step::Fault(fault) => {
                needs(created, "there is nothing to break by then", "`create` or `init`");
                if self.standing.iter().any(|other| other.id == fault.id) {
                    findings.wrong_with(&path.key("id"), format!("the fault {:?} is there already", fault.id), "`heal` it before");
                } else {
                    self.standing.push((**fault).clone());
                }
            }
            Step::Heal(id) => self.heal(id, path, findings),
            Step::Wait(Wait { until: Some(State::ApiServer | State::Voter | State::Ready), nodes, .. }) => {
                needs(inited, "there is no Kubernetes to wait for by then", "`init`");
                // of an etcd alone only `wait` itself can tell who votes
                if let (true, false, Some(selector)) = (inited, self.nodes.is_etcd_alone(), nodes) {
                    self.waits_for_strangers(selector, path, findings);
                }
            }
            Step::Member(member) => {
                needs(inited, "there is no etcd by then", "`init`");
                if inited {
                    self.member(member, path, findings);
                }
            }
            Step::Exec(_) => {
                needs(created, "there are no nodes by then", "`create` or `init`");
                self.others = true;
            }
            Step::Wait(Wait { until: Some(State::Running), .. }) | Step::Copy(_) | Step::Restart(_) | Step::Export(_) => {
                needs(created, "there are no nodes by then", "`create` or `init`");
            }
            Step::Delete => {
                (self.created, self.inited) = (false, false);
                self.members.clear();
                self.joined.clear();
                self.standing.clear();
            }
            Step::Cmd(_) | Step::Wait(Wait { until: None, .. }) | Step::Group { .. } => {}
        }
    }

    /// Whoever is changed has to be a member by then, unless the refusal is what is wanted. etcdctl may have added it; then only joinder's
    /// own `start` does not know of it.
    fn member(&mut self, member: &MemberStep, path: &Path, findings: &mut Findings<'_>) {
        if member.fails.is_some() {
            return;
        }
        if let Some(add) = &member.add {
            let added = self.meant(&add.node);
            self.members.extend(added);
        } else if let Some((word, selector)) = alone::of_a_member(member) {
            let nodes = self.meant(selector);
            let strangers: Vec<String> = nodes.difference(&self.members).map(|node| short(*node)).collect();
            if !strangers.is_empty() && (word == "start" || !self.others) {
                let what = format!("{} is no member of etcd by then", strangers.join(", "));
                let help = "put a task with `member: {add: …}` of it before this one";
                findings.wrong_with(&path.key(word).key("node"), what, help);
            }
        }
    }

    /// The nodes that are surely meant; what is wrong with the selector is told by the check.
    fn meant(&self, selector: &Selector) -> BTreeSet<(Role, u8)> {
        let meant = self.nodes.selected(selector);
        if meant.unknown { BTreeSet::new() } else { meant.nodes }
    }

    /// Only what was broken by a task can be healed by one.
    fn heal(&mut self, id: &str, path: &Path, findings: &mut Findings<'_>) {
        if let Some(at) = self.standing.iter().position(|fault| fault.id == id) {
            self.standing.remove(at);
            return;
        }
        let ids = || self.standing.iter().map(|fault| fault.id.as_str());
        let help = match suggestion(id, ids()) {
            Some(meant) => format!("is {meant:?} meant?"),
            None if self.standing.is_empty() => "put a task with `fault` before it; what stands in `faults` ends by itself".to_owned(),
            None => format!("there are: {}", ids().collect::<Vec<_>>().join(", ")),
        };
        findings.wrong_with(path, format!("there is no fault {id:?} by then that could be ended"), help);
    }

    /// Nodes that joined before cannot join again, unless that may have failed or been disturbed.
    fn join(&mut self, task: &PlannedTask, join: &Join, path: &Path, findings: &mut Findings<'_>) {
        let selector = join.nodes.clone().unwrap_or_else(Selector::all);
        let mut meant = self.nodes.selected(&selector).nodes;
        meant.remove(&FIRST);
        let again: Vec<String> = meant.intersection(&self.joined).map(|node| short(*node)).collect();
        if !again.is_empty() {
            let what = format!("{} joined in an earlier task", again.join(", "));
            findings.wrong_with(&path.key("nodes"), what, "select the nodes that have not, or `reset` these before");
        }
        self.tried.extend(meant.iter().copied());
        if !task.ignore_error && task.faults.is_empty() && task.when.is_none() {
            self.joined.extend(meant);
        }
    }

    /// A node that no task has joined never gets ready.
    fn waits_for_strangers(&self, selector: &Selector, path: &Path, findings: &mut Findings<'_>) {
        let meant = self.nodes.selected(selector).nodes;
        let strangers: Vec<String> = meant.difference(&self.tried).map(|node| short(*node)).collect();
        if !strangers.is_empty() {
            let what = format!("{} has not joined by then", strangers.join(", "));
            findings.wrong_with(&path.key("nodes"), what, "put a task with `join` before it, or select the nodes that have");
        }
    }

    fn scale(&mut self, scale: &Scale, path: &Path, findings: &mut Findings<'_>) {
        let nodes = &self.nodes;
        let (control_planes, workers) = (scale.control_planes.unwrap_or(nodes.control_planes), scale.workers.unwrap_or(nodes.workers));
        if scale.control_planes.is_none() && scale.workers.is_none() {
            findings.wrong(path, "`scale` says no number: give controlPlanes or workers");
        } else if control_planes == 0 {
            findings.wrong(&path.key("controlPlanes"), "a cluster without a control plane is none: use `delete`");
            return;
        } else if (control_planes, workers) == (nodes.control_planes, nodes.workers) {
            findings.wrong(path, format!("the cluster has {nodes} by then: nothing would be done"));
        } else if u16::from(control_planes) + u16::from(workers) > Topology::MOST_NODES {
            findings.wrong(path, format!("{} nodes do not fit into one cluster", u16::from(control_planes) + u16::from(workers)));
            return;
        }
        for (role, before, after) in [(Role::ControlPlane, nodes.control_planes, control_planes), (Role::Worker, nodes.workers, workers)] {
            self.joined.retain(|(other, n)| *other != role || *n <= after);
            self.joined.extend((before + 1..=after).map(|n| (role, n)));
            self.tried.extend((before + 1..=after).map(|n| (role, n)));
        }
        (self.nodes.control_planes, self.nodes.workers) = (control_planes, workers);
    }
}
