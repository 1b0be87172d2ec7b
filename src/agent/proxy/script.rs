//! Which calls are disturbed, and how. Each fault counts for itself the calls that it is about.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// Some calls that are disturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturb {
    /// What it is known by, unique in this proxy.
    pub key: String,
    /// The fault's name.
    pub id: String,
    /// etcd's name for the call: `MemberAdd`.
    pub method: String,
    /// The members that it must be sent to, `10.213.0.2:2379`; any when there is none.
    pub endpoints: Vec<String>,
    /// The first one, counted from 1; where the answer is disturbed, of those that etcd has carried out.
    pub nth: u32,
    /// How many, with the first.
    pub times: u32,
    /// What is done to them.
    pub act: Act,
}

/// What is done to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Act {
    /// etcd carries it out, and the answer is lost: kubeadm waits until it gives up.
    DropAnswer,
    /// etcd's answer is given so many milliseconds later.
    Delay {
        /// How many.
        by: u64,
    },
    /// etcd does not see it; kubeadm is told that nobody is there (gRPC's `Unavailable`).
    Refuse,
    /// It stands still until the fault is lifted.
    Hold {
        /// Where.
        at: Side,
    },
}

impl Act {
    /// Is it done to an answer, and only to one that says that the call was carried out?
    fn waits(self) -> bool {
        matches!(self, Self::DropAnswer | Self::Hold { at: Side::Answer })
    }
}

impl Disturb {
    fn is_about(&self, method: &str, endpoint: &str) -> bool {
        self.method == method && (self.endpoints.is_empty() || self.endpoints.iter().any(|wanted| wanted == endpoint))
    }
}

/// A side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Before etcd sees it.
    Request,
    /// When etcd has answered.
    Answer,
}

/// All that is to be disturbed. Clones share it.
#[derive(Clone, Default)]
pub(in crate::agent) struct Script(Arc<Mutex<Vec<Entry>>>);

struct Entry {
    disturb: Disturb,
    seen: u32,
    lifted: CancellationToken,
}

/// A fault that a call has met.
#[derive(Clone, Debug)]
pub(super) struct Struck {
    pub(super) key: String,
    pub(super) id: String,
    pub(super) act: Act,
    /// The fault has ended.
    pub(super) lifted: CancellationToken,
}

impl Script {
    /// From now on these calls are disturbed.
    pub(in crate::agent) fn add(&self, disturb: Disturb) {
        self.locked(|all| all.push(Entry { disturb, seen: 0, lifted: CancellationToken::new() }));
    }

    /// Ends a fault: what it holds goes on, and later calls are left alone.
    pub(in crate::agent) fn lift(&self, key: &str) {
        self.locked(|all| {
            all.iter().filter(|entry| entry.disturb.key == key).for_each(|entry| entry.lifted.cancel());
            all.retain(|entry| entry.disturb.key != key);
        });
    }

    /// Ends all of them.
    pub(super) fn clear(&self) {
        self.locked(|all| {
            for entry in all.drain(..) {
                entry.lifted.cancel();
            }
        });
    }

    /// May the answer to such a call be disturbed?
    pub(super) fn waits_for(&self, method: &str, endpoint: &str) -> bool {
        self.locked(|all| all.iter().any(|entry| entry.disturb.act.waits() && entry.disturb.is_about(method, endpoint)))
    }

    /// A call has come to this side, `Answer` when etcd has carried it out: the faults that it meets there.
    pub(super) fn strike(&self, method: &str, endpoint: &str, side: Side) -> Vec<Struck> {
        let mut struck = Vec::new();
        self.locked(|all| {
            for Entry { disturb, seen, lifted } in all {
                if disturb.act.waits() != (side == Side::Answer) || !disturb.is_about(method, endpoint) {
                    continue;
                }
                *seen = seen.saturating_add(1);
                if *seen >= disturb.nth && *seen - disturb.nth < disturb.times {
                    struck.push(Struck { key: disturb.key.clone(), id: disturb.id.clone(), act: disturb.act, lifted: lifted.clone() });
                }
            }
        });
        struck
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disturb(id: &str, nth: u32, times: u32, endpoints: &[&str]) -> Disturb {
        let endpoints = endpoints.iter().map(|text| (*text).to_owned()).collect();
        Disturb { key: id.into(), id: id.into(), method: "MemberAdd".into(), endpoints, nth, times, act: Act::Refuse }
    }

    #[test]
    fn each_fault_counts_the_calls_that_it_is_about() {
        let script = Script::default();
        script.add(disturb("second", 2, 2, &[]));
        script.add(disturb("there", 1, 1, &["b:2379"]));
        let met = |method: &str, endpoint: &str| {
            script.strike(method, endpoint, Side::Request).into_iter().map(|struck| struck.id).collect::<Vec<_>>()
        };
        assert_eq!(met("MemberAdd", "a:2379"), [""; 0]);
        assert_eq!(met("MemberList", "b:2379"), [""; 0]);
        assert_eq!(met("MemberAdd", "b:2379"), ["second", "there"]);
        assert_eq!(met("MemberAdd", "b:2379"), ["second"]);
        assert_eq!(met("MemberAdd", "b:2379"), [""; 0]);
    }

    #[test]
    fn what_is_lifted_lets_go_and_meets_nothing_more() {
        let script = Script::default();
        script.add(disturb("held", 1, 5, &[]));
        let struck = script.strike("MemberAdd", "a:2379", Side::Request);
        assert!(!struck[0].lifted.is_cancelled());
        script.lift("held");
        assert!(struck[0].lifted.is_cancelled());
        assert!(script.strike("MemberAdd", "a:2379", Side::Request).is_empty());
    }
}
