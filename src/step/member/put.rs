//! `member: {put: …}`: entries, so that there are some.

use std::time::Duration;

use super::super::error::StepError;
use super::super::world::World;
use super::asked;
use crate::agent::Call;
use crate::event::Event;
use crate::spec::PutEntries;
use crate::sys::clock::{Stamp, human};

/// A slow disk takes some hundred a second; the task's limit ends it earlier.
const LIMIT: Duration = Duration::from_hours(1);
const SIZE: usize = 1 << 10;

/// Writes entries by way of one member.
///
/// # Errors
/// [`StepError::Member`] with etcd's words.
pub(super) async fn put(world: &World, put: &PutEntries) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let via = asked::via(&cluster, put.via.as_ref(), None).await?;
    let size = put.size.map_or(SIZE, |size| usize::try_from(size.0).unwrap_or(usize::MAX));
    let began = Stamp::now();
    let wrote = via.agent().ask(Call::Put { etcd: via.etcd(), entries: put.entries, size }, LIMIT).await;
    wrote.map_err(|e| StepError::Member { what: format!("put {} entries by way of {}", put.entries, via.name), why: e.to_string() })?;
    let text = format!("{} entries are written by way of {} in {}", put.entries, via.name, human(Stamp::now().since(began)));
    world.events.tell(Event::Note { text });
    Ok(())
}
