//! One node's `kubeadm join`, from its files to its place behind the load balancer.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::error::StepError;
use super::super::world::Commands;
use crate::cluster::Cluster;
use crate::event::{Event, Work};
use crate::kubeadm::KubeadmError;
use crate::kubeadm::config::{self, Discover};
use crate::kubeadm::policy::Stages;
use crate::node::{Node, Role, path};
use crate::spec::Discovery;
use crate::sys::clock::Stamp;

/// What the joins of one step share.
pub(super) struct Joiner {
    cluster: Arc<Cluster>,
    commands: Commands,
    discover: Discover,
    discovery_file: String,
    ca_hash: String,
}

impl Joiner {
    /// Reads the CA from the first control plane.
    pub(super) async fn prepare(cluster: Arc<Cluster>, commands: Commands, discovery: Discovery) -> Result<Self, StepError> {
        let ca = cluster.first().read(path::CA).await?;
        let discovery_file = config::discovery_file(&STANDARD.encode(&ca), &cluster.endpoint);
        let (discover, ca_hash) = match discovery {
            Discovery::File => (Discover::File, String::new()),
            Discovery::Token => {
                let why = |why: String| KubeadmError::Config { node: cluster.first().name.clone(), why };
                (Discover::Token, config::ca_hash(&ca).map_err(|e| why(format!("{}: {e}", path::CA)))?)
            }
        };
        Ok(Self { cluster, commands, discover, discovery_file, ca_hash })
    }

    /// Is ordinary work to end?
    pub(super) fn stopped(&self) -> bool {
        self.commands.stop.soft.is_cancelled()
    }

    /// Waits until ordinary work is to end.
    pub(super) async fn until_stopped(&self) {
        self.commands.stop.soft.cancelled().await;
    }

    /// Joins one node.
    pub(super) async fn join(&self, node: &Node) -> Result<(), StepError> {
        let began = Stamp::now();
        let document = self.prepare_node(node).await?;
        self.commands.kubeadm().run(node, "join", &document, &[]).await?;
        self.joined(node, began).await
    }

    /// How this kubeadm joins in stages.
    pub(super) fn stages(&self) -> Result<Stages, StepError> {
        self.commands.policy.stages().map_err(|why| StepError::CannotJoin { order: "staged", why })
    }

    /// One run of kubeadm on a node that was prepared.
    pub(super) async fn kubeadm(&self, node: &Node, command: &str, document: &str, args: &[&str]) -> Result<(), StepError> {
        Ok(self.commands.kubeadm().run(node, command, document, args).await?)
    }

    /// Writes what the node needs to find the cluster; returns kubeadm's document.
    pub(super) async fn prepare_node(&self, node: &Node) -> Result<String, StepError> {
        let commands = &self.commands;
        let control_plane = node.role == Role::ControlPlane;
        let document =
            config::join(&commands.shared, &commands.policy, &node.name, node.address, control_plane, self.discover, &self.ca_hash)
                .map_err(|why| KubeadmError::Config { node: node.name.clone(), why })?;
        node.write(path::DISCOVERY, 0o600, self.discovery_file.as_bytes()).await?;
        Ok(document)
    }

    /// Tells of a join, and lets a control plane serve.
    pub(super) async fn joined(&self, node: &Node, began: Stamp) -> Result<(), StepError> {
        let commands = &self.commands;
        commands.events.tell(Event::Worked { work: Work::Join, on: node.name.clone(), began, took: Stamp::now().since(began) });
        if node.role == Role::ControlPlane {
            self.cluster.admit(node, &commands.patience()).await?;
        }
        Ok(())
    }
}
