//! `setup-external-ca`: all certificates are signed before kubeadm runs, and the authority's key is nowhere when it does.

use std::time::Duration;

use super::certs;
use super::error::ActionError;
use super::ground::Ground;
use crate::node::{Node, Role, path};
use crate::step;

const LIMIT: Duration = Duration::from_secs(30);
/// kubeadm takes the node that it runs on for a control plane (from 1.35 on always, before it by a feature gate) and writes that node's
/// own address into the kubelet's kubeconfig. On a worker nobody answers there.
const SERVER: &str = r#"name=$(kubectl --kubeconfig "$1" config view -o 'jsonpath={.clusters[0].name}')
kubectl --kubeconfig "$1" config set-cluster "$name" --server="$2" 2>&1"#;
const KUBELET: &str = "/etc/kubernetes/kubelet.conf";
/// Only the first control plane has one.
const SUPER_ADMIN: &str = "/etc/kubernetes/super-admin.conf";

/// Signs what each node needs with kubeadm's own phases, then takes `ca.key` away from all of them.
pub(super) async fn setup(ground: &Ground) -> Result<(), ActionError> {
    let first = ground.cluster.first().clone();
    for node in &ground.cluster.nodes {
        match node.role {
            Role::ControlPlane => {
                if node.index != first.index {
                    certs::copy(ground, std::slice::from_ref(node)).await?;
                }
                phase(ground, node, "certs all").await?;
                phase(ground, node, "kubeconfig all").await?;
                if node.index != first.index {
                    ground.script(node, r#"rm -f "$1""#, &[SUPER_ADMIN], LIMIT).await?;
                }
            }
            Role::Worker => {
                certs::pair(ground, node).await?;
                phase(ground, node, "kubeconfig kubelet").await?;
                ground.script(node, SERVER, &[KUBELET, &format!("https://{}", ground.cluster.endpoint)], LIMIT).await?;
            }
            Role::Etcd => {}
        }
    }
    let key = format!("{}/ca.key", path::PKI);
    for node in &ground.cluster.nodes {
        ground.script(node, r#"rm -f "$1""#, &[&key], LIMIT).await?;
    }
    ground.note(format!("all certificates are signed, and {key} is on no node"));
    Ok(())
}

async fn phase(ground: &Ground, node: &Node, phase: &str) -> Result<(), ActionError> {
    let documents = step::init_documents(&ground.world, &ground.cluster, node, &ground.stop)?;
    let command = format!("init phase {phase}");
    Ok(step::kubeadm(&ground.world, &ground.cluster, node, &command, (Some(&documents), &[]), &ground.stop).await?)
}
