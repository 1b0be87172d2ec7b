//! `copy-certs`: the certificate authorities of the first control plane, from node to node.

use std::sync::Arc;

use super::error::ActionError;
use super::ground::Ground;
use crate::node::{Node, path};

/// Each with its mode.
const SHARED: &[(&str, u32)] = &[
    ("ca.crt", 0o644),
    ("ca.key", 0o600),
    ("front-proxy-ca.crt", 0o644),
    ("front-proxy-ca.key", 0o600),
    ("sa.pub", 0o644),
    ("sa.key", 0o600),
];
/// Only where etcd runs on the control planes.
const OF_ETCD: &[(&str, u32)] = &[("etcd/ca.crt", 0o644), ("etcd/ca.key", 0o600)];

/// To all control planes but the first.
pub(super) async fn to_others(ground: &Ground) -> Result<(), ActionError> {
    let first = ground.cluster.first().index;
    let others: Vec<Arc<Node>> = ground.cluster.control_planes().filter(|node| node.index != first).cloned().collect();
    if others.is_empty() {
        ground.note("there is one control plane: nothing is to be copied");
    }
    copy(ground, &others).await
}

/// The authority's certificate and key alone, to a worker.
pub(super) async fn pair(ground: &Ground, node: &Arc<Node>) -> Result<(), ActionError> {
    files(ground, std::slice::from_ref(node), &SHARED[..2]).await
}

/// To these.
pub(super) async fn copy(ground: &Ground, nodes: &[Arc<Node>]) -> Result<(), ActionError> {
    let of_etcd = if ground.cluster.external_etcd.is_none() { OF_ETCD } else { &[] };
    files(ground, nodes, &[SHARED, of_etcd].concat()).await
}

async fn files(ground: &Ground, nodes: &[Arc<Node>], files: &[(&str, u32)]) -> Result<(), ActionError> {
    let first = ground.cluster.first();
    for (file, mode) in files {
        let at = format!("{}/{file}", path::PKI);
        match first.read_if_there(&at).await? {
            Some(bytes) => {
                for node in nodes {
                    node.write(&at, *mode, &bytes).await?;
                }
            }
            // an authority whose key is elsewhere
            None if file.ends_with("ca.key") => ground.warn(format!("{at} is not on {}, and not copied", first.name)),
            None if ground.options.dry_run => ground.note(format!("copy {at} from {}, once it is there", first.name)),
            None => return Err(ActionError::Not(format!("{at} is not on {}: kubeadm init has not run there", first.name))),
        }
    }
    if !nodes.is_empty() && !ground.options.dry_run {
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        ground.note(format!("certificate authorities of {} are on {}", first.name, names.join(", ")));
    }
    Ok(())
}
