//! `delete`: everything of this run, verified.

use super::error::StepError;
use super::world::World;
use crate::cluster;
use crate::event::{Event, Work};
use crate::runtime::label;
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Removes everything that carries the run's label, whether this process knows of it or not.
///
/// # Errors
/// [`StepError::Left`] with what could not be removed.
pub async fn delete(world: &mut World, stop: &Stop) -> Result<(), StepError> {
    let began = Stamp::now();
    if let Some(observer) = world.observer.take() {
        observer.stop().await;
    }
    world.cluster = None;
    let labels = [format!("{}={}", label::RUN, world.run)];
    let gone = cluster::remove(world.runtime.as_ref(), &labels, world.removal, &stop.hard).await;
    world.events.tell(Event::Worked { work: Work::Delete, on: world.topology.name.clone(), began, took: Stamp::now().since(began) });
    world.events.tell(Event::Cleaned { removed: gone.removed, left: gone.left.clone() });
    if gone.left.is_empty() { Ok(()) } else { Err(StepError::Left { left: gone.left }) }
}
