//! What a client is told.

use serde::{Deserialize, Serialize};

/// One client's calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Its name, as it is told with each call.
    pub name: String,
    /// The node that is asked; empty where that is not one.
    pub node: String,
    /// Microseconds from one call's beginning to the next one's.
    pub every_us: u64,
    /// The number of its first call.
    pub from: u64,
    /// What it calls.
    pub client: Client,
}

/// What a client calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Client {
    /// Puts numbered values.
    Writer {
        /// Whom it asks.
        etcd: Access,
        /// What all its keys begin with.
        prefix: String,
        /// Its number among the writers.
        index: u64,
        /// Bytes of a value.
        value_size: usize,
    },
    /// Reads the registers in turn, linearizably.
    Reader {
        /// Whom it asks.
        etcd: Access,
        /// What all keys begin with.
        prefix: String,
    },
    /// Sets a number in a `ConfigMap`, which it makes.
    ApiWriter {
        /// Path of the kubeconfig in the node.
        kubeconfig: String,
        /// The `ConfigMap`'s name, in `kube-system`.
        config_map: String,
    },
    /// Reads it.
    ApiReader {
        /// Path of the kubeconfig in the node.
        kubeconfig: String,
        /// The `ConfigMap`'s name.
        config_map: String,
    },
}

/// An etcd, and how it knows its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// `https://127.0.0.1:2379`.
    pub endpoint: String,
    /// The client's certificate.
    pub identity: Identity,
}

/// Where a client's certificate comes from; paths in the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Identity {
    /// One of its own, signed with etcd's CA and kept in memory: those that kubeadm renews come and go.
    Signed {
        /// The CA's certificate.
        ca: String,
        /// The CA's private key.
        key: String,
    },
    /// Files.
    Files {
        /// The CA's certificate.
        ca: String,
        /// The client's certificate.
        cert: String,
        /// Its private key.
        key: String,
    },
}
