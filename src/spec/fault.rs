//! Faults: what is broken, when it begins, when it ends.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::selector::Selector;
use super::unit::{Size, Span, as_text};

/// Something broken on purpose while a step runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// Its name in events and verdicts.
    pub id: String,
    /// What sets it off; in a task of its own at once when not said.
    #[serde(default)]
    pub on: Trigger,
    /// What it does; exactly one.
    #[serde(rename = "do")]
    pub action: Action,
    /// When it ends.
    #[serde(default)]
    pub until: Until,
}

/// What sets a fault off: exactly one of `call`, `event`, `phase` and `after`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trigger {
    /// A call of kubeadm to etcd.
    pub call: Option<EtcdCall>,
    /// Something that was observed.
    pub event: Option<Observed>,
    /// kubeadm enters this phase, as its output names it: `etcd`, `kubelet-start`.
    pub phase: Option<String>,
    /// This long after the step's start.
    pub after: Option<Span>,
    /// With `call`, `event` or `phase`: on which nodes; any when not said.
    pub node: Option<Selector>,
    /// With `call`, `event` or `phase`: the how many-th time on a node; the first when not said.
    pub nth: Option<u32>,
    /// With `call`: only when it is sent to the member of one of these nodes.
    pub endpoint: Option<Selector>,
    /// With `call`, where something else than the call is disturbed: the side of the call at which it stands still until that is done;
    /// `request` when not said.
    pub at: Option<Side>,
}

impl EtcdCall {
    /// As in files and in etcd's API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemberAdd => "MemberAdd",
            Self::MemberList => "MemberList",
            Self::MemberPromote => "MemberPromote",
            Self::MemberRemove => "MemberRemove",
            Self::MemberUpdate => "MemberUpdate",
            Self::Status => "Status",
        }
    }
}

/// A call to etcd, by its name in etcd's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EtcdCall {
    /// `MemberAdd`, as a learner or not.
    MemberAdd,
    /// `MemberList`.
    MemberList,
    /// `MemberPromote`.
    MemberPromote,
    /// `MemberRemove`.
    MemberRemove,
    /// `MemberUpdate`.
    MemberUpdate,
    /// `Status`.
    Status,
}

/// A moment that is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Observed {
    /// A learner is in the member list.
    LearnerAnnounced,
    /// A member has started.
    MemberStarted,
    /// A learner has become a voter.
    LearnerPromoted,
    /// A member is gone from the list.
    MemberRemoved,
    /// Another member leads.
    LeaderChanged,
}

/// What a fault does: exactly one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// etcd has carried the call out, and the answer is lost.
    pub drop_answer: Option<Calls>,
    /// The call is answered late.
    pub delay: Option<Delay>,
    /// The call does not reach etcd.
    pub refuse: Option<Calls>,
    /// The call stands still until the fault ends.
    pub hold: Option<Hold>,
    /// Something is killed.
    pub kill: Option<Target>,
    /// Something is paused until the fault ends.
    pub pause: Option<Target>,
    /// Something is restarted.
    pub restart: Option<Target>,
    /// All nodes are killed at once, and started when the fault ends.
    pub crash_all: Option<super::step::Nothing>,
    /// Nodes cannot reach each other.
    pub partition: Option<Partition>,
    /// A node's network is slow.
    pub bandwidth: Option<Bandwidth>,
    /// The disk under etcd's data is full.
    pub disk_full: Option<On>,
    /// The disk under etcd's data is slow.
    pub disk_slow: Option<Bandwidth>,
    /// A certificate is bad.
    pub certificate: Option<BadCertificate>,
    /// A static pod's manifest is not what kubeadm wrote.
    pub manifest: Option<EditedManifest>,
}

/// How many calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calls {
    /// This many, from the one that set the fault off.
    pub times: u32,
}

/// Calls that are answered late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delay {
    /// By this long.
    pub by: Span,
    /// This many; one when not said.
    pub times: Option<u32>,
}

/// A call that stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hold {
    /// Before etcd sees it, or when it has answered.
    pub at: Side,
}

/// A side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Before etcd sees it.
    Request,
    /// When etcd has answered.
    Answer,
}

/// Something in nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// What.
    pub what: Victim,
    /// On which nodes.
    pub nodes: Selector,
}

/// What can be killed, paused and restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The whole node.
    Node,
    /// The kubeadm that runs there.
    Kubeadm,
    /// The kubelet.
    Kubelet,
    /// etcd.
    Etcd,
    /// kube-apiserver.
    KubeApiserver,
}

impl Victim {
    /// As in files, and as the process is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Kubeadm => "kubeadm",
            Self::Kubelet => "kubelet",
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
        }
    }
}

/// Nodes that cannot reach others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Partition {
    /// These nodes …
    pub from: Selector,
    /// … cannot reach these.
    pub to: Selector,
    /// The other way still works.
    #[serde(default)]
    pub one_way: bool,
}

/// Bytes a second on nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bandwidth {
    /// On which nodes.
    pub nodes: Selector,
    /// Bytes a second.
    pub rate: Size,
}

/// A certificate that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BadCertificate {
    /// On which nodes.
    pub nodes: Selector,
    /// Which certificate.
    pub of: Certificate,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// A certificate that etcd's CA signs, as `kubeadm certs` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certificate {
    /// By which a member is known to clients.
    EtcdServer,
    /// By which a member is known to members.
    EtcdPeer,
    /// By which kubeadm is known to etcd.
    EtcdHealthcheckClient,
    /// By which the API server is known to etcd.
    ApiserverEtcdClient,
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// It was good until an hour ago.
    Expired,
    /// It is good in an hour.
    NotYetValid,
    /// A CA signed it that nobody knows.
    WrongCa,
    /// It is for no name and address of the node.
    MissingSan,
}

/// A static pod's manifest with one thing changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditedManifest {
    /// On which nodes.
    pub nodes: Selector,
    /// Whose.
    pub of: StaticPod,
    /// Its image, in place of kubeadm's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// One more flag of its command, `--name=value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

/// What kubeadm runs as static pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StaticPod {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    KubeApiserver,
    /// kube-controller-manager.
    KubeControllerManager,
    /// kube-scheduler.
    KubeScheduler,
}

impl StaticPod {
    /// As its container and its manifest are called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
        }
    }
}

/// Some nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct On {
    /// Which.
    pub nodes: Selector,
}

/// When a fault ends: with the step, with the run, or so long after it was set off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// With the step.
    #[default]
    StepEnd,
    /// With the run.
    RunEnd,
    /// So long after it was set off, or with the step where that comes first.
    After(Span),
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepEnd => f.write_str("step-end"),
            Self::RunEnd => f.write_str("run-end"),
            Self::After(span) => write!(f, "{span}"),
        }
    }
}

impl FromStr for Until {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "step-end" => Ok(Self::StepEnd),
            "run-end" => Ok(Self::RunEnd),
            other => other.parse().map(Self::After).map_err(|why| format!("an end is step-end, run-end or a duration: {why}")),
        }
    }
}

as_text!(Until, r"^(step-end|run-end|\s*([0-9.]+\s*[a-zµ]+\s*)+)$", "step-end, run-end, or how long after it was set off: 10s");
