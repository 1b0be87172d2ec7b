//! Making the nodes of a cluster: network first, then everything at once.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::alone::{self, Start};
use super::load_balancer::LoadBalancer;
use super::network;
use super::skew;
use super::topology::{Images, NodePlace, Settings, Topology};
use crate::event::{Bus, Event, Work};
use crate::node::{BootLimits, Node, NodeError, NodePlan, Overrides, Role, path};
use crate::pki::{Authority, PkiError};
use crate::runtime::api::Subnet;
use crate::runtime::label::{self, Labels, Lifetime};
use crate::runtime::{ContainerSpec, Fault, Runtime, RuntimeError};
use crate::sys::clock::Stamp;
use crate::sys::random;
use crate::sys::stop::Stop;

/// A port that was free a moment ago can be taken when the container starts; then another one is tried.
const PORT_TRIES: usize = 5;

/// How long making a cluster may take.
#[derive(Clone, Debug)]
pub struct CreateLimits {
    /// From a node's start to its containerd.
    pub boot: Duration,
}

impl Default for CreateLimits {
    fn default() -> Self {
        Self { boot: Duration::from_mins(2) }
    }
}

/// Why a cluster is not there. What was made is still there: [`super::remove`] takes it away by its run label.
#[derive(Debug, Error)]
pub enum CreateError {
    /// The name is taken.
    #[error("cluster {name:?} is there already, {owner}: choose another --name, or `joinder delete cluster --name {name}`")]
    NameTaken {
        /// The name.
        name: String,
        /// Whose it is.
        owner: String,
    },
    /// A container that is none of ours has a node's name.
    #[error("container {name} is there already, made from {image} and not by joinder: choose another --name, or remove it")]
    ContainerTaken {
        /// The container.
        name: String,
        /// Its image.
        image: String,
    },
    /// A network has the name that the cluster's own would get.
    #[error("a network {name:?} is there already, {owner}: choose another --name")]
    NetworkTaken {
        /// The name.
        name: String,
        /// Whose it is.
        owner: String,
    },
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] RuntimeError),
    /// A node did not come up.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// Certificates could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// Ids and secrets could not be made.
    #[error("cannot read random bytes: {0}")]
    Random(#[from] std::io::Error),
    /// It was stopped.
    #[error("making the cluster was stopped")]
    Stopped,
}

/// Secrets of a cluster, made anew for each.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// Bootstrap token.
    pub token: String,
    /// Key of the uploaded certificates.
    pub certificate_key: String,
}

/// A cluster whose nodes run.
#[derive(Clone)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its nodes in the order of their indexes; the first one is a control plane.
    pub nodes: Vec<Arc<Node>>,
    /// `IP:PORT` that leads to an API server: the load balancer's, or the first control plane's.
    pub endpoint: String,
    /// The same on 127.0.0.1 of the host.
    pub host_port: u16,
    /// Kubernetes in the nodes.
    pub kubernetes: String,
    /// Tag of etcd's image, when it is not kubeadm's own choice.
    pub etcd_tag: Option<String>,
    /// kubeadm on nodes where it is not of that version.
    pub skew: BTreeMap<String, String>,
    /// What kubeadm is told.
    pub kubeadm: Settings,
    /// Its secrets.
    pub secrets: Secrets,
    /// How its nodes' etcd was last told to start, where etcd is alone.
    pub starts: Arc<Mutex<BTreeMap<String, Start>>>,
    /// Its nodes that did not run when it was attached to.
    pub absent: Vec<Absent>,
    pub(super) load_balancer: Option<Arc<LoadBalancer>>,
    /// URL of an etcd outside of its control planes.
    pub external_etcd: Option<String>,
}

/// A node that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Its index in the cluster.
    pub index: u8,
    /// What the engine calls its container's state.
    pub state: String,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not run: it is {}", self.name, self.state)
    }
}

impl Cluster {
    /// The first control plane, or the first node of an etcd alone.
    ///
    /// # Panics
    /// Never: a cluster without a node is not made.
    pub fn first(&self) -> &Arc<Node> {
        &self.nodes[0]
    }

