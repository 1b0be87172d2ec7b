//! One case: its tasks in order, then cleanup.

use std::time::Duration;

use tokio::time::sleep;

use super::policy::{self, Turn};
use super::{known, task};
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

/// The first failure that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) task: String,
    /// Its reason, and what its failed expectations saw.
    pub(super) why: Vec<String>,
}

/// Runs all tasks, tells of each exactly once, and removes what is left unless `retain`.
pub async fn run(plan: &Plan, world: &mut World, stop: &Stop, retain: bool) -> CaseResult {
    let mut result = CaseResult::default();
    let mut failed: Option<Failed> = None;
    // Is there something that no delete has removed yet?
    let mut made = false;
    for warning in &plan.topology.warnings {
        world.events.tell(Event::Warning { text: warning.clone() });
    }
    for task in &plan.tasks {
        let ended = match turn(task, world, stop, retain, failed.as_ref().map(|f| f.task.as_str())) {
            Turn::Skip(reason) => task::skip(task, world, &reason),
            Turn::Run => task::run(task, world, stop).await,
        };
        result.undecided |= ended.undecided;
        made = match (&task.step, &ended.outcome) {
            (Step::Delete, Outcome::Passed) => false,
            (_, Outcome::Skipped { .. }) => made,
            _ => made || makes(&task.step),
        };
        if ended.counts && failed.is_none() {
            failed = Some(Failed { task: task.name.clone(), why: ended.why });
            keep_logs(world, stop).await;
        }
    }
    // A workflow without a delete task, or whose delete task failed or never had its turn, leaves nothing behind either.
    if !retain && made {
        result.left = clean_up(world, stop).await.is_err();
    }
    if let Some(observer) = world.observer.take() {
        observer.stop().await;
    }
    result.failed = verdict(plan, world, stop, failed.as_ref());
    result
}

/// The failure that counts once what is known to fail is looked at. A case that was stopped shows nothing of it.
fn verdict(plan: &Plan, world: &World, stop: &Stop, failed: Option<&Failed>) -> Option<String> {
    let mut result = failed.map(|failed| failed.task.clone());
    if stop.soft.is_cancelled() {
        return result;
    }
    // A binary of the user's own has no version that an entry could be about.
    let kubeadm = world.kubernetes().filter(|_| world.overrides.kubeadm.is_none());
    let etcd = world.images.etcd.as_deref().filter(|_| world.overrides.etcd.is_none());
    for entry in &plan.known_bad {
        let Some(seen) = known::look(entry, kubeadm, etcd, failed) else { continue };
        let index = plan.tasks.iter().find(|task| task.name == entry.fails.step).map_or(0, |task| task.index);
        if seen.forgives {
            result = None;
        } else if seen.judgement.verdict == Verdict::Fail && failed.is_none() {
            result = Some(entry.fails.step.clone());
        }
        world.events.tell(Event::Judged { index, task: entry.fails.step.clone(), judgement: seen.judgement });
    }
    result
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
        | Step::Reset(_)
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
