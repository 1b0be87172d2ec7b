//! `copy`: files between this machine and nodes.

use std::path::Path;

use super::each::each;
use super::error::StepError;
use super::world::World;
use crate::cluster::{only, select};
use crate::event::Event;
use crate::spec::Selector;
use crate::sys::stop::Stop;

/// Copies a file or folder of this machine into nodes, one after the other up to the first failure.
///
/// # Errors
/// [`StepError::Copy`] with what is wrong here or there.
pub async fn copy_in(world: &World, from: &Path, nodes: &Selector, to: &str, allow_empty: bool, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let nodes = select(&cluster, nodes, allow_empty).await?;
    let copied = each("copy", &nodes, false, stop, async |node| {
        let failed = |why| StepError::Copy { from: from.display().to_string(), to: format!("{}:{to}", node.name), why: Box::new(why) };
        let left_out = node.copy_in(from, to).await.map_err(failed)?;
        warn(world, &format!("{} to {}:{to}", from.display(), node.name), &left_out);
        Ok(())
    });
    copied.await
}

/// Copies a file or folder out of the one node that the selector means.
///
/// # Errors
/// As [`copy_in`]; [`StepError::Select`] when it means several.
pub async fn copy_out(world: &World, node: &Selector, from: &str, to: &Path) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let node = only(&cluster, node).await?;
    let failed = |why| StepError::Copy { from: format!("{}:{from}", node.name), to: to.display().to_string(), why: Box::new(why) };
    let left_out = node.copy_out(from, to).await.map_err(failed)?;
    warn(world, &format!("{}:{from}", node.name), &left_out);
    Ok(())
}

fn warn(world: &World, what: &str, left_out: &[String]) {
    if !left_out.is_empty() {
        let text = format!("copy of {what} leaves out {}", left_out.join("; "));
        world.events.tell(Event::Warning { text });
    }
}
