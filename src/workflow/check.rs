//! Tasks that are well formed one by one, but cannot be: steps whose turn it is not, settings that would be ignored,
//! expectations that nothing could meet or that would never be looked at.

use super::plan::{PlanError, PlannedTask, Step};
use crate::cluster::Topology;
use crate::node::Role;
use crate::spec::{Join, Order, Pick, Selector};

/// Every problem that was found.
pub(super) fn tasks(tasks: &[PlannedTask], topology: &Topology) -> Vec<PlanError> {
    let mut errors = Vec::new();
    let (mut created, mut inited) = (false, false);
    for (at, task) in tasks.iter().enumerate() {
        let mut wrong = |why: &str| errors.push(PlanError::Task { index: at + 1, name: task.name.clone(), why: why.to_owned() });
        match &task.step {
            Step::Create if created => wrong("the nodes are made already"),
            Step::Create => created = true,
            Step::Init if inited => wrong("kubeadm init has run already"),
            Step::Init => (created, inited) = (true, true),
            Step::Join(join) => {
                if !inited {
                    wrong("nothing can join before a task with init");
                }
                check_join(join, topology, &mut wrong);
            }
            Step::Delete => (created, inited) = (false, false),
            Step::Expect if !inited => wrong("nothing can be expected before a task with init"),
            Step::Cmd(_)
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
        if tasks[..at].iter().any(|earlier| earlier.name == task.name) {
            wrong("an earlier task has the same name");
        }
        check_expectations(task, &mut wrong);
    }
    errors
}

fn check_join(join: &Join, topology: &Topology, wrong: &mut impl FnMut(&str)) {
    let meant = topology.nodes.iter().skip(1).filter(|n| match &join.nodes {
        None => true,
        Some(Selector(picks)) => picks.iter().any(|pick| match pick {
            Pick::Workers => n.role == Role::Worker,
            Pick::Secondaries => n.role == Role::ControlPlane,
            _ => true,
        }),
    });
    let meant = meant.count();
    if meant == 0 {
        wrong("the cluster has no node that this join could be about: raise controlPlanes or workers");
    }
    if join.in_flight == Some(0) {
        wrong("inFlight: 0 would never start a join");
    }
    if join.order == Order::Serial && (join.in_flight.is_some() || join.jitter.is_some() || join.seed.is_some()) {
        wrong("inFlight, jitter and seed belong to order: parallel");
    }
}

fn check_expectations(task: &PlannedTask, wrong: &mut impl FnMut(&str)) {
    let expect = &task.expect;
    if expect.is_empty() {
        return;
    }
    match &task.step {
        Step::Delete => wrong("nothing can be expected of a cluster that this task removes"),
        Step::Create => wrong("nothing can be expected before kubeadm init has run"),
        _ => {}
    }
    if let Some(promotion) = &expect.promotion {
        if !matches!(task.step, Step::Join(_)) {
            wrong("promotion is about the learners of its own task: it belongs to a task with join");
        }
        match (promotion.min, promotion.max) {
            (None, None) => wrong("promotion has neither min nor max"),
            (Some(min), Some(max)) if min > max => wrong("promotion: min is larger than max"),
            _ => {}
        }
    }
    if let Some(members) = &expect.members
        && members.voters.is_none()
        && members.learners.is_none()
        && members.started.is_none()
        && members.names.is_none()
    {
        wrong("members demands nothing: say voters, learners, started or names");
    }
}
