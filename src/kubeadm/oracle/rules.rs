//! The rules, each with its source.

/// A rule of kubeadm or etcd.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Where that stands.
    pub source: &'static str,
}

/// All rules, in the order in which a join meets them.
pub const RULES: [Rule; 13] = [
    Rule {
        id: "quorum",
        says: "without a quorum of etcd no API server answers, and kubeadm looks for the cluster until `discovery` has passed",
        source: "inferred: app/discovery/file/file.go (ValidateConfigInfo), app/discovery/token; API servers read through etcd's quorum",
    },
    Rule {
        id: "health-each",
        says: "check-etcd fails when one started voter does not answer for etcdAPICall, and the eight tries behind the promotion when one, the joiner \
               included, does not; alarms are not read",
        source: "app/util/etcd/etcd.go (getClusterStatus) before kubernetes/kubernetes#138403",
    },
    Rule {
        id: "health-majority",
        says: "check-etcd passes when more than half of the started voters answer and tell no errors",
        source: "kubernetes/kubernetes#138403 (getClusterStatus)",
    },
    Rule {
        id: "health-waits",
        says: "voters are asked in turn, and each that is down costs a whole etcdAPICall: in check-etcd, and again behind the promotion",
        source: "inferred: kubernetes/kubernetes#138403 (getClusterStatus, WaitForClusterAvailable)",
    },
    Rule {
        id: "alarm",
        says: "an alarm of one member is an error in the status of all, so that none is healthy: check-etcd fails at once",
        source: "inferred: kubernetes/kubernetes#138403 with etcd server/etcdserver/api/v3rpc/maintenance.go (Status)",
    },
    Rule {
        id: "connected",
        says: "the member that is asked must be connected to all voters, or to the quorum of one more: else `unhealthy cluster`, before the learners \
               are counted; kubeadm asks until etcdAPICall has passed",
        source: "etcd server/etcdserver/server.go (mayAddMember), etcd-io/etcd#21667",
    },
    Rule {
        id: "learner-limit",
        says: "etcd takes no more learners than max-learners, and kubeadm asks until etcdAPICall has passed; it leaves nothing",
        source: "etcd server/etcdserver/api/membership/cluster.go (ValidateConfigurationChange); kubernetes/kubeadm#3208",
    },
    Rule {
        id: "reuse",
        says: "a member with the joiner's own peer URL is taken over, whatever it is",
        source: "kubernetes/kubernetes#127491 (addMember)",
    },
    Rule {
        id: "stale-match",
        says: "a leader that a member has followed takes it to have what it had, and its heartbeats name an index that an empty log has not: \
               etcd panics, again and again",
        source: "etcd-io/raft raft.go (sendHeartbeat), log.go (commitTo)",
    },
    Rule {
        id: "new-leader",
        says: "a new leader takes nobody to have anything: the member that came with an empty log gets all of it",
        source: "inferred: etcd-io/raft raft.go (reset)",
    },
    Rule {
        id: "dead-promotion",
        says: "etcd promotes by what the leader takes the learner to have, 90 % of its own, and nobody looks whether it runs",
        source: "inferred: etcd server/etcdserver/server.go (isLearnerReady)",
    },
    Rule {
        id: "local-api-server",
        says: "the kubelet asks its own node's API server for its certificate, which needs its own node's etcd, and the store must take a write: \
               else kubeadm waits until tlsBootstrap has passed",
        source: "inferred: ControlPlaneKubeletLocalMode (kubernetes/kubernetes#125582), app/cmd/phases/join/kubelet.go",
    },
    Rule {
        id: "slot",
        says: "learners queue: the next one is added 5 s after the last connected, where etcd wants all voters connected. Whose turn does not come in \
               etcdAPICall fails with the last refusal",
        source: "etcd HealthInterval (server/etcdserver/server.go); docs/findings/parallel-joins.md",
    },
];

/// A rule by its name.
pub(super) fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