    /// The version of kubeadm on a node.
    pub fn kubeadm_on(&self, node: &str) -> &str {
        self.skew.get(node).unwrap_or(&self.kubernetes)
    }

    /// Is it etcd alone, without Kubernetes?
    pub fn is_etcd_alone(&self) -> bool {
        self.first().role == Role::Etcd
    }

    /// The nodes on which there can be an etcd member, in the order of their indexes.
    pub fn with_member(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().filter(|node| node.role.has_member())
    }

    /// The nodes whose containers run; and those with a member that do not, each with its state.
    pub async fn running(&self) -> (Vec<Arc<Node>>, Vec<(String, String)>) {
        let mut running = Vec::new();
        let mut absent: Vec<(String, String)> = self.absent.iter().map(|node| (node.name.clone(), node.state.clone())).collect();
        for node in &self.nodes {
            match node.trouble().await {
                Ok(Some(state)) if node.role.has_member() => absent.push((node.name.clone(), state)),
                Ok(_) | Err(_) => running.push(node.clone()),
            }
        }
        (running, absent)
    }

    /// The control planes in the order of their indexes.
    pub fn control_planes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter().filter(|node| node.role == Role::ControlPlane)
    }
}

/// A cluster that is to be made.
pub struct Creation<'a> {
    /// What was decided.
    pub topology: &'a Topology,
    /// From which images.
    pub images: &'a Images,
    /// With which binaries of the user's own.
    pub overrides: &'a Overrides,
    /// The run that all of it is labelled with.
    pub run: &'a str,
    /// Does it end with this process?
    pub lifetime: Lifetime,
    /// The file that its kubeconfig will be kept in and that is to go with it.
    pub kubeconfig: Option<&'a Path>,
    /// How long it may take.
    pub limits: &'a CreateLimits,
    /// Where.
    pub runtime: &'a Arc<dyn Runtime>,
    /// Hears of it.
    pub events: &'a Bus,
    /// Its soft level ends the making early.
    pub stop: &'a Stop,
}

impl Creation<'_> {
    /// What all that is made carries.
    pub(super) fn labels(&self) -> Labels {
        let mut labels = label::common(self.run, &self.topology.name, self.lifetime);
        if let Some(file) = self.kubeconfig.and_then(|file| std::path::absolute(file).ok()) {
            labels.insert(label::KUBECONFIG.into(), file.display().to_string());
        }
        labels
    }
}

/// Makes network, nodes and load balancer, everything at once after the network.
///
/// # Errors
/// The first error; the others' work is awaited, so that nothing is made behind the caller's back.
pub async fn create(creation: &Creation<'_>) -> Result<Cluster, CreateError> {
    let Creation { topology, images, runtime, events, .. } = *creation;
    let began = Stamp::now();
    super::inventory::refuse_taken(topology, runtime.as_ref()).await?;
    let labels = creation.labels();
    let secrets = Secrets { token: format!("{}.{}", random::word(6)?, random::word(16)?), certificate_key: random::hex(32)? };
    let subnet = network::create(runtime.as_ref(), &topology.name, topology.subnet, label::with_role(labels.clone(), "network")).await?;
    let authority = topology.etcd.as_ref().map(|_| alone::authority(&topology.name)).transpose()?;
    let maker = Maker { creation, labels: &labels, subnet, authority: authority.as_ref() };

    let ports = free_ports(topology.nodes.len() + 1).await?;
    let mut making = JoinSet::new();
    for (place, port) in topology.nodes.iter().zip(&ports) {
        making.spawn(maker.node(place, *port)?);
    }
    let balancer = async {
        match (&images.load_balancer, topology.load_balancer) {
            (Some(image), true) => maker.load_balancer(image, ports[topology.nodes.len()]).await.map(Some),
            (Some(_) | None, _) => Ok(None),
        }
    };
    let etcd = async {
        match &topology.extras.external_etcd {
            Some(image) => maker.external_etcd(image).await.map(Some),
            None => Ok(None),
        }
    };
    let (balancer, etcd, made) = tokio::join!(balancer, etcd, making.join_all());
    let mut nodes = made.into_iter().collect::<Result<Vec<_>, _>>()?;
    let balancer = balancer?;
    let external_etcd = etcd?;
    nodes.sort_by_key(|(node, _)| node.index);
    let first = nodes.first().map(|(node, port)| (node.address, *port)).ok_or(CreateError::Stopped)?;
    let (address, host_port) = balancer.as_ref().map_or(first, |(_, port)| (Topology::load_balancer_address(subnet), *port));
    let nodes: Vec<Arc<Node>> = nodes.into_iter().map(|(node, _)| Arc::new(node)).collect();
    let kubernetes = match &images.kubernetes {
        Some(version) => version.clone(),
        None if topology.etcd.is_some() => String::new(),
        None => String::from_utf8_lossy(&nodes[0].read(path::VERSION).await?).trim().to_owned(),
    };
    events.tell(Event::Worked { work: Work::CreateNodes, on: topology.name.clone(), began, took: Stamp::now().since(began) });
    Ok(Cluster {
        name: topology.name.clone(),
        nodes,
        endpoint: format!("{address}:{}", path::API_PORT),
        host_port,
        kubernetes,
        skew: of_their_own(&topology.nodes),
        etcd_tag: images.etcd.as_deref().map(etcd_tag),
        kubeadm: topology.kubeadm.clone(),
        secrets,
        starts: Arc::default(),
        absent: Vec::new(),
        load_balancer: balancer.map(|(balancer, _)| Arc::new(balancer)),
        external_etcd,
    })
}

