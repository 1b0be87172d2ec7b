//! What a node's agent notices beside etcd's answers: files that appear, processes that start, lines of etcd's log.

use serde::{Deserialize, Serialize};

use super::MemberId;

/// Something that came to be in a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "kebab-case")]
pub enum Notice {
    /// A component's process started.
    ProcessStarted {
        /// `etcd`, `kube-apiserver`, `kubelet`.
        component: String,
        /// Which start of it this is since somebody looks.
        times: u32,
    },
    /// The kubelet sent a request for its certificate, or was refused.
    CertificateRequest {
        /// The kubelet's own words.
        said: String,
    },
    /// The kubelet has its client certificate.
    KubeletCertificate,
    /// There is a Node object.
    NodeRegistered,
    /// The Node object is Ready.
    NodeReady,
    /// etcd's manifest was written.
    InitialCluster {
        /// Its `--initial-cluster`, as `NAME=URL` each.
        entries: Vec<String>,
    },
    /// The hash of all that a member has stored up to a revision (etcd's `HashKV`).
    DataHash {
        /// The member.
        member: MemberId,
        /// Up to which revision.
        revision: u64,
        /// The revision that is compacted: hashes are equal only where this is.
        compacted: u64,
        /// The hash.
        hash: u32,
    },
    /// A line of etcd's log, at etcd's own time.
    EtcdLog {
        /// What it tells.
        word: EtcdWord,
        /// The member that it is about; the node's own where it names none.
        member: Option<MemberId>,
    },
}

/// What a line of etcd's log tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EtcdWord {
    /// This process begins.
    Starting,
    /// This member has applied that another is added.
    Added,
    /// This member has applied that a learner is promoted.
    Promoted,
    /// This member has applied that another is removed.
    Removed,
    /// It has told the others its name.
    Published,
    /// That came to nothing within the publish timeout; it tries again.
    PublishFailed,
    /// It serves clients.
    Serving,
}
