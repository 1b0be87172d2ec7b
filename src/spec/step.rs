//! What steps can be told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::selector::Selector;
use super::unit::{Size, Span};
use super::workflow::{Named, Scalar, Task};

/// A step without settings: `{}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// `kubeadm init --upload-certs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Init {}

/// `kubeadm join` on nodes that have not joined yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// Which nodes; all but the first control plane when not said.
    pub nodes: Option<Selector>,
    /// In which order.
    #[serde(default)]
    pub order: Order,
    /// With `parallel`: how many at a time; all when not said.
    pub in_flight: Option<usize>,
    /// With `parallel`: each node starts after a random time up to this.
    pub jitter: Option<Span>,
    /// Seed of the jitter; the round's when not said, see `joinder run --seed`.
    pub seed: Option<u64>,
    /// Joining no node at all is fine.
    #[serde(default)]
    pub allow_empty: bool,
    /// A proxy stands between kubeadm and etcd and tells of each call; it does anyhow where a fault is about calls.
    #[serde(default)]
    pub watch_calls: bool,
}

/// The order in which control planes join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One node's whole join after the other's.
    Serial,
    /// All at once.
    #[default]
    Parallel,
    /// The phases before etcd's at once, etcd's one after the other, the rest at once again.
    Staged,
}

impl Order {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::Staged => "staged",
        }
    }
}

/// A command in nodes, one node after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exec {
    /// Which nodes.
    pub nodes: Selector,
    /// Program and arguments; this or `script`.
    pub command: Option<Vec<String>>,
    /// Lines for `bash -euo pipefail -c`; this or `command`.
    pub script: Option<String>,
    /// Environment beside the node's own.
    #[serde(default)]
    pub env: Named<Scalar>,
    /// The exit code that is wanted from each; 0 when not said.
    #[serde(default)]
    pub exit_code: i32,
    /// What the output of each must hold.
    pub output: Option<OutputWanted>,
    /// In all nodes at once.
    #[serde(default)]
    pub parallel: bool,
    /// Running it nowhere is fine.
    #[serde(default)]
    pub allow_empty: bool,
}

/// What an output, both streams together, must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputWanted {
    /// Each of these texts.
    #[serde(default)]
    pub contains: Vec<String>,
    /// None of these texts.
    #[serde(default)]
    pub lacks: Vec<String>,
}

/// A file or folder between this machine and nodes. Just one side names nodes: `cp2:/etc/hosts`, `all:/tmp/x`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Copy {
    /// From a path here, or `NODE:/PATH` with just one node.
    pub from: String,
    /// To a path here, or `SELECTOR:/PATH`.
    pub to: String,
    /// Copying into no node is fine.
    #[serde(default)]
    pub allow_empty: bool,
}

/// Waits for a time, or until nodes are in a state. The task's limit ends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wait {
    /// This long; this or `until`.
    pub time: Option<Span>,
    /// Until all the nodes are so; this or `time`.
    pub until: Option<State>,
    /// With `until`: which nodes; all that it can be about when not said.
    pub nodes: Option<Selector>,
    /// With `until`: at most this long; the task's limit when not said.
    pub within: Option<Span>,
    /// Waiting for no node is fine.
    #[serde(default)]
    pub allow_empty: bool,
}

/// A state that a node can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its container runs, and containerd answers in it.
    Running,
    /// Its API server answers `/readyz`.
    ApiServer,
    /// Its etcd member is a started voter.
    Voter,
    /// Its Node object is Ready.
    Ready,
}

impl State {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::ApiServer => "api-server",
            Self::Voter => "voter",
            Self::Ready => "ready",
        }
    }
}

/// Tasks side by side. All are awaited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Group {
    /// The tasks. They may neither make nor remove nodes, nor be groups.
    pub tasks: Vec<Task>,
    /// A failure does not stop the others.
    #[serde(default)]
    pub keep_going: bool,
}

/// The nodes' journals, pod logs and manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Export {
    /// The folder; `nodes` in the case's artifacts when not said.
    pub to: Option<String>,
}

/// A change to an etcd alone: just one of its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberStep {
    /// Adds a node to the member list, without starting its etcd.
    pub add: Option<AddMember>,
    /// Starts a node's etcd.
    pub start: Option<StartMember>,
    /// Makes a learner a voter.
    pub promote: Option<ChangeMember>,
    /// Takes a node out of the member list. Its etcd then ends by itself.
    pub remove: Option<ChangeMember>,
    /// Writes another peer URL into the member list.
    pub update: Option<UpdateMember>,
    /// Ends a node's etcd.
    pub stop: Option<StopMember>,
    /// Writes entries.
    pub put: Option<PutEntries>,
    /// etcd refuses, and its words hold this text; anything else is a failure.
    pub fails: Option<String>,
}

