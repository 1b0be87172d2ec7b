//! The actions and their flags. kinder takes all flags for all actions; so does this.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::super::args::NameArgs;
use crate::action::Action;
use crate::kubeadm::wishes::{CopyCerts, Discover};
use crate::spec::Order;

const JOIN: &str = "Examples:\n  joinder do kubeadm-join --copy-certs auto --order parallel\n  joinder do kubeadm-join --only-node joinder-worker-1 --discovery-mode file-with-token";
const INIT: &str = "Secrets are kinder's, the same for each cluster: the token abcdef.0123456789abcdef, so that a later join knows them.\n\nExamples:\n  joinder create cluster --control-plane-nodes 3 --nodes-only && joinder do kubeadm-init\n  joinder do kubeadm-init --use-phases --config-patch ./patch.yaml";
const UPGRADE: &str = "Each node needs /kinder/upgrade/version and /kinder/upgrade/vX.Y.Z with kubeadm, kubelet, kubectl and *.tar of the images.\n\nExamples:\n  joinder do kubeadm-upgrade --upgrade-version v1.37.2";

#[derive(Debug, Subcommand)]
pub(in super::super) enum Do {
    /// Show nodes, pods, images and etcd's members
    #[command(after_help = "Examples:\n  joinder do cluster-info --name b")]
    ClusterInfo(DoArgs),
    /// Copy the first control plane's certificate authorities to the others
    #[command(after_help = "Examples:\n  joinder do copy-certs --name b")]
    CopyCerts(DoArgs),
    /// Write kubeadm's configuration into the nodes, and run nothing
    #[command(after_help = "Examples:\n  joinder do kubeadm-config --only-node joinder-worker-1")]
    KubeadmConfig(DoArgs),
    /// Run kubeadm init on the first control plane
    #[command(after_help = INIT)]
    KubeadmInit(DoArgs),
    /// Run kubeadm join on the other nodes
    #[command(after_help = JOIN)]
    KubeadmJoin(DoArgs),
    /// Run kubeadm reset on all nodes, the last one first
    #[command(after_help = "Examples:\n  joinder do kubeadm-reset --only-node joinder-control-plane-3")]
    KubeadmReset(DoArgs),
    /// Run kubeadm upgrade on one node after the other, then restart the kubelets in the new version
    #[command(after_help = UPGRADE)]
    KubeadmUpgrade(DoArgs),
    /// Have the load balancer send to the control planes that there are
    #[command(after_help = "Examples:\n  joinder do loadbalancer --name b")]
    #[command(name = "loadbalancer")]
    LoadBalancer(DoArgs),
    /// Sign all certificates before kubeadm init, and take the authority's key away
    #[command(after_help = "Examples:\n  joinder do setup-external-ca && joinder do kubeadm-init")]
    SetupExternalCa(DoArgs),
    /// Ask a pod behind a service from each node, and ask it for a name of the cluster
    #[command(after_help = "Examples:\n  joinder do smoke-test --wait 1m")]
    SmokeTest(DoArgs),
}

impl Do {
    pub(super) fn parts(self) -> (Action, DoArgs) {
        match self {
            Self::ClusterInfo(args) => (Action::ClusterInfo, args),
            Self::CopyCerts(args) => (Action::CopyCerts, args),
            Self::KubeadmConfig(args) => (Action::KubeadmConfig, args),
            Self::KubeadmInit(args) => (Action::KubeadmInit, args),
            Self::KubeadmJoin(args) => (Action::KubeadmJoin, args),
            Self::KubeadmReset(args) => (Action::KubeadmReset, args),
            Self::KubeadmUpgrade(args) => (Action::KubeadmUpgrade, args),
            Self::LoadBalancer(args) => (Action::LoadBalancer, args),
            Self::SetupExternalCa(args) => (Action::SetupExternalCa, args),
            Self::SmokeTest(args) => (Action::SmokeTest, args),
        }
    }
}

/// kinder's flags, and joinder's own below them. What an action does not read is warned of.
#[derive(Debug, Args)]
pub(in super::super) struct DoArgs {
    #[command(flatten)]
    pub(super) cluster: NameArgs,
    /// Only this node, by its whole name
    #[arg(long, value_name = "NODE")]
    pub(super) only_node: Option<String>,
    /// Tell what would be done, and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Run kubeadm once for each phase
    #[arg(long)]
    pub(super) use_phases: bool,
    /// Version to upgrade to
    #[arg(long, value_name = "VERSION")]
    pub(super) upgrade_version: Option<String>,
    /// How certificates get to the other control planes: auto is kubeadm's own way [default: manual]
    #[arg(long, value_name = "none|manual|auto")]
    pub(super) copy_certs: Option<CopyCerts>,
    /// How nodes find the cluster: token, file, file-with-token, file-with-embedded-client-certificates or
    /// file-with-external-client-certificates [default: token]
    #[arg(long, value_name = "MODE")]
    pub(super) discovery_mode: Option<Discover>,
    /// How long to wait for what was set going, as in 1m30s; 0 for not at all [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(super) wait: Option<Duration>,
    /// kubeadm's own --v [default: 0]
    #[arg(long, short = 'v', value_name = "N")]
    pub(super) kubeadm_verbosity: Option<u8>,
    /// Folder with patches for kubeadm
    // a text: for paths clap refuses what is empty
    #[arg(long, value_name = "DIR")]
    pub(super) patches: Option<String>,
    /// Preflight errors that are none, with commas between them, in place of the three that no container can avoid
    #[arg(long, value_name = "NAMES")]
    pub(super) ignore_preflight_errors: Option<String>,
    /// Version of kubeadm's configuration, v1beta3 or v1beta4 [default: the newest that it knows]
    #[arg(long, value_name = "VERSION")]
    pub(super) kubeadm_config_version: Option<String>,
    /// A feature gate; may be given several times, or several with commas
    #[arg(long, value_name = "NAME=BOOL")]
    pub(super) kubeadm_feature_gate: Vec<String>,
    /// How kubeadm makes keys, as in ECDSA-P384
    #[arg(long, value_name = "ALGORITHM")]
    pub(super) kubeadm_encryption_algorithm: Option<String>,
    /// In which order nodes join [default: serial]
    #[arg(long, value_enum)]
    pub(super) order: Option<NodeOrder>,
    /// YAML documents to merge into kubeadm's of the same kind
    #[arg(long, value_name = "FILE")]
    pub(super) config_patch: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NodeOrder {
    /// One after the other
    Serial,
    /// All at once
    Parallel,
    /// The phases before etcd's and those after it at once
    Staged,
}

impl From<NodeOrder> for Order {
    fn from(order: NodeOrder) -> Self {
        match order {
            NodeOrder::Serial => Self::Serial,
            NodeOrder::Parallel => Self::Parallel,
            NodeOrder::Staged => Self::Staged,
        }
    }
}

/// Go's, as kinder reads them.
fn duration(text: &str) -> Result<Duration, String> {
    let nanos = crate::workflow::go_duration(text)?;
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| "it cannot be negative".into())
}
