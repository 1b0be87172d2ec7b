//! A step with its faults: armed before it, healed behind it, also when it fails, is stopped, or takes too long.

use std::time::Duration;

use crate::event::{Event, FaultMoment, Judgement, Outcome};
use crate::fault::{Armed, Faults};
use crate::spec::{Fault, Join, Span, Trigger};
use crate::step::{StepError, World};
use crate::sys::stop::Stop;
use crate::workflow::{self, PlannedTask, Step};

/// Arms a task's faults; `None` where there are none and nobody wants to see kubeadm's calls.
///
/// # Errors
/// [`StepError::Arm`], or [`StepError::NoCluster`].
pub(super) async fn arm(task: &PlannedTask, world: &World, stop: &Stop) -> Result<Option<Armed>, StepError> {
    let watch = matches!(&task.step, Step::Join(Join { watch_calls: true, .. }));
    if task.faults.is_empty() && !watch {
        return Ok(None);
    }
    Ok(Some(armed(task, &task.faults, watch, world, stop).await?))
}

async fn armed(task: &PlannedTask, faults: &[Fault], watch: bool, world: &World, stop: &Stop) -> Result<Armed, StepError> {
    let cluster = world.cluster()?;
    let on = (&cluster, &world.events);
    // its name is told beside its words
    let words = |fault: &Fault| {
        let all = workflow::describe_fault(fault);
        all.strip_prefix(&format!("{}: ", fault.id)).unwrap_or(&all).to_owned()
    };
    Ok(world.faults.arm(task.index, faults, watch, on, words, &stop.hard).await?)
}

/// Breaks something until it is healed. One that is set off by no more than time is done when this returns.
///
/// # Errors
/// [`StepError::Arm`], [`StepError::NoCluster`], and [`StepError::Fault`] where it could not be done by then.
pub(super) async fn stand(task: &PlannedTask, fault: &Fault, world: &World, stop: &Stop) -> Result<(), StepError> {
    let mut fault = fault.clone();
    if fault.on == Trigger::default() {
        fault.on.after = Some(Span(Duration::ZERO));
    }
    let mut told = world.events.subscribe();
    let armed = armed(task, std::slice::from_ref(&fault), false, world, stop).await?;
    world.faults.stand(armed, &fault.id, &task.name).await;
    let over = async {
        while let Some(told) = told.recv().await {
            if let Event::Fault { id, moment, .. } = told.event
                && id == fault.id
                && !matches!(moment, FaultMoment::Armed)
            {
                return if let FaultMoment::Failed { why } = moment { Some(why) } else { None };
            }
        }
        None
    };
    if fault.on.after.is_some() {
        let failed = tokio::select! {
            failed = over => failed,
            () = stop.soft.cancelled() => None,
        };
        if let Some(why) = failed {
            // what it came to is this task's failure
            world.faults.heal(&fault.id).await;
            return Err(StepError::Fault { id: fault.id, why });
        }
    }
    Ok(())
}

/// What a task's own faults came to, and the one that it ends.
pub(super) async fn healed(
    task: &PlannedTask,
    world: &World,
    (mut outcome, mut all): (Outcome, Vec<Judgement>),
) -> (Outcome, Vec<Judgement>) {
    if let Step::Heal(id) = &task.step {
        match world.faults.heal(id).await {
            Some(judged) => all.extend(judged),
            None if outcome == Outcome::Passed => {
                let reason = format!("there is no fault {id:?} to end: its task was skipped, or failed");
                outcome = Outcome::Failed { reason };
            }
            None => {}
        }
    }
    (outcome, all)
}

/// Runs the step under its faults, and says what each fault came to.
pub(super) async fn under(
    armed: Option<Armed>,
    faults: &Faults,
    stop: &Stop,
    work: impl AsyncFnOnce(&Stop) -> Outcome,
) -> (Outcome, Vec<Judgement>) {
    let Some(armed) = armed else { return (work(stop).await, Vec::new()) };
    let part = stop.part();
    let outcome = {
        let work = work(&part);
        tokio::pin!(work);
        tokio::select! {
            biased;
            outcome = &mut work => outcome,
            why = armed.broken() => {
                part.soft.cancel();
                work.await;
                Outcome::Failed { reason: why }
            }
        }
    };
    (outcome, armed.heal(faults).await)
}
