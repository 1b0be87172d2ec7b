//! The faults of a task, and one that is a task of its own.

use super::super::super::file::Path;
use super::super::findings::Findings;
use super::super::select::Nodes;
use super::super::types::{PlannedTask, Step};
use super::{action, coming, same};
use crate::spec::{Fault, Trigger, Until};

/// A fault's name stands in every line about it, and in names of what is made in nodes.
const LONGEST_ID: usize = 63;

/// What there is when a task's turn comes.
#[derive(Clone, Copy, Debug)]
pub(in crate::workflow::plan) struct Then<'a> {
    /// Are there nodes?
    pub(in crate::workflow::plan) created: bool,
    /// Has `init` run?
    pub(in crate::workflow::plan) inited: bool,
    /// Faults that last until they are healed.
    pub(in crate::workflow::plan) standing: &'a [Fault],
}

/// Looks at the faults of one task.
pub(in crate::workflow::plan) fn check(task: &PlannedTask, path: &Path, nodes: &Nodes, then: Then<'_>, findings: &mut Findings<'_>) {
    let list = path.key("faults");
    if task.faults.is_empty() {
        return;
    }
    let undisturbed = matches!(task.step, Step::Create | Step::Delete | Step::Expect | Step::Export(_) | Step::Fault(_) | Step::Heal(_));
    if undisturbed {
        let what = format!("nothing can be disturbed while `{}` runs", task.step.word());
        let help = "a fault lives in the step that it disturbs: init, join, reset, repair, restart, scale, exec, copy, cmd, wait, group, \
             member, advise";
        findings.wrong_with(&list, what, help);
    } else if !then.created && task.step != Step::Init {
        findings.wrong_with(&list, "there is nothing to break by then", "put a task with `create` or `init` before it");
    }
    for (at, fault) in task.faults.iter().enumerate() {
        let path = list.index(at);
        id(fault, &path, findings);
        if task.faults[..at].iter().any(|earlier| earlier.id == fault.id) {
            findings.wrong(&path.key("id"), format!("an earlier fault of this task is called {:?} too", fault.id));
        }
        coming::trigger(&fault.on, &path.key("on"), nodes, findings);
        action::check(fault, &path, nodes, findings);
        if !undisturbed {
            coming::in_task(task, fault, &path, nodes, findings);
            reaches(fault, then.inited || task.step == Step::Init, &path, findings);
        }
        let earlier = task.faults[..at].iter().find(|earlier| same::target(earlier, fault, nodes));
        let standing = then.standing.iter().find(|other| same::lasting(other, fault, nodes));
        hidden(earlier.or(standing), &path, findings);
    }
}

/// Looks at a fault that is a task of its own.
pub(in crate::workflow::plan) fn standing(fault: &Fault, path: &Path, nodes: &Nodes, then: Then<'_>, findings: &mut Findings<'_>) {
    id(fault, path, findings);
    if fault.until == Until::RunEnd {
        findings.wrong_with(&path.key("until"), "it lasts until it is healed, or everything is removed", "leave `until` out");
    }
    if fault.on != Trigger::default() {
        coming::trigger(&fault.on, &path.key("on"), nodes, findings);
    }
    action::check(fault, path, nodes, findings);
    coming::standing(fault, path, nodes, findings);
    if then.created {
        reaches(fault, then.inited, path, findings);
    }
    let others = then.standing.iter().filter(|other| other.id != fault.id);
    hidden(others.into_iter().find(|other| same::lasting(other, fault, nodes)), path, findings);
}

fn id(fault: &Fault, path: &Path, findings: &mut Findings<'_>) {
    let path = path.key("id");
    if fault.id.trim().is_empty() {
        findings.wrong(&path, "the fault's id is empty");
    } else if fault.id.chars().any(char::is_control) {
        findings.wrong_with(&path, format!("the fault's id {:?} holds a control character", fault.id), "write letters, digits and dashes");
    } else if fault.id.chars().count() > LONGEST_ID {
        findings.wrong(&path, format!("the fault's id has {} characters, and at most {LONGEST_ID} fit", fault.id.chars().count()));
    }
}

/// Is what it breaks there by then?
fn reaches(fault: &Fault, inited: bool, path: &Path, findings: &mut Findings<'_>) {
    if let Some(what) = action::of_kubernetes(&fault.action).filter(|_| !inited) {
        let help = "put a task with `init` before it";
        findings.wrong_with(&path.key("do"), format!("there is no {what} by then"), help);
    }
}

fn hidden(by: Option<&Fault>, path: &Path, findings: &mut Findings<'_>) {
    if let Some(by) = by {
        let what = format!("the earlier fault {:?} does something to the same at the same moment", by.id);
        findings.wrong_with(path, what, "one of them would hide the other: give them other moments, or leave one out");
    }
}
