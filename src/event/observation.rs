//! What a member or a node said at one moment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::sys::clock::Stamp;

/// An etcd member id; shown and written in hexadecimal as etcd does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MemberId(pub u64);

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl From<MemberId> for String {
    fn from(id: MemberId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for MemberId {
    type Error = std::num::ParseIntError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for MemberId {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// An entry of etcd's member list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Member {
    /// Its id.
    pub id: MemberId,
    /// Its name; empty until it has started and published itself.
    pub name: String,
    /// Its peer URLs.
    pub peer_urls: Vec<String>,
    /// Does it learn, without a vote?
    pub learner: bool,
}

impl Member {
    /// Has it started and published its name?
    pub fn started(&self) -> bool {
        !self.name.is_empty()
    }

    /// Its name, or its id while it has none.
    pub fn label(&self) -> String {
        if self.started() { self.name.clone() } else { self.id.to_string() }
    }
}

/// A member's answer about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// The member that answered.
    pub id: MemberId,
    /// Its cluster's id, hexadecimal as member ids are; 0 where an earlier joinder wrote the event.
    #[serde(default)]
    pub cluster: MemberId,
    /// Whom it takes for the leader; 0 for none.
    pub leader: MemberId,
    /// Raft term.
    pub term: u64,
    /// Raft index.
    pub index: u64,
    /// Bytes of its store on disk.
    pub db_size: u64,
    /// Does it take itself for a learner?
    pub learner: bool,
    /// etcd's version.
    pub version: String,
    /// Alarms and other errors it reports.
    pub errors: Vec<String>,
}

/// One look at the etcd member of a node, from inside that node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdSample {
    /// When the answer was there.
    pub seen: Stamp,
    /// The member list as this member holds it; `None` when it gave none (a learner refuses to).
    pub members: Option<Vec<Member>>,
    /// Its status; `None` when it gave none.
    pub status: Option<MemberStatus>,
    /// Why something is missing.
    pub error: Option<String>,
    /// Milliseconds since this member last gave its list: what is new in it came to be within them. `None` for its first list.
    pub gap_ms: Option<u64>,
    /// Looks since the last sample that was told, this one included: repeats are counted, not told.
    pub looks: u64,
    /// Looks that could not start in time since then, because an answer was late.
    pub missed: u64,
}

impl EtcdSample {
    /// Would a reader learn something new from `self` after `before`? Indexes and sizes alone are nothing new.
    pub fn differs(&self, before: &Self) -> bool {
        let essence = |s: &Self| s.status.as_ref().map(|t| (t.id, t.leader, t.term, t.learner, t.version.clone(), t.errors.clone()));
        self.members != before.members || essence(self) != essence(before) || self.error.is_some() != before.error.is_some()
    }
}

/// What a component of a node has used. Counters are since its start, levels are of the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in microseconds.
    pub cpu_us: u64,
    /// Memory charged to it now, page cache included, in bytes.
    pub memory: u64,
    /// The most memory it was charged with, in bytes; 0 where the kernel does not say.
    pub memory_peak: u64,
    /// Resident anonymous memory, in bytes; 0 where the kernel does not say.
    #[serde(default)]
    pub rss: u64,
    /// Memory less the page cache that was not used lately, as the kubelet counts it, in bytes; 0 where the kernel does not say.
    #[serde(default)]
    pub working_set: u64,
    /// Bytes read from and written to disks.
    #[serde(default)]
    pub io_read: u64,
    /// Bytes written to disks.
    #[serde(default)]
    pub io_write: u64,
    /// Bytes received by the node's network; 0 for a component.
    #[serde(default)]
    pub net_received: u64,
    /// Bytes sent by the node's network; 0 for a component.
    #[serde(default)]
    pub net_sent: u64,
}

/// What is kept of etcd's metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EtcdMetrics {
    /// Peers that it holds a connection to, by member id (`etcd_network_active_peers`).
    pub active_peers: Vec<MemberId>,
    /// Bytes sent to peers (`etcd_network_peer_sent_bytes_total`, summed).
    pub peer_sent: u64,
    /// Bytes received from peers (`etcd_network_peer_received_bytes_total`, summed).
    pub peer_received: u64,
    /// WAL fsyncs so far, and below which time 99 % of them were, in seconds, by the histogram's bucket
    /// (`etcd_disk_wal_fsync_duration_seconds`); `None` before the first.
    pub fsync_p99: Option<f64>,
    /// WAL fsyncs so far.
    pub fsyncs: u64,
    /// Bytes of the store (`etcd_mvcc_db_total_size_in_bytes`).
    pub db_size: u64,
    /// Leader changes that it has seen since its start.
    pub leader_changes: u64,
    /// Proposals that it has committed.
    pub proposals: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_ids_are_hexadecimal_both_ways() {
        let json = serde_json::to_string(&MemberId(0x1bcb_1605_85bc_8a70)).expect("json");
        assert_eq!(json, "\"1bcb160585bc8a70\"");
        assert_eq!(serde_json::from_str::<MemberId>(&json).expect("back"), MemberId(0x1bcb_1605_85bc_8a70));
    }

    #[test]
    fn a_growing_index_is_nothing_new_but_a_promotion_is() {
        let sample = |index, learner| EtcdSample {
            seen: Stamp::now(),
            members: None,
            status: Some(MemberStatus { index, learner, ..Default::default() }),
            error: None,
            gap_ms: None,
            looks: 1,
            missed: 0,
        };
        assert!(!sample(2, true).differs(&sample(1, true)));
        assert!(sample(2, false).differs(&sample(2, true)));
    }
}
