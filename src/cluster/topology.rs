//! From what was asked for to what is decided: names, roles, addresses. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use thiserror::Error;

use super::pick::means;
use crate::node::Role;
use crate::runtime::api::Subnet;
use crate::spec::{ClusterSpec, Discovery, NodeVersion};

/// The cluster's name when nobody says one.
pub const DEFAULT_NAME: &str = "joinder";
/// The longest host name (`sysconf(HOST_NAME_MAX)` is 64, a DNS label 63).
const LONGEST_NAME: usize = 63;
/// Last byte of the first node's address, less one. The ones below are the gateway's and the load balancer's.
const FIRST_HOST: u8 = 10;
/// Last byte of the address of an etcd outside.
const EXTERNAL_ETCD_HOST: u8 = 3;
/// How many learners etcd lets in at once (`membership.DefaultMaxLearners`).
const MAX_LEARNERS: usize = 1;
/// Last byte of the load balancer's address.
const LOAD_BALANCER_HOST: u8 = 2;

/// Images that were chosen for a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// The node image's name.
    pub node: String,
    /// Kubernetes in it, `v1.36.3`; read from a node when its labels do not say.
    pub kubernetes: Option<String>,
    /// etcd in it, `3.6.16`; kubeadm's own choice when nobody says.
    pub etcd: Option<String>,
    /// The load balancer's image.
    pub load_balancer: Option<String>,
    /// Node images by the versions that nodes of their own versions have.
    pub others: BTreeMap<String, String>,
    /// Images with the versions of etcd that members of an etcd alone are started with later.
    pub more_etcd: BTreeMap<String, String>,
}

/// What kinder's users may want of a cluster besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Labels of kind and kinder, so that their commands find its containers.
    pub compat: bool,
    /// The image of an etcd outside of the control planes, where there is to be one.
    pub external_etcd: Option<String>,
    /// Folders of the engine's machine that its nodes see.
    pub binds: Vec<String>,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The cluster's name.
    pub name: String,
    /// Nodes in the order of their indexes, control planes first.
    pub nodes: Vec<NodePlace>,
    /// Is there a load balancer?
    pub load_balancer: bool,
    /// A subnet of the user's own.
    pub subnet: Option<Subnet>,
    /// How joining nodes find the cluster.
    pub discovery: Discovery,
    /// etcd alone, without Kubernetes.
    pub etcd: Option<EtcdAlone>,
    /// What kinder's users may want.
    pub extras: Extras,
    /// What kubeadm is told.
    pub kubeadm: Settings,
    /// Things to warn about.
    pub warnings: Vec<String>,
}

/// What kubeadm is told beside names and addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How long it goes on asking etcd for each thing; its own two minutes when not said.
    pub etcd_api_call: Option<Duration>,
    /// How long it waits for the kubelet's certificate; its own five minutes when not said.
    pub tls_bootstrap: Option<Duration>,
    /// How long it looks for the cluster; its own five minutes when not said.
    pub discovery: Option<Duration>,
    /// Flags of its etcd members and their values.
    pub etcd_args: Vec<(String, String)>,
}

/// How the members of an etcd alone run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdAlone {
    /// How many it is founded with: the first nodes.
    pub members: u8,
    /// Flags and their values.
    pub args: Vec<(String, String)>,
    /// Environment.
    pub env: BTreeMap<String, String>,
}

impl EtcdAlone {
    fn of(spec: &ClusterSpec) -> Option<Self> {
        let args = args(spec);
        let env = spec.etcd.env.0.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
        spec.etcd.members.map(|members| Self { members, args, env })
    }
}

