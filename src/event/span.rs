//! Where a join's time goes.

use serde::{Deserialize, Serialize};

/// A named stretch of a node's way into the cluster (the table of the spans is in docs/workflows.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpanKind {
    /// The whole of it: from kubeadm's start to the Node object's Ready.
    Join,
    /// kubeadm's preflight checks.
    Preflight,
    /// From kubeadm's start to a cluster-info that it trusts.
    Discovery,
    /// Certificates, kubeconfigs and manifests.
    Prepare,
    /// From the first refused `MemberAdd` to the one that is accepted: another learner holds the slot.
    SlotWait,
    /// From the member's announcement to its start.
    EtcdStart,
    /// The member has started and serves no client: etcd's publish timeout.
    EtcdPublish,
    /// From the start to the vote: the learner catches up and is promoted.
    Promotion,
    /// kube-apiserver starts anew until its etcd serves.
    ApiServerRestarts,
    /// From the kubelet's start to its certificate.
    KubeletCertificate,
    /// From kubeadm's end to the Node object's Ready.
    ReadinessFloor,
    /// What no other span explains.
    Rest,
}

impl SpanKind {
    /// As in events and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Preflight => "preflight",
            Self::Discovery => "discovery",
            Self::Prepare => "prepare",
            Self::SlotWait => "slot-wait",
            Self::EtcdStart => "etcd-start",
            Self::EtcdPublish => "etcd-publish",
            Self::Promotion => "promotion",
            Self::ApiServerRestarts => "api-server-restarts",
            Self::KubeletCertificate => "kubelet-certificate",
            Self::ReadinessFloor => "readiness-floor",
            Self::Rest => "rest",
        }
    }
}
