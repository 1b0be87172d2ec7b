//! etcd of another version in a node: its program is taken out of the image of that version.

use super::super::error::StepError;
use super::super::world::World;
use crate::event::Event;
use crate::node::{Node, path};
use crate::runtime::api::only_file;
use crate::runtime::{ContainerSpec, RuntimeError, label};

/// The role of a container that never runs.
const ROLE: &str = "etcd-program";

/// Puts etcd of another version into a node whose etcd does not run. Its data stays.
///
/// # Errors
/// [`StepError::Member`] with what could not be done.
pub(super) async fn replace(world: &World, node: &Node, version: &str) -> Result<(), StepError> {
    let failed = |why: String| StepError::Member { what: format!("put etcd {version} into {}", node.name), why };
    let image = world.images.more_etcd.get(version).ok_or_else(|| failed("no image with it was looked for".into()))?;
    let tar = taken_out(world, &format!("{}-{version}", node.name), image).await.map_err(|e| failed(e.to_string()))?;
    let program = only_file(&tar).map_err(|e| failed(e.to_string()))?;
    node.write(path::ETCD_PROGRAM, 0o755, &program).await?;
    world.events.tell(Event::Note { text: format!("etcd of {} is {version} from here on", node.name) });
    Ok(())
}

/// The engine gives files of containers only, so one is made, and carries the run's labels for as long as it is there.
async fn taken_out(world: &World, name: &str, image: &str) -> Result<Vec<u8>, RuntimeError> {
    let labels = label::with_role(label::common(&world.run, &world.topology.name, world.lifetime), ROLE);
    let spec = ContainerSpec {
        name: name.to_owned(),
        image: image.to_owned(),
        labels,
        cmd: vec![path::ETCD_PROGRAM.into()],
        ..ContainerSpec::default()
    };
    world.runtime.create(&spec).await?;
    let mut tar = Vec::new();
    let got = world.runtime.get(name, path::ETCD_PROGRAM, &mut tar).await;
    world.runtime.remove(name).await?;
    got.map(|_| tar)
}