/// Gives nodes a version of their own.
fn versions(nodes: &mut [NodePlace], wanted: &NodeVersion) -> Result<(), String> {
    let text = wanted.kubernetes.trim_start_matches('v');
    if semver::Version::parse(text).is_err() {
        return Err(format!("{:?} is no version of Kubernetes: write all of it, as in v1.35.4", wanted.kubernetes));
    }
    let first = nodes.iter().map(|node| node.index).min();
    let mut meant = 0;
    for node in nodes {
        let is_first = Some(node.index) == first;
        let is_meant = |pick| means(pick, &node.name, node.role, is_first);
        if let Some(pick) = wanted.nodes.0.iter().find(|pick| is_meant(pick).is_none()) {
            return Err(format!("{pick} is known only when etcd runs: name the nodes"));
        }
        if !wanted.nodes.0.iter().any(|pick| is_meant(pick) == Some(true)) {
            continue;
        }
        meant += 1;
        match &node.version {
            _ if node.role == Role::Etcd => return Err(format!("{} is etcd alone: there is no Kubernetes on it", node.name)),
            _ if is_first => return Err(format!("{} has the cluster's own version: say that one as `kubernetes`", node.name)),
            Some(other) => return Err(format!("{} has two versions, v{text} and {other}", node.name)),
            None => node.version = Some(format!("v{text}")),
        }
    }
    if meant == 0 { Err(format!("{} means no node of this cluster", wanted.nodes)) } else { Ok(()) }
}

/// How many learners members with these flags and this environment let in at once: etcd's default where nobody says, from 3.4 on, which
/// has no flag for it, to 3.7.
fn max_learners(args: &[(String, String)], env: &BTreeMap<String, String>) -> usize {
    // 3.5's flag, which 3.6 reads as well
    let names = ["max-learners", "experimental-max-learners"];
    let flag = args.iter().rev().find(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value);
    let env = || names.iter().find_map(|name| env.get(&format!("ETCD_{}", name.to_uppercase().replace('-', "_"))));
    flag.or_else(env).and_then(|value| value.parse().ok()).unwrap_or(MAX_LEARNERS)
}

fn args(spec: &ClusterSpec) -> Vec<(String, String)> {
    spec.etcd.args.0.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect()
}

/// A node's place in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlace {
    /// Container and node name, kinder's: `NAME-control-plane-1`.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// From 1.
    pub index: u8,
    /// kubeadm and kubelet where they are not the cluster's, `v1.35.4`.
    pub version: Option<String>,
}

impl NodePlace {
    /// Its number among the nodes of its role, from 1.
    fn number(&self) -> u16 {
        self.name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Its address in a subnet.
    pub fn address(&self, subnet: Subnet) -> Ipv4Addr {
        subnet.host(FIRST_HOST + self.index)
    }
}

/// Why a cluster cannot be as asked.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TopologyError {
    /// No control plane.
    #[error("controlPlanes: 0 control planes make no cluster: ask for at least 1")]
    NoControlPlane,
    /// No founding member.
    #[error("etcd.members: 0 members make no etcd: ask for at least 1")]
    NoMember,
    /// Fewer nodes than members.
    #[error("etcd.nodes: {members} members need as many nodes, and there are {nodes}")]
    FewNodes {
        /// Founding members.
        members: u8,
        /// Nodes.
        nodes: u8,
    },
    /// Too many nodes.
    #[error("{asked} nodes do not fit into one cluster: at most {}", Topology::MOST_NODES)]
    TooMany {
        /// How many were asked for.
        asked: u16,
    },
    /// The name is no DNS label.
    #[error(
        "the cluster name {name:?} {why}: it becomes part of host names, so use lower-case letters, digits and '-', with a letter or digit at both ends"
    )]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The names made from it would be too long.
    #[error("the cluster name {name:?} has {} characters, at most {most} fit: node {node:?} would be longer than a host name may be ({LONGEST_NAME})", name.len())]
    LongName {
        /// The name.
        name: String,
        /// The longest that fits.
        most: usize,
        /// The node whose name is too long.
        node: String,
    },
    /// Versions of nodes cannot be as asked.
    #[error("versions: {why}")]
    Version {
        /// Which of them, from 0.
        at: usize,
        /// Why not.
        why: String,
    },
    /// The subnet is no /24.
    #[error("subnet: {text:?} is no /24 of private addresses such as 10.213.7.0/24")]
    BadSubnet {
        /// What was written.
        text: String,
    },
}

impl Topology {
    /// A /24 less what is below the first node's address and the broadcast address.
    pub const MOST_NODES: u16 = 240;

    /// How many learners etcd lets in at once.
    pub fn max_learners(&self) -> usize {
        match &self.etcd {
            Some(alone) => max_learners(&alone.args, &alone.env),
            None => max_learners(&self.kubeadm.etcd_args, &BTreeMap::new()),
        }
    }

