//! A workflow file, `version: 2`.

use serde::{Deserialize, Serialize};

use super::cluster::ClusterSpec;
use super::expect::Expectations;
use super::unit::Span;

/// A workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workflow {
    /// 2.
    pub version: u32,
    /// One line on what it shows.
    #[serde(default)]
    pub summary: String,
    /// The cluster.
    pub cluster: ClusterSpec,
    /// What is done, in order.
    pub tasks: Vec<Task>,
}

/// One task: a name, exactly one step, and what is expected after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Its limit; 10 m when not said.
    pub timeout: Option<Span>,
    /// Run it even after a failure or a stop.
    #[serde(default)]
    pub force: bool,
    /// Its failure does not make the run fail.
    #[serde(default)]
    pub ignore_error: bool,
    /// Step: make the nodes.
    pub create: Option<Nothing>,
    /// Step: `kubeadm init` on the first control plane; makes the nodes if no step did.
    pub init: Option<Init>,
    /// Step: `kubeadm join`.
    pub join: Option<Join>,
    /// Step: remove everything.
    pub delete: Option<Nothing>,
    /// What is expected after the step; a step of its own when there is no other.
    pub expect: Option<Expectations>,
}

/// A step without settings: `{}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// `kubeadm init`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Init {}

/// `kubeadm join` on some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// Which nodes.
    #[serde(default)]
    pub nodes: Nodes,
    /// In which order.
    #[serde(default)]
    pub order: Order,
    /// With `parallel`: how many at a time; all when not said.
    pub in_flight: Option<usize>,
    /// With `parallel`: each node starts after a random time up to this.
    pub jitter: Option<Span>,
    /// Seed of the jitter; printed when not said.
    pub seed: Option<u64>,
}

/// Which nodes a step is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nodes {
    /// All but the first control plane, workers included.
    #[default]
    All,
    /// The control planes but the first.
    Secondaries,
    /// The workers.
    Workers,
}

/// The order in which control planes join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One node's whole join after the other's.
    Serial,
    /// All at once.
    #[default]
    Parallel,
}

impl Order {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
        }
    }
}
