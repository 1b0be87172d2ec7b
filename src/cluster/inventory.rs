//! What clusters there are, by labels alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::create::{Absent, Cluster, CreateError, Secrets, etcd_tag};
use super::load_balancer::LoadBalancer;
use super::remove::{Gone, remove};
use super::topology::{Settings, Topology};
use crate::node::{Node, NodeError, Role, path};
use crate::runtime::{Container, Runtime, RuntimeError, label};
use crate::sys::owner::Owner;

/// The role label of a load balancer; kind's and kinder's word.
pub(super) const LOAD_BALANCER: &str = "external-load-balancer";

/// The role label of an etcd outside of the control planes; kinder's word.
pub(super) const EXTERNAL_ETCD: &str = "external-etcd";

/// A cluster that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// The run that made it.
    pub run: String,
    /// The process that it ends with, when it does.
    pub owner: Option<String>,
    /// Its node containers by index, control planes first.
    pub nodes: Vec<Container>,
    /// Its load balancer.
    pub load_balancer: Option<Container>,
    /// Its etcd outside of the control planes.
    pub external_etcd: Option<Container>,
}

impl Found {
    fn describe(&self) -> String {
        describe(&self.run, self.owner.as_deref())
    }
}

fn describe(run: &str, owner: Option<&str>) -> String {
    match owner.and_then(|o| o.parse::<Owner>().ok()) {
        Some(owner) if owner.is_alive() => format!("run {run} of a joinder that still runs ({owner})"),
        Some(_) => format!("left behind by run {run}, whose process is gone (`joinder gc` removes it)"),
        None => format!("made by run {run}"),
    }
}

/// Why a cluster cannot be used.
#[derive(Debug, Error)]
pub enum InventoryError {
    /// There is none of that name.
    #[error("no cluster {name:?}{}", if others.is_empty() { "; there is none at all".to_owned() } else { format!("; there are: {}", others.join(", ")) })]
    NoSuch {
        /// The name.
        name: String,
        /// The ones there are.
        others: Vec<String>,
    },
    /// It has no node that runs.
    #[error("cluster {name:?} has no running control plane or etcd node: {states}")]
    Down {
        /// The name.
        name: String,
        /// Its nodes' states.
        states: String,
    },
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] RuntimeError),
    /// A node did not answer.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// All clusters, by name.
///
/// # Errors
/// The engine's.
pub async fn clusters(runtime: &dyn Runtime) -> Result<Vec<Found>, RuntimeError> {
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for container in runtime.containers(&[label::CLUSTER.to_owned()]).await? {
        let labels = &container.labels;
        let text = |key: &str| labels.get(key).cloned().unwrap_or_default();
        let name = text(label::CLUSTER);
        let entry = found.entry(name.clone()).or_insert_with(|| Found {
            name,
            run: text(label::RUN),
            owner: labels.get(label::OWNER).cloned(),
            nodes: Vec::new(),
            load_balancer: None,
            external_etcd: None,
        });
        match text(label::ROLE).as_str() {
            role if Role::of(role).is_some() => entry.nodes.push(container),
            LOAD_BALANCER => entry.load_balancer = Some(container),
            EXTERNAL_ETCD => entry.external_etcd = Some(container),
            _ => {}
        }
    }
    for entry in found.values_mut() {
        entry.nodes.sort_by_key(index);
    }
    Ok(found.into_values().collect())
}

/// One cluster by name.
///
/// # Errors
/// [`InventoryError::NoSuch`] with the names there are.
pub async fn find(runtime: &dyn Runtime, name: &str) -> Result<Found, InventoryError> {
    let all = clusters(runtime).await?;
    let others = all.iter().map(|c| c.name.clone()).collect();
    all.into_iter().find(|c| c.name == name).ok_or_else(|| InventoryError::NoSuch { name: name.to_owned(), others })
}