/// A node that is added to the member list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddMember {
    /// The node.
    pub node: Selector,
    /// With a vote or without.
    #[serde(rename = "as", default)]
    pub kind: MemberKind,
    /// The node whose member is asked; the first one with a vote that answers when not said.
    pub via: Option<Selector>,
    /// How long it is tried again where etcd refuses for now; once when not said.
    pub within: Option<Span>,
}

/// With a vote or without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemberKind {
    /// Without a vote, until it is promoted.
    #[default]
    Learner,
    /// With a vote at once.
    Voter,
}

/// A node whose etcd is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartMember {
    /// The node.
    pub node: Selector,
    /// Until what the step waits; `started` when not said.
    #[serde(default)]
    pub until: Running,
    /// How long that may take; the task's limit when not said.
    pub within: Option<Span>,
    /// Time before it is started.
    pub delay: Option<Span>,
    /// From here on with etcd of this version, `3.6.0`; as before when not said.
    pub version: Option<String>,
}

/// How far a node's etcd has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Running {
    /// Its process runs.
    Running,
    /// It has its name in a voter's list.
    #[default]
    Started,
    /// It answers clients.
    Serving,
}

impl Running {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Started => "started",
            Self::Serving => "serving",
        }
    }
}

/// A member that is promoted or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeMember {
    /// Its node.
    pub node: Selector,
    /// The node whose member is asked; the first one with a vote that answers when not said.
    pub via: Option<Selector>,
    /// How long it is tried again where etcd refuses for now; once when not said.
    pub within: Option<Span>,
}

/// A member that gets another peer URL in the list. Its etcd is not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateMember {
    /// Its node.
    pub node: Selector,
    /// The URL.
    pub peer_url: String,
    /// The node whose member is asked; the first one with a vote that answers when not said.
    pub via: Option<Selector>,
}

/// A node whose etcd ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopMember {
    /// The node.
    pub node: Selector,
    /// How it ends.
    #[serde(default)]
    pub how: Ending,
}

/// Entries that are written, one put each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutEntries {
    /// How many.
    pub entries: u32,
    /// The size of each value; 1 KiB when not said.
    pub size: Option<Size>,
    /// The node whose member is asked; the first one with a vote that answers when not said.
    pub via: Option<Selector>,
}

/// Restarts nodes, or something in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Restart {
    /// Which nodes.
    pub nodes: Selector,
    /// What of them.
    #[serde(default)]
    pub what: Part,
    /// How it ends.
    #[serde(default)]
    pub how: Ending,
    /// All at once, in place of one after the other.
    #[serde(default)]
    pub parallel: bool,
    /// Restarting nothing is fine.
    #[serde(default)]
    pub allow_empty: bool,
}

/// What of a node is restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The whole node.
    #[default]
    Node,
    /// Its kubelet.
    Kubelet,
    /// Its etcd.
    Etcd,
    /// Its kube-apiserver.
    KubeApiserver,
}

impl Part {
    /// As in files, and as the process is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Kubelet => "kubelet",
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
        }
    }
}

/// How something ends before it starts anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It is asked to stop.
    #[default]
    Stop,
    /// It is killed.
    Kill,
}

/// May the next control plane join now? By the rules of kubeadm and etcd in the versions that run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Advise {
    /// The answer that is wanted; what could not be seen is neither.
    pub is: Advised,
    /// A text that the answer with its reasons holds: a rule's name, or a part of what it saw.
    pub because: Option<String>,
    /// How long the answer may take to be so; 10 s when not said.
    pub within: Option<Span>,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Advised {
    /// It may.
    Yes,
    /// It would fail, or wait.
    No,
}

impl Advised {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// `kubeadm reset` on nodes, which takes their members out of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reset {
    /// Which nodes.
    pub nodes: Selector,
    /// Resetting nothing is fine.
    #[serde(default)]
    pub allow_empty: bool,
}

/// Takes what failed joins have left out of etcd and resets their nodes, so that they can join.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Repair {
    /// Which nodes; all whose last join failed, and learners of no node, when not said.
    pub nodes: Option<Selector>,
    /// With `nodes`: repairing none is fine.
    #[serde(default)]
    pub allow_empty: bool,
}

/// Grows the cluster by new nodes that join, or shrinks it by the last ones: reset, Node object deleted, container removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scale {
    /// How many control planes; as many as there are when not said.
    pub control_planes: Option<u8>,
    /// How many workers; as many as there are when not said.
    pub workers: Option<u8>,
    /// In which order new nodes join.
    #[serde(default)]
    pub order: Order,
}