    /// Decides names and places, or says all that is wrong.
    ///
    /// # Errors
    /// Every problem that was found.
    pub fn of(spec: &ClusterSpec, name: Option<&str>) -> Result<Self, Vec<TopologyError>> {
        let name = name.or(spec.name.as_deref()).unwrap_or(DEFAULT_NAME).to_owned();
        let etcd = EtcdAlone::of(spec);
        let control_planes = if etcd.is_some() { 0 } else { spec.control_planes.unwrap_or(1) };
        let members = etcd.as_ref().map_or(0, |etcd| spec.etcd.nodes.unwrap_or(etcd.members));
        let mut errors = Vec::new();
        match &etcd {
            None if control_planes == 0 => errors.push(TopologyError::NoControlPlane),
            Some(EtcdAlone { members: 0, .. }) => errors.push(TopologyError::NoMember),
            Some(etcd) if members < etcd.members => errors.push(TopologyError::FewNodes { members: etcd.members, nodes: members }),
            None | Some(_) => {}
        }
        let asked = u16::from(control_planes) + u16::from(spec.workers) + u16::from(members);
        if asked > Self::MOST_NODES {
            errors.push(TopologyError::TooMany { asked });
        }
        errors.extend(bad_name(&name));
        let subnet = spec.subnet.as_ref().and_then(|text| {
            let subnet = parse_subnet(text);
            if subnet.is_none() {
                errors.push(TopologyError::BadSubnet { text: text.clone() });
            }
            subnet
        });
        let places = |role: Role, count: u8, before: u8| {
            let name = name.clone();
            (1..=count).map(move |n| NodePlace {
                name: format!("{name}-{}-{n}", role.as_str()),
                role,
                index: before.saturating_add(n),
                version: None,
            })
        };
        let with_kubernetes = places(Role::ControlPlane, control_planes, 0).chain(places(Role::Worker, spec.workers, control_planes));
        let mut nodes: Vec<NodePlace> = with_kubernetes.chain(places(Role::Etcd, members, control_planes)).collect();
        for (at, wanted) in spec.versions.iter().enumerate() {
            errors.extend(versions(&mut nodes, wanted).err().map(|why| TopologyError::Version { at, why }));
        }
        if let Some(longest) = nodes.iter().max_by_key(|n| n.name.len()).filter(|n| n.name.len() > LONGEST_NAME) {
            let most = (LONGEST_NAME + name.len()).saturating_sub(longest.name.len());
            errors.push(TopologyError::LongName { name: name.clone(), most, node: longest.name.clone() });
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut warnings = Vec::new();
        if etcd.is_none() && control_planes.is_multiple_of(2) {
            warnings.push(format!(
                "{control_planes} control planes: etcd works on while {} of its voters are down, as it does with {}; an odd number is better",
                (control_planes - 1) / 2,
                control_planes - 1
            ));
        }
        let load_balancer = etcd.is_none() && spec.load_balancer.unwrap_or(control_planes > 1);
        let kubeadm = Settings {
            etcd_api_call: spec.timeouts.etcd_api_call.map(|limit| limit.0),
            tls_bootstrap: spec.timeouts.tls_bootstrap.map(|limit| limit.0),
            discovery: spec.timeouts.discovery.map(|limit| limit.0),
            etcd_args: args(spec),
        };
        Ok(Self { name, nodes, load_balancer, subnet, discovery: spec.discovery, etcd, kubeadm, extras: Extras::default(), warnings })
    }

    /// With so many nodes of each role: new ones count on behind those that are there, the highest numbers go. Returns the
    /// topology with the new ones and without any that go, then the new ones.
    ///
    /// # Errors
    /// No control plane, too many nodes, or names that get too long.
    pub fn resized(&self, control_planes: u8, workers: u8) -> Result<(Self, Vec<NodePlace>), TopologyError> {
        if control_planes == 0 {
            return Err(TopologyError::NoControlPlane);
        }
        let asked = u16::from(control_planes) + u16::from(workers);
        if asked > Self::MOST_NODES {
            return Err(TopologyError::TooMany { asked });
        }
        let (mut nodes, mut new) = (Vec::new(), Vec::new());
        for (role, count) in [(Role::ControlPlane, control_planes), (Role::Worker, workers)] {
            let mut stay: Vec<&NodePlace> = self.nodes.iter().filter(|n| n.role == role).collect();
            stay.sort_by_key(|n| n.number());
            stay.truncate(usize::from(count));
            let last = stay.last().map_or(0, |n| n.number());
            new.extend((1..).zip(stay.len()..usize::from(count)).map(|(more, _)| (role, last + more)));
            nodes.extend(stay.into_iter().cloned());
        }
        // An index decides an address: one behind all others was nobody's, as long as there are any.
        let highest = self.nodes.iter().map(|n| n.index).max().unwrap_or(0);
        let most = u8::try_from(Self::MOST_NODES).unwrap_or(u8::MAX);
        let taken: Vec<u8> = nodes.iter().map(|n| n.index).collect();
        let free = (highest.saturating_add(1)..=most).chain(1..=highest).filter(|index| !taken.contains(index));
        let place = |((role, number), index): ((Role, u16), u8)| NodePlace {
            name: format!("{}-{}-{number}", self.name, role.as_str()),
            role,
            index,
            version: None,
        };
        let new: Vec<NodePlace> = new.into_iter().zip(free).map(place).collect();
        if let Some(long) = new.iter().find(|n| n.name.len() > LONGEST_NAME) {
            let most = (LONGEST_NAME + self.name.len()).saturating_sub(long.name.len());
            return Err(TopologyError::LongName { name: self.name.clone(), most, node: long.name.clone() });
        }
        nodes.extend(new.iter().cloned());
        nodes.sort_by_key(|n| n.index);
        Ok((Self { nodes, ..self.clone() }, new))
    }

    /// The load balancer's container.
    pub fn load_balancer_name(&self) -> String {
        format!("{}-lb", self.name)
    }

    /// The container of an etcd outside of the control planes.
    pub fn external_etcd_name(&self) -> String {
        format!("{}-etcd", self.name)
    }

    /// Its address.
    pub fn external_etcd_address(subnet: Subnet) -> Ipv4Addr {
        subnet.host(EXTERNAL_ETCD_HOST)
    }

    /// The load balancer's address.
    pub fn load_balancer_address(subnet: Subnet) -> Ipv4Addr {
        subnet.host(LOAD_BALANCER_HOST)
    }
}

fn bad_name(name: &str) -> Option<TopologyError> {
    let bad = |why: String| Some(TopologyError::BadName { name: name.to_owned(), why });
    if name.is_empty() {
        return bad("is empty".into());
    }
    if let Some(c) = name.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')) {
        return bad(format!("holds {c:?}"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return bad("begins or ends with '-'".into());
    }
    None
}

fn parse_subnet(text: &str) -> Option<Subnet> {
    let address: Ipv4Addr = text.strip_suffix("/24")?.parse().ok()?;
    (address.octets()[3] == 0 && address.is_private()).then(|| Subnet::of(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(control_planes: u8, workers: u8) -> ClusterSpec {
        ClusterSpec { control_planes: Some(control_planes), workers, ..ClusterSpec::default() }
    }

    #[test]
    fn learners_are_let_in_as_etcd_is_told_by_flag_or_environment() {
        let own = |all: &[(&str, &str)]| all.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Vec<_>>();
        let of = |args: &[(&str, &str)], env: &[(&str, &str)]| max_learners(&own(args), &own(env).into_iter().collect());
        assert_eq!(of(&[("snapshot-count", "7")], &[]), 1);
        assert_eq!(of(&[("max-learners", "3")], &[("ETCD_MAX_LEARNERS", "5")]), 3, "a flag comes before the environment");
        assert_eq!(of(&[("experimental-max-learners", "2")], &[]), 2);
        assert_eq!(of(&[], &[("ETCD_EXPERIMENTAL_MAX_LEARNERS", "4")]), 4);
        let mut whole = Topology::of(&spec(3, 0), None).expect("fine");
        assert_eq!(whole.max_learners(), 1);
        whole.kubeadm.etcd_args = own(&[("max-learners", "2")]);
        assert_eq!(whole.max_learners(), 2, "kubeadm's members are told, too");
        whole.etcd = Some(EtcdAlone { members: 1, args: own(&[("max-learners", "4")]), ..EtcdAlone::default() });
        assert_eq!(whole.max_learners(), 4);
    }

    #[test]
    fn names_are_kinders_and_addresses_follow_the_index() {
        let topology = Topology::of(&spec(3, 2), None).expect("fine");
        let subnet = Subnet([10, 213, 0]);
        let nodes: Vec<String> = topology.nodes.iter().map(|n| format!("{} {}", n.name, n.address(subnet))).collect();
        assert_eq!(
            nodes,
            [
                "joinder-control-plane-1 10.213.0.11",
                "joinder-control-plane-2 10.213.0.12",
                "joinder-control-plane-3 10.213.0.13",
                "joinder-worker-1 10.213.0.14",
                "joinder-worker-2 10.213.0.15",
            ]
        );
        assert!(topology.load_balancer && topology.warnings.is_empty());
    }

    #[test]
    fn etcd_alone_has_nodes_for_members_that_come_later() {
        let etcd = |members, nodes| ClusterSpec {
            etcd: crate::spec::EtcdSpec { members: Some(members), nodes, ..Default::default() },
            ..ClusterSpec::default()
        };
        let topology = Topology::of(&etcd(1, Some(3)), Some("x")).expect("fine");
        let nodes: Vec<String> = topology.nodes.iter().map(|n| format!("{}={}", n.name, n.index)).collect();
        assert_eq!(nodes, ["x-etcd-1=1", "x-etcd-2=2", "x-etcd-3=3"]);
        assert!(!topology.load_balancer && topology.warnings.is_empty());
        assert_eq!(Topology::of(&etcd(2, None), None).expect("fine").nodes.len(), 2);
        assert_eq!(Topology::of(&etcd(0, None), None), Err(vec![TopologyError::NoMember]));
        assert_eq!(Topology::of(&etcd(3, Some(2)), None), Err(vec![TopologyError::FewNodes { members: 3, nodes: 2 }]));
    }

    #[test]
    fn names_go_on_counting_and_an_index_is_not_given_again_at_once() {
        let shown = |nodes: &[NodePlace]| nodes.iter().map(|n| format!("{}={}", n.name, n.index)).collect::<Vec<_>>().join(" ");
        let one = Topology::of(&spec(1, 1), Some("x")).expect("fine");
        let (three, new) = one.resized(3, 1).expect("fine");
        assert_eq!(shown(&new), "x-control-plane-2=3 x-control-plane-3=4");
        assert_eq!(shown(&three.nodes), "x-control-plane-1=1 x-worker-1=2 x-control-plane-2=3 x-control-plane-3=4");
        let (fewer, new) = three.resized(2, 2).expect("fine");
        assert_eq!(shown(&new), "x-worker-2=5");
        assert_eq!(shown(&fewer.nodes), "x-control-plane-1=1 x-worker-1=2 x-control-plane-2=3 x-worker-2=5");
        assert_eq!(three.resized(3, 1).expect("fine"), (three.clone(), vec![]));
        let full = Topology::of(&spec(240, 0), Some("x")).expect("fine");
        let (_, new) = full.resized(239, 1).expect("fine");
        assert_eq!(shown(&new), "x-worker-1=240");
        assert_eq!(one.resized(0, 1), Err(TopologyError::NoControlPlane));
        assert_eq!(one.resized(200, 100), Err(TopologyError::TooMany { asked: 300 }));
        assert!(matches!(
            Topology::of(&spec(1, 0), Some(&"a".repeat(47))).expect("fine").resized(12, 0),
            Err(TopologyError::LongName { .. })
        ));
    }

    #[test]
    fn all_problems_are_found_at_once() {
        let bad = ClusterSpec { subnet: Some("10.0.0.0/16".into()), ..spec(0, 250) };
        let errors = Topology::of(&bad, Some("My_Cluster")).expect_err("all wrong");
        assert_eq!(errors.len(), 4, "{errors:?}");
    }

    #[test]
    fn names_of_many_lengths() {
        for (length, fits) in [(1, true), (47, true), (48, false), (63, false), (64, false), (100, false)] {
            let name = "a".repeat(length);
            assert_eq!(Topology::of(&spec(1, 0), Some(&name)).is_ok(), fits, "{length}");
        }
        for name in ["", "A", "a_b", "-a", "a-", "a.b", "ä"] {
            assert!(Topology::of(&spec(1, 0), Some(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn an_even_number_warns_and_zero_is_an_error() {
        assert_eq!(Topology::of(&spec(2, 0), None).expect("fine").warnings.len(), 1);
        assert_eq!(Topology::of(&spec(0, 0), None), Err(vec![TopologyError::NoControlPlane]));
    }
}
