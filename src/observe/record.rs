//! What was seen so far: the life of each member, and how well anybody looked. Filled from samples alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::event::{EtcdSample, Member, MemberId, Moment};
use crate::sys::clock::Stamp;

/// A member that had never given a list before may have had it for this long: samples are told at least once a second.
const FIRST_LIST: Duration = Duration::from_secs(1);

/// A moment as it was seen: when, how much earlier it may have been, and the event that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// When.
    pub at: Stamp,
    /// Time since that member's list was last seen without it.
    pub unsure: Duration,
    /// Number of the event.
    pub seq: u64,
}

/// The life of one etcd member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Its name, once it has one.
    pub name: String,
    /// Each moment, first seen anywhere.
    pub moments: BTreeMap<Moment, Sight>,
}

impl Life {
    /// When a moment was first seen, if it was.
    pub fn sight(&self, moment: Moment) -> Option<Sight> {
        self.moments.get(&moment).copied()
    }
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Each member that was ever seen.
    pub lives: BTreeMap<MemberId, Life>,
    /// The last list of each node's member.
    lists: BTreeMap<String, Vec<Member>>,
}

impl Record {
    /// Adds a sample, told as event `seq`. Returns the moments that it is the first to show.
    pub fn sample(&mut self, seq: u64, node: &str, sample: &EtcdSample) -> Vec<(MemberId, String, Moment)> {
        let Some(list) = &sample.members else {
            // A learner has a status and gives no list. Whoever does not answer at all holds no list that counts: its member may
            // be gone. What follows from that is seen in the others' next lists, which may lag behind its last one now.
            if sample.status.is_none() {
                self.forget(node);
            }
            return Vec::new();
        };
        let unsure = sample.gap_ms.map_or(FIRST_LIST, Duration::from_millis);
        let sight = Sight { at: sample.seen, unsure, seq };
        let mut fresh = Vec::new();
        for member in list {
            let life = self.lives.entry(member.id).or_default();
            if member.started() {
                life.name.clone_from(&member.name);
            }
            let known = !life.moments.is_empty();
            let mut mark = |moment: Moment| {
                if life.moments.insert(moment, sight).is_none() {
                    fresh.push((member.id, member.name.clone(), moment));
                }
            };
            match (known, member.learner) {
                (false, true) => mark(Moment::Announced),
                (false, false) => mark(Moment::Founded),
                (true, _) => {}
            }
            if member.started() && !life.moments.contains_key(&Moment::Started) {
                life.moments.insert(Moment::Started, sight);
                fresh.push((member.id, member.name.clone(), Moment::Started));
            }
            let learned = life.moments.contains_key(&Moment::Announced);
            if learned && !member.learner && !life.moments.contains_key(&Moment::Promoted) {
                life.moments.insert(Moment::Promoted, sight);
                fresh.push((member.id, member.name.clone(), Moment::Promoted));
            }
        }
        self.lists.insert(node.to_owned(), list.clone());
        fresh.extend(self.removed(sight));
        fresh
    }

    /// The list of this node's member counts no more.
    pub fn forget(&mut self, node: &str) {
        self.lists.remove(node);
    }

    /// Members that no list holds any more.
    fn removed(&mut self, sight: Sight) -> Vec<(MemberId, String, Moment)> {
        let held: BTreeSet<MemberId> = self.lists.values().flatten().map(|m| m.id).collect();
        let mut fresh = Vec::new();
        for (id, life) in &mut self.lives {
            if !held.contains(id) && !life.moments.contains_key(&Moment::Removed) {
                life.moments.insert(Moment::Removed, sight);
                fresh.push((*id, life.name.clone(), Moment::Removed));
            }
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(members: &[(u64, &str, bool)]) -> EtcdSample {
        let member = |(id, name, learner): &(u64, &str, bool)| Member {
            id: MemberId(*id),
            name: (*name).into(),
            peer_urls: vec![],
            learner: *learner,
        };
        EtcdSample {
            seen: Stamp::now(),
            members: Some(members.iter().map(member).collect()),
            status: None,
            error: None,
            looks: 1,
            gap_ms: Some(50),
            missed: 0,
        }
    }

    fn moments(record: &mut Record, seq: u64, node: &str, members: &[(u64, &str, bool)]) -> Vec<(u64, Moment)> {
        let fresh = record.sample(seq, node, &sample(members));
        fresh.into_iter().map(|(id, _, moment)| (id.0, moment)).collect()
    }

    #[test]
    fn a_learner_is_announced_started_promoted_each_once() {
        let mut record = Record::default();
        let mut see = |seq, node, members: &[(u64, &str, bool)]| moments(&mut record, seq, node, members);
        assert_eq!(see(1, "a", &[(1, "a", false)]), [(1, Moment::Founded), (1, Moment::Started)]);
        assert_eq!(see(2, "a", &[(1, "a", false), (2, "", true)]), [(2, Moment::Announced)]);
        assert_eq!(see(3, "a", &[(1, "a", false), (2, "b", true)]), [(2, Moment::Started)]);
        assert_eq!(see(4, "b", &[(1, "a", false), (2, "b", false)]), [(2, Moment::Promoted)]);
        assert_eq!(see(5, "a", &[(1, "a", false), (2, "b", false)]), []);
        assert_eq!(see(6, "a", &[(1, "a", false)]), [], "b's list still holds it");
        assert_eq!(see(7, "b", &[(1, "a", false)]), [(2, Moment::Removed)]);
        assert_eq!(record.lives[&MemberId(2)].sight(Moment::Promoted).map(|s| s.seq), Some(4));
    }

    #[test]
    fn a_member_that_was_reset_is_removed_though_its_own_last_list_held_it() {
        let mut record = Record::default();
        let both: &[(u64, &str, bool)] = &[(1, "a", false), (2, "b", false)];
        moments(&mut record, 1, "a", both);
        moments(&mut record, 2, "b", both);
        assert_eq!(moments(&mut record, 3, "a", &both[..1]), [], "b's list still holds it");
        let silent = EtcdSample { members: None, ..sample(&[]) };
        assert_eq!(record.sample(4, "b", &silent), []);
        assert_eq!(moments(&mut record, 5, "a", &both[..1]), [(2, Moment::Removed)]);
    }

    #[test]
    fn a_list_that_lags_does_not_announce_again() {
        let mut record = Record::default();
        moments(&mut record, 1, "a", &[(1, "a", false), (2, "b", false)]);
        assert_eq!(moments(&mut record, 2, "b", &[(1, "a", false), (2, "b", true)]), []);
    }
}
