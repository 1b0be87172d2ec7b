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
    /// Certificates, kubeconfigs, manifests, a look at etcd's health, the kubelet's start.
    Prepare,
    /// From the first refused `MemberAdd` to the one that is accepted: another learner holds the slot, or a promotion is too young.
    SlotWait,
    /// From the member's announcement to its start.
    EtcdStart,
    /// From the vote until the member serves, and kubeadm goes on: 7 s where etcd's publish timeout strikes.
    EtcdPublish,
    /// From the start to the vote: the learner catches up and is promoted.
    Promotion,
    /// The kubelet waits for its certificate, and kube-apiserver starts anew.
    ApiServerRestarts,
    /// kubeadm waits for the kubelet's certificate and the Node object that it registers.
    KubeletCertificate,
    /// From the Node object to its Ready.
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
