//! Calls of joinder's own clients: one writer per voter, one reader, and a pair through the API server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sys::clock::Stamp;

/// One call from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCall {
    /// The client, unique in a run: `writer joinder-control-plane-2`, `reader`, `api-writer`.
    pub client: String,
    /// The node that was asked; empty for calls through the load balancer.
    pub node: String,
    /// What was asked for.
    pub op: Op,
    /// The key, without the run's prefix.
    pub key: String,
    /// The value written, or read; `None` where nothing was there.
    pub value: Option<u64>,
    /// When it was sent.
    pub began: Stamp,
    /// When its end was known.
    pub ended: Stamp,
    /// How it ended.
    pub end: CallEnd,
    /// etcd's revision in the answer; 0 without one.
    pub revision: u64,
}

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Put a value under a key.
    Write,
    /// Read a key, linearizably.
    Read,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum CallEnd {
    /// It was carried out.
    Ok,
    /// It was surely not carried out.
    Failed {
        /// Why.
        why: String,
    },
    /// It may have been carried out, or may be yet.
    Unknown {
        /// Why nobody knows.
        why: String,
    },
}

/// What etcd holds of all that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// When the read began: what was acknowledged before must be in it.
    pub began: Stamp,
    /// The numbers of writers' own keys that are there, from and to, both included; by what the keys begin with.
    pub own: BTreeMap<String, Vec<(u64, u64)>>,
    /// A read of each register.
    pub registers: Vec<ClientCall>,
}
