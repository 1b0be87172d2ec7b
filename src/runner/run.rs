//! One case: its tasks in order, then cleanup.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::judge::{Look, judge};
use super::policy::{self, Turn};
use crate::event::{Event, Judgement, Outcome, Verdict};
use crate::step::{self, StepError, World};
use crate::sys::clock::{Stamp, human};
use crate::sys::stop::Stop;
use crate::workflow::{Plan, PlannedTask, Step};

/// How long a step may take to end after its limit has passed or a stop came, before its work is dropped.
const LAST_WORDS: Duration = Duration::from_secs(15);

/// How long the nodes' logs may take: an engine that hangs must not hold the cleanup up.
const LOGS: Duration = Duration::from_mins(1);

/// What a case came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseResult {
    /// The first task whose failure counts.
    pub failed: Option<String>,
    /// Was something judged undecided?
    pub undecided: bool,
    /// Could something not be removed?
    pub left: bool,
}

/// Runs all tasks, tells of each exactly once, and removes what is left unless `retain`.
pub async fn run(plan: &Plan, world: &mut World, stop: &Stop, retain: bool) -> CaseResult {
    let mut result = CaseResult::default();
    // Is there something that no delete has removed yet?
    let mut made = false;
    for warning in &plan.topology.warnings {
        world.events.tell(Event::Warning { text: warning.clone() });
    }
    for task in &plan.tasks {
        let (outcome, judgements, took) = match policy::turn(task.force, result.failed.as_deref(), stop.soft.is_cancelled()) {
            Turn::Skip(outcome) => (outcome, Vec::new(), Duration::ZERO),
            Turn::Run if retain && task.step == Step::Delete => {
                (Outcome::Skipped { reason: "--retain keeps the cluster".into() }, Vec::new(), Duration::ZERO)
            }
            Turn::Run => {
                world.events.tell(Event::TaskStarted { index: task.index, name: task.name.clone() });
                one(task, world, stop).await
            }
        };
        let counts = policy::counts(&outcome, &judgements, task.ignore_error);
        result.undecided |= judgements.iter().any(|j| j.verdict == Verdict::Undecided);
        made = match (&task.step, &outcome) {
            (Step::Delete, Outcome::Passed) => false,
            (_, Outcome::Skipped { .. }) | (Step::Expect, _) => made,
            _ => true,
        };
        if counts && result.failed.is_none() {
            result.failed = Some(task.name.clone());
            keep_logs(world, stop).await;
        }
        world.events.tell(Event::TaskFinished { index: task.index, name: task.name.clone(), outcome, counts, took });
    }
    // A workflow without a delete task, or whose delete task failed or never had its turn, leaves nothing behind either.
    if !retain && made {
        result.left = clean_up(world, stop).await.is_err();
    }
    if let Some(observer) = world.observer.take() {
        observer.stop().await;
    }
    result
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
    step::delete(world, &cleanup(stop)).await
}

/// Cleanup goes on after a soft stop.
fn cleanup(stop: &Stop) -> Stop {
    Stop { soft: stop.hard.child_token(), hard: stop.hard.clone() }
}

async fn one(task: &PlannedTask, world: &mut World, stop: &Stop) -> (Outcome, Vec<Judgement>, Duration) {
    let stop = if task.force { cleanup(stop) } else { stop.clone() };
    let (began, clock) = (Stamp::now(), Instant::now());
    let outcome = carry_out(task, world, &stop).await;
    let took = clock.elapsed();
    let look = if outcome.passed() { Look::Until } else { Look::Once };
    let judgements = if stop.soft.is_cancelled() { Vec::new() } else { judge(world, &task.expect, began, look, &stop).await };
    for judgement in &judgements {
        world.events.tell(Event::Judged { index: task.index, task: task.name.clone(), judgement: judgement.clone() });
    }
    // Judging takes its own time, as long as the expectations allow; only what followed from the step is the task's.
    let took = if outcome.passed() { clock.elapsed() } else { took };
    (outcome, judgements, took)
}

/// Runs the step under the task's limit: when it passes, the step is told to stop and may end what runs in the nodes.
async fn carry_out(task: &PlannedTask, world: &mut World, stop: &Stop) -> Outcome {
    let part = stop.part();
    let late = CancellationToken::new();
    let limit = async {
        tokio::select! {
            () = stop.soft.cancelled(), if task.step != Step::Delete => {}
            () = sleep(task.limit) => {
                late.cancel();
                part.soft.cancel();
            }
        }
        sleep(LAST_WORDS).await;
    };
    let ended = tokio::select! {
        biased;
        ended = dispatch(task, world, &part) => Some(ended),
        () = limit => None,
        // delete ends at once by itself, and says what it leaves
        () = stop.hard.cancelled(), if task.step != Step::Delete => None,
    };
    if late.is_cancelled() {
        return Outcome::TimedOut { limit: task.limit };
    }
    match ended {
        Some(Ok(())) if !stop.soft.is_cancelled() || task.force => Outcome::Passed,
        Some(Err(e)) if !stop.soft.is_cancelled() || task.force => Outcome::Failed { reason: e.to_string() },
        Some(_) | None => Outcome::Stopped,
    }
}

async fn dispatch(task: &PlannedTask, world: &mut World, stop: &Stop) -> Result<(), StepError> {
    match &task.step {
        Step::Create => step::create(world, stop).await.map(drop),
        Step::Init => step::init(world, stop).await,
        Step::Join(join) => step::join(world, join, stop).await,
        Step::Delete => step::delete(world, stop).await,
        Step::Expect => Ok(()),
        Step::Cmd(_)
        | Step::Exec(_)
        | Step::Copy(_)
        | Step::Wait(_)
        | Step::Group { .. }
        | Step::Export(_)
        | Step::Restart(_)
        | Step::Reset(_)
        | Step::Scale(_) => Err(StepError::NotThere { step: task.step.word() }),
    }
}
