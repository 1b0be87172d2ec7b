//! What is broken on purpose, and what kubeadm asked etcd for while a proxy stood between.

use serde::{Deserialize, Serialize};

use crate::sys::clock::Stamp;

/// A moment in the life of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case", rename_all_fields = "snake_case")]
pub enum FaultMoment {
    /// It waits for its trigger.
    Armed,
    /// Its trigger came, and it was done.
    Done {
        /// What set it off.
        by: String,
        /// When it was begun.
        began: Stamp,
        /// Nodes whose members cannot serve by it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        down: Vec<String>,
        /// Is that so until it is undone? Else they come back by themselves.
        #[serde(default)]
        lasts: bool,
    },
    /// Something shows that it took effect.
    Bit {
        /// What: a counter, a dead process, a call that stood still.
        proof: String,
    },
    /// It was undone.
    Healed,
    /// Its trigger never came.
    NeverTriggered,
    /// It could not be done, or not be undone.
    Failed {
        /// Why.
        why: String,
    },
    /// It does not apply here, which is not the same as having passed.
    NotApplicable {
        /// Why.
        why: String,
    },
}

/// A call of a node's kubeadm to an etcd member, as the proxy between them saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdCall {
    /// etcd's name for it: `MemberAdd`, `MemberPromote`, `MemberList`, `Status`, `Range`.
    pub method: String,
    /// The member that it was sent to, `10.213.0.2:2379`.
    pub endpoint: String,
    /// When kubeadm sent it.
    pub began: Stamp,
    /// When the proxy was through with it.
    pub ended: Stamp,
    /// What etcd answered: gRPC's code, 0 for ok; `None` when it did not.
    pub answered: Option<u32>,
    /// etcd's words with the code, or why there was no answer.
    pub said: String,
    /// What kubeadm was given: `None` when it got the answer as it was, else what was done to it and by which fault.
    pub disturbed: Option<String>,
}
