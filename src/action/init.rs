//! `kubeadm-init`: the first control plane.

use std::time::Duration;

use super::error::ActionError;
use super::ground::Ground;
use super::settle;
use crate::node::path;
use crate::step;

const LIMIT: Duration = Duration::from_secs(30);

/// A cluster without a worker runs pods on control planes.
const UNTAINT: &str = r#"kubectl --kubeconfig "$1" get node "$2" -o 'jsonpath={.spec.taints[*].key}' | grep -q "$3" || exit 0
kubectl --kubeconfig "$1" taint nodes "$2" "$3-" 2>&1"#;
const TAINT: &str = "node-role.kubernetes.io/control-plane";

/// `kubeadm init`, the kubeconfig on the host, and the wait for what it has set going.
pub(super) async fn init(ground: &mut Ground) -> Result<(), ActionError> {
    let first = ground.cluster.first().clone();
    ground.patches(std::slice::from_ref(&first)).await?;
    let stop = ground.stop.clone();
    step::init(&mut ground.world, &stop).await?;
    if ground.workers().next().is_none() {
        ground.script(&first, UNTAINT, &[path::ADMIN_CONF, &first.name, TAINT], LIMIT).await?;
    }
    if let Some(file) = &ground.world.kubeconfig {
        ground.note(format!("the kubeconfig is {}", file.display()));
    }
    settle::settled(ground, &first).await
}
