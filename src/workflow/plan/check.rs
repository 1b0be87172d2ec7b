//! Tasks that are well formed one by one, but cannot be: steps whose turn it is not, selectors that mean no node, settings that
//! would be ignored, expectations that nothing could meet or that would never be looked at.

use super::super::file::{Path, suggestion};
use super::case::Findings;
use super::select::{Meant, Nodes, look_up};
use super::types::{PlannedTask, Step, Transfer};
use super::{demands, faults};
use crate::cluster::Topology;
use crate::node::Role;
use crate::spec::{Exec, Join, KnownBad, Order, Part, Restart, Scale, State, Wait};

/// What earlier tasks have made.
struct Flow {
    created: bool,
    inited: bool,
    nodes: Nodes,
}

/// Looks at all tasks in their order.
pub(super) fn tasks(tasks: &[(Path, PlannedTask)], topology: &Topology, findings: &mut Findings<'_>) {
    let of = |role: Role| u8::try_from(topology.nodes.iter().filter(|n| n.role == role).count()).unwrap_or(u8::MAX);
    let nodes = Nodes { cluster: topology.name.clone(), control_planes: of(Role::ControlPlane), workers: of(Role::Worker) };
    let mut flow = Flow { created: false, inited: false, nodes };
    for (path, task) in tasks {
        turn(task, path, &mut flow, findings);
        one(task, path, &flow, findings);
        if let Step::Group { tasks, .. } = &task.step {
            let path = path.key("group").key("tasks");
            for (at, inner) in tasks.iter().enumerate() {
                let path = path.index(at);
                turn(inner, &path, &mut flow, findings);
                one(inner, &path, &flow, findings);
            }
        }
    }
}

/// Is it the step's turn, and what is there behind it?
fn turn(task: &PlannedTask, path: &Path, flow: &mut Flow, findings: &mut Findings<'_>) {
    let path = path.key(task.step.word());
    match &task.step {
        Step::Create if flow.created => findings.wrong(&path, "the nodes are made already"),
        Step::Create => flow.created = true,
        Step::Init if flow.inited => findings.wrong(&path, "kubeadm init has run already"),
        Step::Init => (flow.created, flow.inited) = (true, true),
        Step::Join(_) if !flow.inited => findings.wrong_with(&path, "nothing can join yet", "put a task with `init` before it"),
        Step::Expect if !flow.inited => {
            findings.wrong_with(&path, "nothing can be expected yet", "put a task with `init` before it");
        }
        Step::Reset(_) | Step::Scale(_) if !flow.inited => {
            findings.wrong_with(&path, "there is no Kubernetes yet", "put a task with `init` before it");
        }
        Step::Exec(_) | Step::Copy(_) | Step::Restart(_) | Step::Wait(Wait { time: None, .. }) if !flow.created => {
            findings.wrong_with(&path, "there are no nodes yet", "put a task with `create` or `init` before it");
        }
        Step::Wait(Wait { until: Some(State::ApiServer | State::Voter | State::Ready), .. }) if !flow.inited => {
            findings.wrong_with(&path, "there is no Kubernetes to wait for yet", "put a task with `init` before it");
        }
        Step::Delete => (flow.created, flow.inited) = (false, false),
        Step::Scale(scale) => {
            self::scale(scale, &path, &flow.nodes, findings);
            flow.nodes.control_planes = scale.control_planes.filter(|n| *n > 0).unwrap_or(flow.nodes.control_planes);
            flow.nodes.workers = scale.workers.unwrap_or(flow.nodes.workers);
        }
        Step::Cmd(_)
        | Step::Join(_)
        | Step::Expect
        | Step::Reset(_)
        | Step::Exec(_)
        | Step::Copy(_)
        | Step::Restart(_)
        | Step::Wait(_)
        | Step::Group { .. }
        | Step::Export(_) => {}
    }
}

/// One task by itself.
fn one(task: &PlannedTask, path: &Path, flow: &Flow, findings: &mut Findings<'_>) {
    let nodes = &flow.nodes;
    let own = path.key(task.step.word());
    match &task.step {
        Step::Join(join) => self::join(join, &own, nodes, findings),
        Step::Exec(exec) => self::exec(exec, &own, nodes, findings),
        Step::Copy(transfer) => self::copy(transfer, &own, nodes, findings),
        Step::Wait(wait) => self::wait(wait, &own, nodes, findings),
        Step::Restart(restart) => self::restart(restart, &own, nodes, findings),
        Step::Reset(reset) => drop(look_up(&reset.nodes, nodes, reset.allow_empty, &own.key("nodes"), findings)),
        Step::Cmd(_) | Step::Create | Step::Init | Step::Group { .. } | Step::Export(_) | Step::Scale(_) | Step::Delete | Step::Expect => {}
    }
    faults::check(task, path, nodes, findings);
    expectations(task, &path.key("expect"), nodes, findings);
}

