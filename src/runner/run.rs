//! One case: its tasks in order, then cleanup.

use std::time::Duration;

use tokio::time::sleep;

use super::invariants::Watch;
use super::known::Known;
use super::policy::{self, Turn};
use super::task;
use crate::event::{Event, Outcome, Verdict};
use crate::step::{self, StepError, World};
use crate::sys::clock::human;
use crate::sys::stop::Stop;
use crate::workflow::{Plan, PlannedTask, Step};

/// How long the nodes' logs may take: an engine that hangs must not hold the cleanup up.
const LOGS: Duration = Duration::from_mins(1);

/// What a case came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseResult {
    /// The first task whose failure counts, or what was known to fail and did not.
    pub failed: Option<String>,
    /// Was something judged undecided?
    pub undecided: bool,
    /// Could something not be removed?
    pub left: bool,
}

/// Runs all tasks, tells of each exactly once, and removes what is left unless `retain`.
pub async fn run(plan: &Plan, world: &mut World, stop: &Stop, retain: bool) -> CaseResult {
    let mut result = CaseResult::default();
    let known = Known(&plan.known_bad);
    // A broken invariant ends ordinary work, and nothing else.
    let part = stop.part();
    let watch = Watch::begin(&plan.invariants, plan.topology.max_learners(), &world.events, &part, !plan.known_bad.is_empty());
    // Why nothing ordinary comes any more: a task that failed, in a way that counts or that is known, or a broken invariant.
    let mut ended_by: Option<String> = None;
    let mut is_known = false;
    // Is there something that no delete has removed yet?
    let mut made = false;
    for warning in &plan.topology.warnings {
        world.events.tell(Event::Warning { text: warning.clone() });
    }
    for task in &plan.tasks {
        if task.step == Step::Delete {
            end_faults(world, &mut result).await;
        }
        let ended = match turn(task, world, &part, retain, ended_by.as_deref()) {
            Turn::Skip(reason) => task::skip(task, world, &reason),
            Turn::Run => task::run(task, world, &part, known).await,
        };
        is_known |= ended.known;
        result.undecided |= ended.undecided;
        made = match (&task.step, &ended.outcome) {
            (Step::Delete, Outcome::Passed) => false,
            (_, Outcome::Skipped { .. }) => made,
            _ => made || makes(&task.step),
        };
        let failed = (ended.counts || ended.known).then(|| format!("task {:?} failed", task.name));
        if let (Some(why), None) = (failed.or_else(|| watch.ends_by()), &ended_by) {
            ended_by = Some(why);
            keep_logs(world, stop).await;
        }
        if ended.counts && result.failed.is_none() {
            result.failed = Some(task.name.clone());
        }
    }
    end_faults(world, &mut result).await;
    // A workflow without a delete task, or whose delete task failed or never had its turn, leaves nothing behind either.
    if !retain && made {
        result.left = clean_up(world, stop).await.is_err();
    }
    if let Some(observer) = world.observer.take() {
        observer.stop().await;
    }
    let broken = watch.end(is_known).await;
    if ended_by.is_none() && result.failed.is_none() && broken.is_none() && !stop.soft.is_cancelled() {
        result.failed = unexpected_pass(plan, world, known);
    }
    result.failed = result.failed.or(broken);
    result
}

/// Undoes what lasts until the run's end, and judges what no task has healed.
async fn end_faults(world: &World, result: &mut CaseResult) {
    let (left, judged) = world.faults.end().await;
    for why in left {
        world.events.tell(Event::Warning { text: format!("a fault of an earlier task may not be undone: {why}") });
    }
    for (index, task, judgement) in judged {
        match judgement.verdict {
            Verdict::Fail => drop(result.failed.get_or_insert(task.clone())),
            Verdict::Undecided => result.undecided = true,
            Verdict::Pass | Verdict::Known | Verdict::NotApplicable => {}
        }
        world.events.tell(Event::Judged { index, task, judgement });
    }
}

/// What was known to fail and passed; a case that was stopped shows nothing of it.
fn unexpected_pass(plan: &Plan, world: &World, known: Known<'_>) -> Option<String> {
    let mut failed = None;
    for (entry, judgement) in known.passed(world) {
        let task = entry.fails.step.clone();
        let planned = plan.all_tasks().find(|planned| planned.name == task);
        // one that is not for these versions shows nothing
        if planned.is_some_and(|planned| task::unmet(planned, world).is_some()) {
            continue;
        }
        let index = planned.map_or(0, |planned| planned.index);
        if judgement.verdict == Verdict::Fail {
            failed.get_or_insert(task.clone());
        }
        world.events.tell(Event::Judged { index, task, judgement });
    }
    failed
}

fn turn(task: &PlannedTask, world: &World, stop: &Stop, retain: bool, failed: Option<&str>) -> Turn {
    match policy::turn(task.force, failed, stop.soft.is_cancelled()) {
        Turn::Run if retain && task.step == Step::Delete => Turn::Skip("--retain keeps the cluster".into()),
        Turn::Run => task::unmet(task, world).map_or(Turn::Run, Turn::Skip),
        skip @ Turn::Skip(_) => skip,
    }
}

/// Can the step make something that has to be removed? What a group does needs nodes that are there already.
fn makes(step: &Step) -> bool {
    match step {
        Step::Create | Step::Init | Step::Scale(_) | Step::Delete => true,
        Step::Cmd(_)
        | Step::Join(_)
        | Step::Exec(_)
        | Step::Copy(_)
        | Step::Wait(_)
        | Step::Group { .. }
        | Step::Export(_)
        | Step::Restart(_)
        | Step::Advise(_)
        | Step::Reset(_)
        | Step::Repair(_)
        | Step::Member(_)
        | Step::Fault(_)
        | Step::Heal(_)
        | Step::Expect => false,
    }
}

/// The nodes' logs, before cleanup takes the nodes away.
async fn keep_logs(world: &World, stop: &Stop) {
    let Some(cluster) = &world.cluster else { return };
    for node in &cluster.nodes {
        if let Ok(Some(state)) = node.trouble().await {
            world.events.tell(Event::Warning { text: format!("container {} {state}", node.name) });
        }
    }
    if let Some(dir) = &world.logs {
        let missing = tokio::select! {
            missing = cluster.export_logs(dir) => missing,
            () = stop.soft.cancelled() => vec!["stopped".to_owned()],
            () = sleep(LOGS) => vec![format!("not all were there after {}", human(LOGS))],
        };
        let text = format!("logs of the nodes are in {}", dir.display());
        world.events.tell(Event::Note { text });
        if !missing.is_empty() {
            world.events.tell(Event::Warning { text: format!("not all logs could be read: {}", missing.join("; ")) });
        }
    }
}

/// Removes all that the run has made, also after a soft stop.
///
/// # Errors
/// [`StepError::Left`] with what could not be removed.
pub async fn clean_up(world: &mut World, stop: &Stop) -> Result<(), StepError> {
    step::delete(world, &task::cleanup(stop)).await
}
