//! Tasks side by side. All are awaited; the first failure that counts stops the others.

use futures_util::future::join_all;

use super::known::Known;
use super::task;
use crate::step::{StepError, World};
use crate::sys::stop::Stop;
use crate::workflow::PlannedTask;

/// What the tasks of a group came to, beside its own end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Was something judged undecided?
    pub(super) undecided: bool,
    /// Did one fail in a way that is known?
    pub(super) known: bool,
}

/// Runs the tasks.
pub(super) async fn run(
    tasks: &[PlannedTask],
    keep_going: bool,
    world: &World,
    stop: &Stop,
    known: Known<'_>,
) -> (Result<(), StepError>, Seen) {
    let part = stop.part();
    let ended = join_all(tasks.iter().map(async |inner| {
        if let Some(reason) = task::unmet(inner, world) {
            return task::skip(inner, world, &reason);
        }
        let ended = task::run_beside(inner, world, &part, known).await;
        if ended.counts && !keep_going {
            part.soft.cancel();
        }
        ended
    }));
    let ended = ended.await;
    let seen = Seen { undecided: ended.iter().any(|ended| ended.undecided), known: ended.iter().any(|ended| ended.known) };
    let failed: Vec<String> = tasks.iter().zip(&ended).filter(|(_, ended)| ended.counts).map(|(task, _)| task.name.clone()).collect();
    let result = if failed.is_empty() { Ok(()) } else { Err(StepError::Group { failed, of: tasks.len() }) };
    (result, seen)
}
