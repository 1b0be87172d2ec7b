//! `export`: the nodes' logs.

use std::path::{Path, PathBuf};

use super::error::StepError;
use super::world::World;
use crate::event::Event;
use crate::spec::Export;
use crate::sys::stop::Stop;

/// Writes the logs of all nodes into a folder, or the case's artifacts. A log that cannot be read is a warning.
///
/// # Errors
/// [`StepError::NoFolder`] when there is none to write to.
pub async fn export(world: &World, export: &Export, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let dir: PathBuf = export.to.as_ref().map(Into::into).or_else(|| world.logs.clone()).ok_or(StepError::NoFolder)?;
    let missing = tokio::select! {
        missing = cluster.export_logs(&dir) => missing,
        () = stop.soft.cancelled() => return Err(StepError::Stopped),
    };
    tell(world, &dir, &missing);
    Ok(())
}

fn tell(world: &World, dir: &Path, missing: &[String]) {
    world.events.tell(Event::Note { text: format!("logs of the nodes are in {}", dir.display()) });
    if !missing.is_empty() {
        world.events.tell(Event::Warning { text: format!("not all logs could be read: {}", missing.join("; ")) });
    }
}
