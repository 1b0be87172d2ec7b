//! One node's `kubeadm join`, from its files to its place behind the load balancer.

use std::sync::Arc;

use bytes::Bytes;

use super::super::error::StepError;
use super::super::world::Commands;
use crate::cluster::Cluster;
use crate::event::{Event, Work};
use crate::kubeadm::KubeadmError;
use crate::kubeadm::discovery::{Discovery, Known};
use crate::kubeadm::policy::Stages;
use crate::kubeadm::wishes::Discover;
use crate::kubeadm::{config, phases};
use crate::node::{Node, NodeError, Role, path};
use crate::runtime::Fault;
use crate::spec;
use crate::sys::clock::Stamp;

/// Reads a file of the first control plane; one that is not there yet is empty where that may be.
async fn read(node: &Node, path: &str, may_be_missing: bool) -> Result<Bytes, NodeError> {
    match node.read(path).await {
        Err(NodeError::Engine(e)) if may_be_missing && e.is(Fault::NotFound) => Ok(Bytes::new()),
        read => read,
    }
}

/// What the joins of one step share.
pub(in super::super) struct Joiner {
    cluster: Arc<Cluster>,
    commands: Commands,
    discovery: Discovery,
}

impl Joiner {
    /// Reads the CA from the first control plane.
    pub(in super::super) async fn prepare(
        cluster: Arc<Cluster>,
        commands: Commands,
        discovery: spec::Discovery,
    ) -> Result<Self, StepError> {
        let first = cluster.first();
        let early = commands.shared.wishes.is_early;
        let ca = read(first, path::CA, early).await?;
        let discover = commands.shared.wishes.discovery.unwrap_or(match discovery {
            spec::Discovery::File => Discover::File,
            spec::Discovery::Token => Discover::Token,
        });
        let admin = if discover.wants_admin() { read(first, path::ADMIN_CONF, early).await? } else { Bytes::new() };
        let admin = String::from_utf8_lossy(&admin);
        let known = Known { endpoint: &cluster.endpoint, token: &commands.shared.token, ca: &ca, admin: &admin };
        let discovery = Discovery::of(discover, &known).map_err(|why| KubeadmError::Config { node: first.name.clone(), why })?;
        Ok(Self { cluster, commands, discovery })
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
        let (shared, policy) = (&self.commands.shared, self.commands.policy(node));
        let local = shared.external_etcd.is_none();
        for (command, args) in phases::join(shared.wishes.phases, node.role == Role::ControlPlane, policy, local) {
            self.kubeadm(node, command, &document, args).await?;
        }
        self.joined(node, began).await
    }

    /// How the kubeadm on a node joins in stages.
    pub(super) fn stages(&self, node: &Node) -> Result<Stages, StepError> {
        self.commands.policy(node).stages().map_err(|why| StepError::CannotJoin { order: "staged", why })
    }

    /// One run of kubeadm on a node that was prepared.
    pub(super) async fn kubeadm(&self, node: &Node, command: &str, document: &str, args: &[&str]) -> Result<(), StepError> {
        Ok(self.commands.kubeadm().run(node, command, document, args).await?)
    }

    /// Writes what the node needs to find the cluster; returns kubeadm's document.
    pub(in super::super) async fn prepare_node(&self, node: &Node) -> Result<String, StepError> {
        let commands = &self.commands;
        let control_plane = node.role == Role::ControlPlane;
        let document =
            config::join(&commands.shared, commands.policy(node), &node.name, node.address, control_plane, &self.discovery.document)
                .map_err(|why| KubeadmError::Config { node: node.name.clone(), why })?;
        for (path, bytes) in &self.discovery.files {
            node.write(path, 0o600, bytes).await?;
        }
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
