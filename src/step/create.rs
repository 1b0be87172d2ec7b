//! `create`: the nodes, without Kubernetes.

use std::sync::Arc;

use super::error::StepError;
use super::world::World;
use crate::cluster::{self, Cluster, Creation};
use crate::sys::stop::Stop;

/// Makes the nodes; does nothing when they are there.
///
/// # Errors
/// [`StepError::Create`]; what was made stays, for `delete`.
pub async fn create(world: &mut World, stop: &Stop) -> Result<Arc<Cluster>, StepError> {
    if let Some(cluster) = &world.cluster {
        return Ok(cluster.clone());
    }
    let creation = Creation {
        topology: &world.topology,
        images: &world.images,
        overrides: &world.overrides,
        run: &world.run,
        lifetime: world.lifetime,
        kubeconfig: world.kubeconfig.as_deref(),
        limits: &world.limits,
        runtime: &world.runtime,
        events: &world.events,
        stop,
    };
    let cluster = Arc::new(cluster::create(&creation).await?);
    // Where no label told it, a node did; it is still known when the cluster is gone.
    if !cluster.is_etcd_alone() {
        world.images.kubernetes.get_or_insert_with(|| cluster.kubernetes.clone());
    }
    world.cluster = Some(cluster.clone());
    Ok(cluster)
}