/// Connects to the running nodes of a cluster that is there; the others are named in [`Cluster::absent`].
///
/// # Errors
/// [`InventoryError`].
pub async fn attach(runtime: &Arc<dyn Runtime>, name: &str, limit: Duration) -> Result<Cluster, InventoryError> {
    let found = find(runtime.as_ref(), name).await?;
    let (mut nodes, mut absent) = (Vec::new(), Vec::new());
    let mut host_port = 0;
    for container in &found.nodes {
        let role = role_of(container);
        let mut leave_out = |state: &str| {
            absent.push(Absent { name: container.name.clone(), role, index: index(container), state: state.to_owned() });
        };
        if container.state != "running" {
            leave_out(&container.state);
            continue;
        }
        let whole = runtime.container(&container.name).await?;
        let Some(address) = whole.address else {
            leave_out("without an address");
            continue;
        };
        if nodes.is_empty() {
            host_port = whole.ports.get(&path::API_PORT).copied().unwrap_or(0);
        }
        nodes.push(Arc::new(Node::attach(whole.name.clone(), role, index(&whole), address, runtime, limit).await?));
    }
    if nodes.first().is_none_or(|n| !n.role.has_member()) {
        let states: Vec<String> = found.nodes.iter().map(|n| format!("{} {}", n.name, n.state)).collect();
        return Err(InventoryError::Down { name: name.to_owned(), states: states.join(", ") });
    }
    let mut endpoint = format!("{}:{}", nodes[0].address, path::API_PORT);
    let mut load_balancer = None;
    if let Some(container) = &found.load_balancer {
        let whole = runtime.container(&container.name).await?;
        host_port = whole.ports.get(&path::API_PORT).copied().unwrap_or(host_port);
        if let Some(address) = whole.address {
            endpoint = format!("{address}:{}", path::API_PORT);
        }
        load_balancer = Some(Arc::new(LoadBalancer::existing(whole.name, runtime.clone())));
    }
    let kubernetes = match nodes[0].role {
        Role::Etcd => String::new(),
        Role::ControlPlane | Role::Worker => {
            String::from_utf8_lossy(&nodes[0].read(path::VERSION).await.unwrap_or_default()).trim().to_owned()
        }
    };
    // The secrets of a cluster are kept nowhere: whoever joins a node later makes new ones with kubeadm.
    let secrets = Secrets { token: String::new(), certificate_key: String::new() };
    let image = runtime.image(&found.nodes[0].image).await?;
    let etcd_tag = image.and_then(|image| image.labels.get(label::ETCD).map(|version| etcd_tag(version)));
    let mut external_etcd = None;
    if let Some(container) = &found.external_etcd {
        let address = runtime.container(&container.name).await?.address;
        external_etcd = address.map(|address| format!("http://{address}:{}", path::CLIENT_PORT));
    }
    Ok(Cluster {
        name: found.name,
        nodes,
        endpoint,
        host_port,
        kubernetes,
        skew: BTreeMap::new(),
        etcd_tag,
        kubeadm: Settings::default(),
        secrets,
        starts: Arc::default(),
        absent,
        load_balancer,
        external_etcd,
    })
}

/// Refuses names that are taken: the cluster's by a cluster or a network (Docker before 25 makes a second network of the same
/// name, and then takes neither), or a node's by a container of anybody's.
///
/// # Errors
/// [`CreateError::NameTaken`], [`CreateError::NetworkTaken`] or [`CreateError::ContainerTaken`] with whose it is.
pub async fn refuse_taken(topology: &Topology, runtime: &dyn Runtime) -> Result<(), CreateError> {
    let name = topology.name.as_str();
    if let Some(found) = clusters(runtime).await?.into_iter().find(|c| c.name == name) {
        return Err(CreateError::NameTaken { name: name.to_owned(), owner: found.describe() });
    }
    if let Some(network) = runtime.networks(&[]).await?.into_iter().find(|n| n.name == name) {
        let text = |key: &str| network.labels.get(key).map(String::as_str);
        let owner = text(label::RUN).map_or_else(|| "not made by joinder".to_owned(), |run| describe(run, text(label::OWNER)));
        return Err(CreateError::NetworkTaken { name: name.to_owned(), owner });
    }
    let balancer = topology.load_balancer_name();
    let etcd = topology.extras.external_etcd.as_ref().map(|_| topology.external_etcd_name());
    let ours = |name: &str| {
        etcd.as_deref() == Some(name) || topology.nodes.iter().any(|n| n.name == name) || (topology.load_balancer && balancer == name)
    };
    if let Some(container) = runtime.containers(&[]).await?.into_iter().find(|c| ours(&c.name)) {
        return Err(CreateError::ContainerTaken { name: container.name, image: container.image });
    }
    Ok(())
}

/// Removes what belongs to processes that are gone. Objects without an owner are meant to stay.
///
/// # Errors
/// When the engine cannot be asked what there is.
pub async fn collect_garbage(runtime: &dyn Runtime, limit: Duration, hard: &CancellationToken) -> Result<Gone, RuntimeError> {
    let key = [label::OWNER.to_owned()];
    let mut runs: BTreeMap<String, String> = BTreeMap::new();
    let mut note = |labels: &label::Labels| {
        if let (Some(run), Some(owner)) = (labels.get(label::RUN), labels.get(label::OWNER)) {
            runs.insert(run.clone(), owner.clone());
        }
    };
    runtime.containers(&key).await?.iter().for_each(|c| note(&c.labels));
    runtime.volumes(&key).await?.iter().for_each(|v| note(&v.labels));
    runtime.networks(&key).await?.iter().for_each(|n| note(&n.labels));
    let mut all = Gone::default();
    for (run, owner) in runs {
        if owner.parse::<Owner>().is_ok_and(|o| o.is_alive()) {
            continue;
        }
        let gone = remove(runtime, &[format!("{}={run}", label::RUN)], limit, hard).await;
        all.removed.extend(gone.removed);
        all.left.extend(gone.left);
    }
    Ok(all)
}

/// Connects to a node container that runs; `None` when it has no address (any more).
pub(super) async fn node_of(runtime: &Arc<dyn Runtime>, container: &Container, limit: Duration) -> Result<Option<Node>, InventoryError> {
    let role = role_of(container);
    let whole = runtime.container(&container.name).await?;
    let Some(address) = whole.address else { return Ok(None) };
    Ok(Some(Node::attach(whole.name.clone(), role, index(&whole), address, runtime, limit).await?))
}

/// What its label says; a control plane's where there is none.
pub(super) fn role_of(container: &Container) -> Role {
    container.labels.get(label::ROLE).and_then(|role| Role::of(role)).unwrap_or(Role::ControlPlane)
}

fn index(container: &Container) -> u8 {
    container.labels.get(label::INDEX).and_then(|i| i.parse().ok()).unwrap_or(u8::MAX)
}
