//! What cluster is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::selector::Selector;
use super::unit::Span;
use super::workflow::{Named, Scalar};

/// A cluster as a person describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSpec {
    /// Its name; the command line's `--name` wins, the default is `joinder`.
    pub name: Option<String>,
    /// Kubernetes version, `v1.36.3`: chooses the node image by its label.
    pub kubernetes: Option<String>,
    /// etcd.
    #[serde(default)]
    pub etcd: EtcdSpec,
    /// Number of control planes; 1 when not said.
    pub control_planes: Option<u8>,
    /// Number of workers; 0 when not said.
    #[serde(default)]
    pub workers: u8,
    /// A load balancer in front of the API servers; when not said, with more than one control plane.
    pub load_balancer: Option<bool>,
    /// Node image by name, in place of choosing one by version.
    pub image: Option<String>,
    /// How joining nodes find the cluster.
    #[serde(default)]
    pub discovery: Discovery,
    /// A /24 of one's own, `10.213.7.0/24`; when not said, the next free one.
    pub subnet: Option<String>,
    /// kubeadm's own limits.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Nodes whose kubeadm and kubelet are of another version than the cluster.
    #[serde(default)]
    pub versions: Vec<NodeVersion>,
}

/// kubeadm and kubelet of some nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeVersion {
    /// The nodes; the first control plane has the cluster's version.
    pub nodes: Selector,
    /// Kubernetes version, `v1.35.4`: of the node image that the two are taken from.
    pub kubernetes: String,
}

/// kubeadm's own limits, by its own names; what is not said is kubeadm's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// How long it goes on asking etcd for each thing; 2m when not said.
    #[serde(rename = "etcdAPICall")]
    pub etcd_api_call: Option<Span>,
    /// How long it waits for the kubelet's certificate; 5m when not said.
    #[serde(rename = "tlsBootstrap")]
    pub tls_bootstrap: Option<Span>,
    /// How long it looks for the cluster; 5m when not said.
    pub discovery: Option<Span>,
}

/// What etcd is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EtcdSpec {
    /// Version, `3.6.16`: chooses the image by its label.
    pub version: Option<String>,
    /// etcd alone, without Kubernetes: how many members it is founded with.
    pub members: Option<u8>,
    /// Of etcd alone: how many nodes there are, for members that come later; as many as `members` when not said.
    pub nodes: Option<u8>,
    /// Flags of every member, without the dashes: `snapshot-count: 100`. Where kubeadm makes the members, its `extraArgs`.
    #[serde(default)]
    pub args: Named<Scalar>,
    /// Of etcd alone: environment of every member.
    #[serde(default)]
    pub env: Named<Scalar>,
}

/// How joining nodes find the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// By a kubeconfig file that holds no credentials: no waiting.
    #[default]
    File,
    /// By token, as `kubeadm join` is usually called; right after init it waits 5–10 s for a signature.
    Token,
}
