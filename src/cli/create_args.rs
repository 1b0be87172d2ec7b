//! What can be typed for `create cluster`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::NodeArgs;
use super::value::node_version;
use crate::spec::NodeVersion;

#[expect(clippy::struct_excessive_bools, reason = "one flag each")]
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder create cluster --control-plane-nodes 3\n  joinder create cluster --name b --control-plane-nodes 3 --worker-nodes 1 --order serial"
)]
pub(super) struct CreateArgs {
    #[command(flatten)]
    pub(super) nodes: NodeArgs,
    /// Number of control planes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) control_plane_nodes: u8,
    /// Number of workers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) worker_nodes: u8,
    /// A load balancer also before a single control plane
    #[arg(long)]
    pub(super) external_load_balancer: bool,
    /// Kubernetes version of the node image
    #[arg(long, value_name = "VERSION")]
    pub(super) kubernetes: Option<String>,
    /// etcd version of the node image
    #[arg(long, value_name = "VERSION")]
    pub(super) etcd_version: Option<String>,
    /// kubeadm and kubelet of some nodes, out of the node image with that version: workers=v1.35.4, cp2=v1.35.4; may be given several times
    #[arg(long, value_name = "NODES=VERSION", value_parser = node_version)]
    pub(super) node_version: Vec<NodeVersion>,
    /// Order in which nodes join
    #[arg(long, value_enum, default_value_t = JoinOrder::Parallel)]
    pub(super) order: JoinOrder,
    /// etcd in a container of its own, one member without certificates, in place of one on each control plane
    #[arg(long)]
    pub(super) external_etcd: bool,
    /// A folder of the engine's machine that the nodes see; may be given several times, or several with commas
    #[arg(long, value_name = "FROM:TO[:ro]", value_delimiter = ',')]
    pub(super) volume: Vec<String>,
    /// Label the containers as kind and kinder do, so that their commands find them
    #[arg(long)]
    pub(super) compat: bool,
    /// Make the nodes only, without kubeadm
    #[arg(long)]
    pub(super) nodes_only: bool,
    /// Where events, the kubeconfig and a failure's logs go [default: $ARTIFACTS, else ./_artifacts/RUN]
    #[arg(long, value_name = "DIR")]
    pub(super) artifacts: Option<PathBuf>,
    /// Show phases and the times of each node too
    #[arg(long, short)]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum JoinOrder {
    /// One after the other
    Serial,
    /// All at once
    Parallel,
}