fn join(join: &Join, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let selected = path.key("nodes");
    match &join.nodes {
        None => {
            if nodes.control_planes + nodes.workers < 2 && !join.allow_empty {
                findings.wrong_with(
                    &selected,
                    "the cluster has no node that could join",
                    "raise `controlPlanes` or `workers` of the cluster",
                );
            }
        }
        Some(selector) => {
            let meant = look_up(selector, nodes, join.allow_empty, &selected, findings);
            if meant.unknown {
                findings.wrong(&selected, "leader, followers and learner are members already: they cannot join");
            }
            if meant.first && meant.count() == 1 {
                findings.wrong(&selected, "the first control plane is there by `init`: it cannot join");
            }
        }
    }
    if join.in_flight == Some(0) {
        findings.wrong(&path.key("inFlight"), "with none at a time no join would ever start");
    }
    if join.order != Order::Parallel {
        for (key, there) in [("inFlight", join.in_flight.is_some()), ("jitter", join.jitter.is_some()), ("seed", join.seed.is_some())] {
            if there {
                findings.wrong(&path.key(key), format!("`{key}` belongs to `order: parallel`"));
            }
        }
    }
}

fn exec(exec: &Exec, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    look_up(&exec.nodes, nodes, exec.allow_empty, &path.key("nodes"), findings);
    match (&exec.command, &exec.script) {
        (Some(_), Some(_)) => findings.wrong(&path.key("script"), "`command` and `script` cannot both be run: leave one out"),
        (None, None) => {
            findings.wrong_with(path, "nothing is run", "say `command: [PROGRAM, ARGUMENT]`, or `script: |` with lines for bash");
        }
        (Some(words), None) if words.first().is_none_or(String::is_empty) => {
            findings.wrong(&path.key("command"), "the command names no program");
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
}

fn copy(transfer: &Transfer, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    match transfer {
        Transfer::In { nodes: selector, allow_empty, .. } => drop(look_up(selector, nodes, *allow_empty, &path.key("to"), findings)),
        Transfer::Out { node, .. } => {
            let meant = look_up(node, nodes, false, &path.key("from"), findings);
            if meant.count() > 1 {
                let what = format!("{node} means {} nodes, whose files would take each other's place", meant.count());
                findings.wrong_with(&path.key("from"), what, "copy from one node a task");
            }
        }
    }
}

fn wait(wait: &Wait, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    match (wait.time, wait.until) {
        (Some(_), Some(_)) => findings.wrong(&path.key("until"), "it waits for a time or until a state, not for both"),
        (None, None) => {
            findings.wrong_with(path, "there is nothing to wait for", "say `time: 5s`, or `until: ready` with the `nodes` that are meant");
        }
        (Some(_), None) => {
            for (key, there) in [("nodes", wait.nodes.is_some()), ("within", wait.within.is_some())] {
                if there {
                    findings.wrong(&path.key(key), format!("`{key}` belongs to `until`"));
                }
            }
        }
        (None, Some(state)) => {
            let Some(selector) = &wait.nodes else { return };
            let meant = look_up(selector, nodes, wait.allow_empty, &path.key("nodes"), findings);
            if meant.workers > 0 && matches!(state, State::ApiServer | State::Voter) {
                findings.wrong(&path.key("nodes"), format!("workers are never {}: select control planes only", state.as_str()));
            }
        }
    }
}

fn restart(restart: &Restart, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let meant: Meant = look_up(&restart.nodes, nodes, restart.allow_empty, &path.key("nodes"), findings);
    if meant.workers > 0 && matches!(restart.what, Part::Etcd | Part::KubeApiserver) {
        findings.wrong(&path.key("nodes"), format!("workers have no {}: select control planes only", restart.what.as_str()));
    }
}

fn scale(scale: &Scale, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let (control_planes, workers) = (scale.control_planes.unwrap_or(nodes.control_planes), scale.workers.unwrap_or(nodes.workers));
    if scale.control_planes.is_none() && scale.workers.is_none() {
        findings.wrong(path, "`scale` says no number: give controlPlanes or workers");
    } else if control_planes == 0 {
        findings.wrong(&path.key("controlPlanes"), "a cluster without a control plane is none: use `delete`");
    } else if (control_planes, workers) == (nodes.control_planes, nodes.workers) {
        findings.wrong(path, format!("the cluster has {nodes} by then: nothing would be done"));
    } else if u16::from(control_planes) + u16::from(workers) > Topology::MOST_NODES {
        findings.wrong(path, format!("{} nodes do not fit into one cluster", u16::from(control_planes) + u16::from(workers)));
    }
}

fn expectations(task: &PlannedTask, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let expect = &task.expect;
    if expect.is_empty() {
        if task.step == Step::Expect {
            findings.wrong_with(
                path,
                "nothing is expected",
                "say members, promotion, nodes, joins, leader, order, resources, time or logs",
            );
        }
        return;
    }
    match &task.step {
        Step::Delete => findings.wrong(path, "nothing can be expected of a cluster that this task removes"),
        Step::Create => findings.wrong(path, "nothing can be expected before kubeadm init has run"),
        Step::Cmd(_)
        | Step::Init
        | Step::Join(_)
        | Step::Exec(_)
        | Step::Copy(_)
        | Step::Wait(_)
        | Step::Group { .. }
        | Step::Export(_)
        | Step::Restart(_)
        | Step::Reset(_)
        | Step::Scale(_)
        | Step::Expect => {}
    }
    if let Some(promotion) = &expect.promotion {
        let own = path.key("promotion");
        if !matches!(task.step, Step::Join(_) | Step::Scale(_) | Step::Group { .. }) {
            findings.wrong(&own, "promotion is about the learners of its own task: it belongs to a task with join, scale or group");
        }
        match (promotion.min, promotion.max) {
            (None, None) => findings.wrong(&own, "promotion has neither min nor max"),
            (Some(min), Some(max)) if min > max => findings.wrong(&own.key("min"), "promotion: min is larger than max"),
            _ => {}
        }
    }
    if let Some(members) = &expect.members {
        let own = path.key("members");
        if members.voters.is_none() && members.learners.is_none() && members.started.is_none() && members.names.is_none() {
            findings.wrong_with(&own, "members demands nothing", "say voters, learners, started or names");
        }
        for (key, count) in [("voters", members.voters), ("learners", members.learners), ("started", members.started)] {
            if let Some(why) = count.and_then(|count| count.wrong()) {
                findings.wrong(&own.key(key), why);
            }
        }
    }
    if let Some(why) = expect.nodes.as_ref().and_then(|nodes| nodes.ready.wrong()) {
        findings.wrong(&path.key("nodes").key("ready"), why);
    }
    demands::check(&task.step, expect, path, nodes, findings);
}

/// Looks at what is known to fail.
pub(super) fn known_bad(all: &[KnownBad], tasks: &[(Path, PlannedTask)], findings: &mut Findings<'_>) {
    let list = Path::default().key("knownBad");
    for (at, known) in all.iter().enumerate() {
        let path = list.index(at);
        if known.kubeadm.is_empty() && known.etcd.is_empty() {
            findings.wrong_with(&path, "no version is named", "say `kubeadm: {\"1.34\": \">=1.34.4\"}`, or the same with etcd");
        }
        for (key, table) in [("kubeadm", &known.kubeadm), ("etcd", &known.etcd)] {
            for minor in table.keys() {
                let numbers: Vec<&str> = minor.split('.').collect();
                if numbers.len() != 2 || numbers.iter().any(|n| n.parse::<u16>().is_err()) {
                    findings.wrong(&path.key(key), format!("{minor:?} is no minor version: write it as in \"1.34\""));
                }
            }
        }
        let names = || tasks.iter().map(|(_, task)| task.name.as_str());
        if !names().any(|name| name == known.fails.step) {
            let help = match suggestion(&known.fails.step, names()) {
                Some(meant) => format!("is {meant:?} meant?"),
                None => format!("tasks are: {}", names().collect::<Vec<_>>().join(", ")),
            };
            findings.wrong_with(&path.key("fails").key("step"), format!("there is no task {:?}", known.fails.step), help);
        }
    }
}
