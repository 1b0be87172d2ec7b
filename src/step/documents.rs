//! kubeadm's configuration for a node, without running it.

use std::sync::Arc;

use super::error::StepError;
use super::join::Joiner;
use super::world::{Commands, World};
use crate::cluster::Cluster;
use crate::kubeadm::policy::Policy;
use crate::kubeadm::{KubeadmError, config};
use crate::node::Node;
use crate::sys::stop::Stop;

/// Of `kubeadm init`, as if the node were the first.
///
/// # Errors
/// [`StepError::Kubeadm`] when the cluster's version is none.
pub fn init_documents(world: &World, cluster: &Cluster, node: &Node, stop: &Stop) -> Result<String, StepError> {
    let commands = Commands::of(cluster, &world.wishes, &world.events, stop)?;
    let made = config::init(&commands.shared, commands.policy(node), &node.name, node.address);
    Ok(made.map_err(|why| KubeadmError::Config { node: node.name.clone(), why })?)
}

/// Of `kubeadm init` on the first control plane and of `kubeadm join` on the others, to which the files go that it names.
///
/// # Errors
/// As [`init_documents`], or when a node cannot be spoken to.
pub async fn documents(world: &World, cluster: &Arc<Cluster>, node: &Node, stop: &Stop) -> Result<String, StepError> {
    if node.index == cluster.first().index {
        return init_documents(world, cluster, node, stop);
    }
    let commands = Commands::of(cluster, &world.wishes, &world.events, stop)?;
    Joiner::prepare(cluster.clone(), commands, world.topology.discovery).await?.prepare_node(node).await
}

/// Of `kubeadm upgrade` to a version, from the release on in which there is such a document.
///
/// # Errors
/// As [`init_documents`].
pub fn upgrade_documents(world: &World, cluster: &Cluster, node: &Node, version: &str, stop: &Stop) -> Result<Option<String>, StepError> {
    let commands = Commands::of(cluster, &world.wishes, &world.events, stop)?;
    let why = |why| KubeadmError::Config { node: node.name.clone(), why };
    let policy = Policy::of(version).map_err(why)?;
    if !policy.args_are_a_list() {
        return Ok(None);
    }
    Ok(Some(config::upgrade(&commands.shared, &policy, version).map_err(why)?))
}

/// Runs `kubeadm COMMAND` on a node, with this configuration where there is one.
///
/// # Errors
/// [`StepError::Kubeadm`] with kubeadm's own error line.
pub async fn kubeadm(
    world: &World,
    cluster: &Cluster,
    node: &Node,
    command: &str,
    (documents, args): (Option<&str>, &[&str]),
    stop: &Stop,
) -> Result<(), StepError> {
    let commands = Commands::of(cluster, &world.wishes, &world.events, stop)?;
    match documents {
        Some(documents) => commands.kubeadm().run(node, command, documents, args).await?,
        None => commands.kubeadm().plain(node, command, args).await?,
    }
    Ok(())
}
