//! Tasks side by side. All are awaited; the first failure that counts stops the others.

use futures_util::future::join_all;

use super::task;
use crate::step::{StepError, World};
use crate::sys::stop::Stop;
use crate::workflow::PlannedTask;

/// Runs the tasks; also says whether something was judged undecided.
pub(super) async fn run(tasks: &[PlannedTask], keep_going: bool, world: &World, stop: &Stop) -> (Result<(), StepError>, bool) {
    let part = stop.part();
    let ended = join_all(tasks.iter().map(async |inner| {
        if let Some(reason) = task::unmet(inner, world) {
            return task::skip(inner, world, &reason);
        }
        let ended = task::run_beside(inner, world, &part).await;
        if ended.counts && !keep_going {
            part.soft.cancel();
        }
        ended
    }));
    let ended = ended.await;
    let undecided = ended.iter().any(|ended| ended.undecided);
    let failed: Vec<String> = tasks.iter().zip(&ended).filter(|(_, ended)| ended.counts).map(|(task, _)| task.name.clone()).collect();
    let result = if failed.is_empty() { Ok(()) } else { Err(StepError::Group { failed, of: tasks.len() }) };
    (result, undecided)
}
