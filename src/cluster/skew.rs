//! kubeadm and the kubelet of another version for one node, out of the node image that has them. What runs as pods stays the cluster's:
//! kubeadm has one version for it.

use tempfile::TempDir;

use super::create::CreateError;
use crate::node::{NodeError, NodePlan, get_beside, path};
use crate::runtime::label::{self, Labels};
use crate::runtime::{ContainerSpec, Runtime};
use crate::sys::random;

/// Takes the programs out of an image and into the plan of a node; they are there for as long as what is returned.
pub(super) async fn take(
    image: &str,
    version: &str,
    labels: &Labels,
    plan: &mut NodePlan,
    runtime: &dyn Runtime,
) -> Result<TempDir, CreateError> {
    let node = plan.name.clone();
    let dir = tempfile::tempdir().map_err(|source| NodeError::Files { node, source })?;
    // never started; its label takes it away with the others where we do not get to it
    let name = format!("joinder-programs-{}", random::word(8)?);
    let labels = label::with_role(labels.clone(), "programs");
    runtime.create(&ContainerSpec { name: name.clone(), image: image.to_owned(), labels, ..ContainerSpec::default() }).await?;
    let taken = async {
        for from in [path::KUBEADM, path::KUBELET] {
            get_beside(runtime, &name, from, dir.path()).await?;
        }
        Ok::<_, NodeError>(())
    };
    let taken = taken.await;
    runtime.remove(&name).await?;
    taken?;
    // the user's own go before
    plan.overrides.kubeadm.get_or_insert_with(|| dir.path().join("kubeadm"));
    plan.overrides.kubelet.get_or_insert_with(|| dir.path().join("kubelet"));
    plan.files.push((path::VERSION.to_owned(), 0o644, format!("{version}\n").into_bytes()));
    Ok(dir)
}
