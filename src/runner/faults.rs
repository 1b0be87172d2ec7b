//! A step with its faults: armed before it, healed behind it, also when it fails, is stopped, or takes too long.

use crate::event::{Judgement, Outcome};
use crate::fault::{Armed, Faults};
use crate::spec::{Fault, Join};
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
    let cluster = world.cluster()?;
    let on = (&cluster, &world.events);
    // its name is told beside its words
    let words = |fault: &Fault| {
        let all = workflow::describe_fault(fault);
        all.strip_prefix(&format!("{}: ", fault.id)).unwrap_or(&all).to_owned()
    };
    let armed = world.faults.arm(task.index, &task.faults, watch, on, words, &stop.hard).await?;
    Ok(Some(armed))
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
