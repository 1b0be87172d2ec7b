//! What sets a fault off, and what ends it: does it come while the step runs?

use std::collections::BTreeSet;

use super::super::super::file::Path;
use super::super::findings::Findings;
use super::super::select::{Empty, FIRST, Nodes, look_up, short};
use super::super::types::{PlannedTask, Step};
use crate::node::Role;
use crate::spec::{EtcdCall, Fault, Selector, Span, Trigger, Until, Victim};

/// Looks at a trigger by itself.
pub(super) fn trigger(on: &Trigger, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let given = [on.call.is_some(), on.event.is_some(), on.phase.is_some(), on.after.is_some()].into_iter().filter(|given| *given).count();
    if given != 1 {
        findings.wrong_with(path, format!("a fault has one trigger, this has {given}"), "give just one of call, event, phase and after");
    }
    if on.after.is_some() && (on.node.is_some() || on.nth.is_some()) {
        findings.wrong(path, "`node` and `nth` belong to a call, an event or a phase, not to a time");
    }
    for (key, there) in [("endpoint", on.endpoint.is_some()), ("at", on.at.is_some())] {
        if there && on.call.is_none() {
            findings.wrong(&path.key(key), format!("`{key}` belongs to `call`"));
        }
    }
    if on.phase.as_ref().is_some_and(|phase| phase.trim().is_empty()) {
        findings.wrong_with(&path.key("phase"), "the phase has no name", "write one as kubeadm's output has it: `phase: etcd`");
    }
    if on.nth == Some(0) {
        findings.wrong(&path.key("nth"), "times count from 1");
    }
    let only_workers = |key: &'static str, findings: &mut Findings<'_>| {
        let Some(selector) = (if key == "node" { &on.node } else { &on.endpoint }) else { return false };
        let meant = look_up(selector, nodes, Empty::Never, &path.key(key), findings);
        !meant.unknown && !meant.nodes.is_empty() && meant.workers() == meant.nodes.len()
    };
    if only_workers("endpoint", findings) {
        findings.wrong(&path.key("endpoint"), "workers have no member of etcd: this never sets the fault off");
    }
    if only_workers("node", findings) && (on.call.is_some() || on.event.is_some()) {
        let what = if on.call.is_some() { "kubeadm on workers does not call etcd" } else { "workers have no member of etcd" };
        findings.wrong(&path.key("node"), format!("{what}: this never sets the fault off"));
    }
}

/// Does anything in this task set the fault off, and does its end come?
pub(super) fn in_task(task: &PlannedTask, fault: &Fault, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let word = task.step.word();
    let kubeadm = matches!(task.step, Step::Init | Step::Join(_) | Step::Reset(_) | Step::Repair(_) | Step::Scale(_) | Step::Group { .. });
    let on = path.key("on");
    call(task, fault, &on, nodes, findings);
    if fault.on.phase.is_some() && !kubeadm {
        findings.wrong(&on.key("phase"), format!("no kubeadm is followed while `{word}` runs: this never sets the fault off"));
    }
    if task.step == Step::Init && fault.on.node.as_ref().is_some_and(|node| nodes.selected(node).unknown) {
        let help = "say `first`, the only control plane that there is";
        findings.wrong_with(&on.key("node"), "no member of etcd can tell who is meant before `kubeadm init` has run", help);
    }
    if let Some(after) = fault.on.after.filter(|after| after.0 >= task.limit) {
        findings.wrong_with(&on.key("after"), format!("the task has ended by then: {after} is not less than its limit"), "raise `timeout`");
    }
    let Some(target) = fault.action.pause.as_ref().filter(|target| matches!(target.what, Victim::Kubeadm | Victim::Node) && kubeadm) else {
        return;
    };
    let stands = match (target.what, runners(task, nodes)) {
        (Victim::Node, Some(runners)) => !nodes.selected(&target.nodes).nodes.is_disjoint(&runners),
        (Victim::Node, None) => false,
        (_, _) => true,
    };
    if stands {
        let what = if target.what == Victim::Node { "kubeadm on a node" } else { "kubeadm" };
        endless(fault, &format!("`{word}` waits for {what}, which stands still until the step ends"), Some(task), path, findings);
    }
}

/// The same for a fault that is a task of its own.
pub(super) fn standing(fault: &Fault, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let on = path.key("on");
    if nodes.is_etcd_alone() {
        for (key, there) in [("call", fault.on.call.is_some()), ("phase", fault.on.phase.is_some())] {
            if there {
                findings.wrong(&on.key(key), "this cluster is etcd alone, where no kubeadm runs: this never sets the fault off");
            }
        }
    }
    let of_kubeadm = [("kill", &fault.action.kill), ("pause", &fault.action.pause)]
        .into_iter()
        .find(|(_, target)| target.as_ref().is_some_and(|target| target.what == Victim::Kubeadm));
    if let Some((key, _)) = of_kubeadm {
        if fault.on == Trigger::default() {
            let help = "put it into `faults` of the task that runs kubeadm";
            findings.wrong_with(&path.key("do").key(key), "no kubeadm runs between two tasks", help);
        } else if key == "pause" {
            endless(fault, "who runs kubeadm waits for it, and no `heal` has its turn meanwhile", None, path, findings);
        }
    }
}