/// Nodes with versions of their own.
pub(super) fn of_their_own(places: &[NodePlace]) -> BTreeMap<String, String> {
    places.iter().filter_map(|place| Some((place.name.clone(), place.version.clone()?))).collect()
}

/// The tag of etcd's image as kubeadm has it.
pub(super) fn etcd_tag(version: &str) -> String {
    format!("{version}-0")
}

/// A node and its port on the host.
type Made = Result<(Node, u16), CreateError>;

pub(super) struct Maker<'a> {
    pub(super) creation: &'a Creation<'a>,
    pub(super) labels: &'a Labels,
    pub(super) subnet: Subnet,
    /// Signs for members of an etcd alone.
    pub(super) authority: Option<&'a Authority>,
}

impl Maker<'_> {
    /// The work of making one node; owns all it needs, so that the nodes are made side by side.
    ///
    /// # Errors
    /// When no certificate can be signed for it.
    pub(super) fn node(&self, place: &NodePlace, mut port: u16) -> Result<impl Future<Output = Made> + Send + use<>, CreateError> {
        let Creation { topology, images, overrides, limits, runtime, events, stop, .. } = *self.creation;
        let mut labels = self.labels_of(place.role.as_str());
        labels.insert(label::INDEX.into(), place.index.to_string());
        let others = topology.nodes.iter().filter(|n| n.index != place.index).map(|n| (n.index, n.address(self.subnet)));
        let address = place.address(self.subnet);
        let mut plan = NodePlan {
            name: place.name.clone(),
            role: place.role,
            index: place.index,
            address,
            gateway: self.subnet.host(1),
            others: others.collect(),
            container: ContainerSpec {
                name: place.name.clone(),
                image: images.node.clone(),
                labels,
                env: vec!["container=docker".into()],
                binds: topology.extras.binds.clone(),
                network: Some((topology.name.clone(), address)),
                ..ContainerSpec::default()
            },
            overrides: overrides.clone(),
            files: self.authority.map(|authority| alone::files(authority, &place.name, address)).transpose()?.unwrap_or_default(),
        };
        let limits = BootLimits { containerd: limits.boot, stop: stop.soft.clone() };
        let other = place.version.as_ref().and_then(|version| Some((images.others.get(version)?.clone(), version.clone())));
        let labels = self.labels.clone();
        let (runtime, events, stop) = (runtime.clone(), events.clone(), stop.soft.clone());
        Ok(async move {
            let began = Stamp::now();
            let mut tries = 0;
            let _programs = match &other {
                Some((image, version)) => Some(skew::take(image, version, &labels, &mut plan, runtime.as_ref()).await?),
                None => None,
            };
            loop {
                if plan.role != Role::Etcd {
                    plan.container.ports = [(path::API_PORT, port)].into();
                }
                // A call in flight is never dropped: the engine would carry it out all the same.
                if stop.is_cancelled() {
                    return Err(CreateError::Stopped);
                }
                match Node::create(&plan, &runtime).await {
                    Ok(()) => break,
                    Err(NodeError::Engine(e)) if e.is(Fault::PortTaken) && tries < PORT_TRIES => {
                        tries += 1;
                        runtime.remove(&plan.name).await?;
                        port = free_ports(1).await?[0];
                    }
                    Err(e) => return Err(e.into()),
                }
            }
            let up = Stamp::now();
            events.tell(Event::Worked { work: Work::CreateNode, on: plan.name.clone(), began, took: up.since(began) });
            let node = Node::boot(&plan, &runtime, &limits).await?;
            events.tell(Event::Worked { work: Work::Boot, on: plan.name.clone(), began: up, took: Stamp::now().since(up) });
            events.tell(Event::NodeUp { node: plan.name, address });
            Ok((node, port))
        })
    }

    /// What a container carries.
    fn labels_of(&self, role: &str) -> Labels {
        let labels = label::with_role(self.labels.clone(), role);
        let Topology { name, extras, .. } = self.creation.topology;
        if extras.compat { label::with_kinds(labels, name, role) } else { labels }
    }

    /// One member without certificates, as kinder has it; returns its URL.
    async fn external_etcd(&self, image: &str) -> Result<String, CreateError> {
        let Creation { topology, runtime, .. } = *self.creation;
        let (name, address) = (topology.external_etcd_name(), Topology::external_etcd_address(self.subnet));
        let url = format!("http://{address}:{}", path::CLIENT_PORT);
        let flags = [
            format!("--name={name}"),
            format!("--data-dir={}", path::ETCD_DATA),
            format!("--advertise-client-urls={url}"),
            format!("--listen-client-urls=http://0.0.0.0:{}", path::CLIENT_PORT),
        ];
        let spec = ContainerSpec {
            name: name.clone(),
            image: image.to_owned(),
            entrypoint: vec![path::ETCD_PROGRAM.into()],
            cmd: flags.into(),
            labels: self.labels_of(super::inventory::EXTERNAL_ETCD),
            volumes: vec![path::ETCD_DATA.into()],
            network: Some((topology.name.clone(), address)),
            stop_signal: Some("SIGTERM".into()),
            ..ContainerSpec::default()
        };
        runtime.create(&spec).await?;
        runtime.start(&name).await?;
        Ok(url)
    }

    async fn load_balancer(&self, image: &str, mut port: u16) -> Result<(LoadBalancer, u16), CreateError> {
        let Creation { topology, runtime, .. } = *self.creation;
        let name = topology.load_balancer_name();
        let address: Ipv4Addr = Topology::load_balancer_address(self.subnet);
        let mut tries = 0;
        loop {
            let spec = ContainerSpec {
                name: name.clone(),
                image: image.to_owned(),
                labels: self.labels_of(super::inventory::LOAD_BALANCER),
                network: Some((topology.name.clone(), address)),
                ports: [(path::API_PORT, port)].into(),
                ..ContainerSpec::default()
            };
            match LoadBalancer::create(&spec, runtime).await {
                Ok(balancer) => return Ok((balancer, port)),
                Err(e) if e.is(Fault::PortTaken) && tries < PORT_TRIES => {
                    tries += 1;
                    runtime.remove(&name).await?;
                    port = free_ports(1).await?[0];
                }
                Err(e) => return Err(e.into()),
            }
        }
    }
}

/// So many ports that are free on 127.0.0.1 now. They are written into containers and stay the same over restarts. All are
/// held until the last one is found: one that was let go could be found again, and the second start would fail.
pub(super) async fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let mut held = Vec::new();
    for _ in 0..count {
        held.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?);
    }
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_port_is_given_twice() {
        let ports = free_ports(500).await.expect("there are more");
        assert_eq!(ports.iter().collect::<std::collections::BTreeSet<_>>().len(), 500);
    }
}
