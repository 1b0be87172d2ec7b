//! Faults that could not be: no trigger or two, nothing broken or two things, calls that nobody makes.

use super::super::file::Path;
use super::case::Findings;
use super::select::{Empty, Nodes, look_up};
use super::types::{PlannedTask, Step};
use crate::spec::{Action, Fault, Trigger};

/// Looks at the faults of one task.
pub(super) fn check(task: &PlannedTask, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let list = path.key("faults");
    if !task.faults.is_empty() && matches!(task.step, Step::Create | Step::Delete | Step::Expect | Step::Export(_)) {
        let what = format!("nothing can be disturbed while `{}` runs", task.step.word());
        findings.wrong_with(&list, what, "a fault lives in the step that it disturbs: init, join, reset, restart, scale, exec, cmd, wait");
    }
    for (at, fault) in task.faults.iter().enumerate() {
        let path = list.index(at);
        if fault.id.trim().is_empty() {
            findings.wrong(&path.key("id"), "the fault's id is empty");
        } else if task.faults[..at].iter().any(|earlier| earlier.id == fault.id) {
            findings.wrong(&path.key("id"), format!("an earlier fault of this task is called {:?} too", fault.id));
        }
        trigger(&fault.on, &path.key("on"), nodes, findings);
        action(fault, &path.key("do"), nodes, findings);
    }
}

fn trigger(on: &Trigger, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let given = [on.call.is_some(), on.event.is_some(), on.phase.is_some(), on.after.is_some()].into_iter().filter(|given| *given).count();
    if given != 1 {
        findings.wrong_with(path, format!("a fault has one trigger, this has {given}"), "give just one of call, event, phase and after");
    }
    if on.after.is_some() && (on.node.is_some() || on.nth.is_some()) {
        findings.wrong(path, "`node` and `nth` belong to a call, an event or a phase, not to a time");
    }
    if on.nth == Some(0) {
        findings.wrong(&path.key("nth"), "times count from 1");
    }
    if let Some(node) = &on.node {
        look_up(node, nodes, Empty::Never, &path.key("node"), findings);
    }
}

fn action(fault: &Fault, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let Action { drop_answer, delay, refuse, hold, kill, pause, restart, crash_all, partition, bandwidth, disk_full, disk_slow } =
        &fault.action;
    let given = [
        ("dropAnswer", drop_answer.is_some()),
        ("delay", delay.is_some()),
        ("refuse", refuse.is_some()),
        ("hold", hold.is_some()),
        ("kill", kill.is_some()),
        ("pause", pause.is_some()),
        ("restart", restart.is_some()),
        ("crashAll", crash_all.is_some()),
        ("partition", partition.is_some()),
        ("bandwidth", bandwidth.is_some()),
        ("diskFull", disk_full.is_some()),
        ("diskSlow", disk_slow.is_some()),
    ];
    let words: Vec<&str> = given.iter().filter(|(_, there)| *there).map(|(word, _)| *word).collect();
    match words[..] {
        [word] => {
            if matches!(word, "dropAnswer" | "delay" | "refuse" | "hold") && fault.on.call.is_none() {
                findings.wrong_with(
                    path,
                    format!("`{word}` is done to a call, and the trigger is none"),
                    "write `on: {call: MemberPromote}`",
                );
            }
        }
        [] => findings.wrong_with(path, "the fault breaks nothing", format!("give one of: {}", given.map(|(word, _)| word).join(", "))),
        _ => findings.wrong(path, format!("a fault breaks one thing, this has {}: {}", words.len(), words.join(", "))),
    }
    let selectors = [
        ("kill", kill.as_ref().map(|target| &target.nodes)),
        ("pause", pause.as_ref().map(|target| &target.nodes)),
        ("restart", restart.as_ref().map(|target| &target.nodes)),
        ("bandwidth", bandwidth.as_ref().map(|link| &link.nodes)),
        ("diskFull", disk_full.as_ref().map(|on| &on.nodes)),
        ("diskSlow", disk_slow.as_ref().map(|disk| &disk.nodes)),
    ];
    for (key, selector) in selectors {
        if let Some(selector) = selector {
            look_up(selector, nodes, Empty::Never, &path.key(key).key("nodes"), findings);
        }
    }
    if let Some(partition) = partition {
        look_up(&partition.from, nodes, Empty::Never, &path.key("partition").key("from"), findings);
        look_up(&partition.to, nodes, Empty::Never, &path.key("partition").key("to"), findings);
    }
}