/// An end that is no time: the step would wait for it, and it for the step.
fn endless(fault: &Fault, why: &str, task: Option<&PlannedTask>, path: &Path, findings: &mut Findings<'_>) {
    match fault.until {
        Until::After(Span(long)) if task.is_none_or(|task| long < task.limit) => {}
        Until::After(_) => findings.wrong(&path.key("until"), "the task's own limit comes before this end"),
        Until::StepEnd | Until::RunEnd => {
            let path = path.key("do").key("pause");
            findings.wrong_with(&path, format!("an end that never comes: {why}"), "say how long, as in `until: 5s`");
        }
    }
}

/// Does this call come?
fn call(task: &PlannedTask, fault: &Fault, on: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let Some(call) = fault.on.call else { return };
    let key = on.key("call");
    let word = task.step.word();
    let never = |by: &str| format!("{by} makes no call {}: this never sets the fault off", call.as_str());
    let made: &[EtcdCall] = match &task.step {
        Step::Init => return findings.wrong(&key, "`kubeadm init` calls no etcd: this never sets the fault off"),
        Step::Scale(_) => {
            let help = "make the nodes with the cluster, and `join` them";
            return findings.wrong_with(&key, "`scale` makes its nodes itself: no proxy is in them before their kubeadm runs", help);
        }
        Step::Join(_) => &[EtcdCall::MemberAdd, EtcdCall::MemberList, EtcdCall::MemberPromote, EtcdCall::Status],
        Step::Reset(_) => &[EtcdCall::MemberList, EtcdCall::MemberRemove],
        // programs of the user's own; a group may hold them
        Step::Exec(_) | Step::Cmd(_) | Step::Repair(_) | Step::Group { .. } => &[
            EtcdCall::MemberAdd,
            EtcdCall::MemberList,
            EtcdCall::MemberPromote,
            EtcdCall::Status,
            EtcdCall::MemberRemove,
            EtcdCall::MemberUpdate,
        ],
        Step::Create
        | Step::Copy(_)
        | Step::Wait(_)
        | Step::Export(_)
        | Step::Restart(_)
        | Step::Advise(_)
        | Step::Member(_)
        | Step::Fault(_)
        | Step::Heal(_)
        | Step::Delete
        | Step::Expect => return findings.wrong(&key, format!("no kubeadm runs while `{word}` does: this never sets the fault off")),
    };
    if !made.contains(&call) {
        return findings.wrong(&key, never(&format!("`kubeadm {word}`")));
    }
    let Some(runners) = runners(task, nodes) else { return };
    let control_planes: BTreeSet<(Role, u8)> = runners.into_iter().filter(|(role, _)| *role == Role::ControlPlane).collect();
    let names = || control_planes.iter().map(|node| short(*node)).collect::<Vec<_>>().join(", ");
    if control_planes.is_empty() {
        findings.wrong(&key, format!("no kubeadm of a control plane runs in this `{word}`: this never sets the fault off"));
    } else if let Some(node) = &fault.on.node {
        let meant = nodes.selected(node);
        // of workers it is told already
        if !meant.unknown && meant.workers() < meant.nodes.len() && meant.nodes.is_disjoint(&control_planes) {
            let what = format!("no kubeadm that calls etcd runs there in this `{word}`: this never sets the fault off");
            findings.wrong_with(&on.key("node"), what, format!("it runs on {}", names()));
        }
    }
}

/// The nodes on which the task runs kubeadm; `None` where that is not sure.
fn runners(task: &PlannedTask, nodes: &Nodes) -> Option<BTreeSet<(Role, u8)>> {
    let sure = |selector: &Selector| {
        let meant = nodes.selected(selector);
        (!meant.unknown).then_some(meant.nodes)
    };
    match &task.step {
        Step::Init => Some([FIRST].into()),
        Step::Join(join) => {
            let mut all = sure(&join.nodes.clone().unwrap_or_else(Selector::all))?;
            all.remove(&FIRST);
            Some(all)
        }
        Step::Reset(reset) => sure(&reset.nodes),
        Step::Group { tasks, .. } => {
            let each: Option<Vec<_>> = tasks.iter().map(|inner| runners(inner, nodes)).collect();
            Some(each?.into_iter().flatten().collect())
        }
        Step::Wait(_) | Step::Copy(_) | Step::Restart(_) | Step::Export(_) | Step::Advise(_) | Step::Expect => Some(BTreeSet::new()),
        Step::Cmd(_)
        | Step::Create
        | Step::Exec(_)
        | Step::Repair(_)
        | Step::Scale(_)
        | Step::Member(_)
        | Step::Fault(_)
        | Step::Heal(_)
        | Step::Delete => None,
    }
}
