//! `kubeadm-config`: kubeadm's configuration, written and not used.

use super::error::ActionError;
use super::ground::Ground;
use crate::node::path;
use crate::step;

/// Of init on the first control plane, of join on the others.
pub(super) async fn config(ground: &Ground) -> Result<(), ActionError> {
    for node in ground.meant()? {
        let documents = step::documents(&ground.world, &ground.cluster, &node, &ground.stop).await?;
        node.write(path::KUBEADM_CONFIG, 0o600, documents.as_bytes()).await?;
        if !ground.options.dry_run {
            ground.note(format!("{} is written on {}", path::KUBEADM_CONFIG, node.name));
        }
    }
    Ok(())
}
