//! What was seen so far: the life of each member, and how well anybody looked. Filled from samples alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::history::History;
use super::measure::Measures;
use super::story::Story;
use crate::event::{EtcdMetrics, EtcdSample, Event, FaultMoment, Member, MemberId, MemberStatus, Moment, Told};
use crate::sys::clock::Stamp;

/// A member that had never given a list before may have had it for this long: samples are told at least once a second.
const FIRST_LIST: Duration = Duration::from_secs(1);

/// Metrics are read once a second.
const METRICS: Duration = Duration::from_secs(1);
/// How long a member must have been connected before etcd lets the next one in (`HealthInterval`, `server/etcdserver/server.go`).
const GATE: Duration = Duration::from_secs(5);

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

/// Whom a member took for the leader, from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Led {
    /// When it was seen first.
    pub at: Stamp,
    /// Number of the event.
    pub seq: u64,
    /// The member that says so.
    pub member: MemberId,
    /// Its term.
    pub term: u64,
    /// Whom; 0 for none.
    pub leader: MemberId,
}

/// A member that was down because its node, or itself, was ended, stopped, restarted or cut off on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// The node.
    pub node: String,
    /// When it was told to end.
    pub from: Stamp,
    /// When it was told to run again, or left to itself; `None` while it is kept down.
    pub told_back: Option<Stamp>,
    /// When it answered again.
    pub back: Option<Stamp>,
    /// The task and the id of the fault that did it.
    fault: Option<(usize, String)>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// What times are counted from where people read them.
    zero: Option<Stamp>,
    /// Each member that was ever seen.
    pub lives: BTreeMap<MemberId, Life>,
    /// What was used, and how well anybody looked.
    pub measures: Measures,
    /// What kubeadm said and did, when what came to be, and where the joins' time went.
    pub story: Story,
    /// Whom each member took for the leader, as changes.
    pub leaders: Vec<Led>,
    /// What joinder's own clients saw.
    pub history: History,
    /// Members that the workflow took down, and when they were back.
    pub downs: Vec<Down>,
    /// The last status of each node's member.
    own: BTreeMap<String, MemberStatus>,
    /// Connections that each member holds.
    peers: BTreeMap<MemberId, Vec<MemberId>>,
    /// The last list of each node's member.
    lists: BTreeMap<String, Vec<Member>>,
    /// The last list that any member gave, for when none answers.
    known: Vec<Member>,
    /// Since when each member holds its connections.
    held: BTreeMap<MemberId, BTreeMap<MemberId, Since>>,
    /// The last look at each node's member.
    last: BTreeMap<String, EtcdSample>,
    /// The nodes that nobody can look into, with the reason.
    lost: BTreeMap<String, String>,
}

/// Since when something is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// When it was seen first.
    pub at: Stamp,
    /// Was it seen not to be so before?
    pub begin_seen: bool,
}

impl Record {
    /// An empty one, with what times are counted from.
    pub fn since(zero: Option<Stamp>) -> Self {
        Self { zero, ..Self::default() }
    }

    /// Adds a sample, told as event `seq`. Returns the moments that it is the first to show.
    pub fn sample(&mut self, seq: u64, node: &str, sample: &EtcdSample) -> Vec<(MemberId, String, Moment)> {
        self.measures.looked(node, sample);
        self.found(node);
        if sample.status.is_none()
            && let Some(own) = self.own.get(node)
        {
            // when it is back, its connections are new ones
            self.held.remove(&own.id);
        }
        self.last.insert(node.to_owned(), sample.clone());
        let mut fresh = self.status(seq, node, sample);
        fresh.extend(self.list(seq, node, sample));
        fresh
    }

    fn status(&mut self, seq: u64, node: &str, sample: &EtcdSample) -> Vec<(MemberId, String, Moment)> {
        let Some(status) = &sample.status else { return Vec::new() };
        let back = |down: &&mut Down| down.node == node && down.back.is_none() && down.told_back.is_some_and(|at| at < sample.seen);
        self.downs.iter_mut().filter(back).for_each(|down| down.back = Some(sample.seen));
        self.own.insert(node.to_owned(), status.clone());
        let led = Led { at: sample.seen, seq, member: status.id, term: status.term, leader: status.leader };
        let before = self.leaders.iter().rev().find(|led| led.member == status.id);
        if before.is_none_or(|before| (before.term, before.leader) != (led.term, led.leader)) {
            self.leaders.push(led);
        }
        // etcd's own rule: 90 % of the leader's index (`isLearnerReady`, `server/etcdserver/server.go`)
        let leader = self.own.values().filter(|own| !own.learner && own.index > 0).map(|own| own.index).max();
        let caught_up = status.learner && leader.is_some_and(|leader| status.index.saturating_mul(10) >= leader.saturating_mul(9));
        let sight = Sight { at: sample.seen, unsure: FIRST_LIST, seq };
        if caught_up { self.mark(status.id, Moment::CaughtUp, sight).into_iter().collect() } else { Vec::new() }
    }

    /// Adds what a member says of its connections, told as event `seq`. Returns the moments that it is the first to show.
    pub fn metrics(&mut self, seq: u64, node: &str, seen: Stamp, metrics: Option<&EtcdMetrics>) -> Vec<(MemberId, String, Moment, Stamp)> {
        if let (Some(metrics), Some(own)) = (metrics, self.own.get(node)) {
            self.peers.insert(own.id, metrics.active_peers.clone());
            let (id, begin_seen) = (own.id, self.held.contains_key(&own.id));
            let held = self.held.entry(id).or_default();
            held.retain(|peer, _| metrics.active_peers.contains(peer));
            for peer in &metrics.active_peers {
                held.entry(*peer).or_insert(Since { at: seen, begin_seen });
            }
        }
        let here = |life: &Life| !life.moments.is_empty() && life.sight(Moment::Removed).is_none();
        let votes = |life: &Life| here(life) && (life.sight(Moment::Founded).is_some() || life.sight(Moment::Promoted).is_some());
        let voters: Vec<MemberId> = self.lives.iter().filter(|(_, life)| votes(life)).map(|(id, _)| *id).collect();
        let held = |id: MemberId| voters.iter().filter(|voter| **voter != id).all(|v| self.peers.get(v).is_some_and(|p| p.contains(&id)));
        let joined = self.lives.iter().filter(|(_, life)| here(life) && life.sight(Moment::Announced).is_some());
        let mut due = Vec::new();
        for (id, life) in joined {
            match (life.sight(Moment::PeerActive), life.sight(Moment::Promoted)) {
                (None, _) if held(*id) => due.push((*id, Moment::PeerActive, seen)),
                (Some(active), Some(_)) if seen.since(active.at) >= GATE => due.push((*id, Moment::GatePassed, active.at.after(GATE))),
                (None | Some(_), _) => {}
            }
        }
        let told = due.into_iter().filter_map(|(id, moment, at)| {
            let (id, name, moment) = self.mark(id, moment, Sight { at, unsure: METRICS, seq })?;
            Some((id, name, moment, at))
        });
        told.collect()
    }

    /// Notes a moment in a life, if it is the first of its kind.
    fn mark(&mut self, id: MemberId, moment: Moment, sight: Sight) -> Option<(MemberId, String, Moment)> {
        let life = self.lives.get_mut(&id).filter(|life| !life.moments.contains_key(&moment))?;
        life.moments.insert(moment, sight);
        Some((id, life.name.clone(), moment))
    }

    fn list(&mut self, seq: u64, node: &str, sample: &EtcdSample) -> Vec<(MemberId, String, Moment)> {
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
        self.known = self.newest_list().cloned().unwrap_or_default();
        fresh.extend(self.removed(sight));
        fresh
    }

    /// The node whose member led at that time, as the member said that told of it last.
    pub fn leader_at(&self, at: Stamp) -> Option<String> {
        let led = self.leaders.iter().filter(|led| led.at <= at && led.leader != MemberId(0)).max_by_key(|led| (led.term, led.at))?;
        self.lives.get(&led.leader).map(|life| life.name.clone()).filter(|name| !name.is_empty())
    }

    /// A moment as people read it: `17.4s`.
    pub fn time(&self, at: Stamp) -> String {
        format!("{:.1}s", at.since(self.zero.unwrap_or(Stamp { mono: 0, ..at })).as_secs_f64())
    }

    /// Is there a member that learns?
    pub fn learning(&self) -> bool {
        let has = |life: &Life, moment| life.moments.contains_key(&moment);
        self.lives.values().any(|life| has(life, Moment::Announced) && !has(life, Moment::Promoted) && !has(life, Moment::Removed))
    }

    /// The nodes whose members vote: those that have started.
    pub fn voting(&self) -> BTreeSet<String> {
        let votes = |life: &&Life| {
            let vote = life.sight(Moment::Founded).or(life.sight(Moment::Promoted));
            vote.is_some() && life.sight(Moment::Started).is_some() && life.sight(Moment::Removed).is_none()
        };
        self.lives.values().filter(votes).map(|life| life.name.clone()).collect()
    }

    /// The member of this node was taken down on purpose, and told to run again.
    pub fn restarted(&mut self, node: &str, from: Stamp, told_back: Stamp) {
        self.stopped(node, from);
        self.told_back(node, told_back);
    }

    /// Hears of faults, by which members cannot serve.
    pub fn hear(&mut self, told: &Told) {
        let Event::Fault { index, id, moment, .. } = &told.event else { return };
        let fault = Some((*index, id.clone()));
        match moment {
            FaultMoment::Done { began, down, lasts, .. } => {
                let told_back = (!lasts).then_some(told.at);
                self.downs.extend(down.iter().map(|node| Down {
                    node: node.clone(),
                    from: *began,
                    told_back,
                    back: None,
                    fault: fault.clone(),
                }));
            }
            FaultMoment::Healed => {
                for down in self.downs.iter_mut().filter(|down| down.fault == fault) {
                    down.told_back.get_or_insert(told.at);
                }
            }
            FaultMoment::Armed
            | FaultMoment::Bit { .. }
            | FaultMoment::NeverTriggered
            | FaultMoment::Failed { .. }
            | FaultMoment::NotApplicable { .. } => {}
        }
    }

    /// The member of this node is told to end, and to stay so.
    pub fn stopped(&mut self, node: &str, from: Stamp) {
        self.downs.push(Down { node: node.to_owned(), from, told_back: None, back: None, fault: None });
    }

    /// A member that was told to end is told to run again.
    pub fn told_back(&mut self, node: &str, at: Stamp) {
        let ended = self.downs.iter_mut().filter(|down| down.node == node && down.told_back.is_none() && down.fault.is_none());
        ended.for_each(|down| down.told_back = Some(at));
    }

    /// The nodes whose members vote, and answered when they were looked at last.
    pub fn answering(&self) -> BTreeSet<String> {
        let answers = |node: &String| self.lost(node).is_none() && self.last(node).is_some_and(|sample| sample.status.is_some());
        self.voting().into_iter().filter(answers).collect()
    }

    /// The list of this node's member counts no more.
    pub fn forget(&mut self, node: &str) {
        self.lists.remove(node);
    }

    /// Nobody can look into this node.
    pub fn lose(&mut self, node: &str, why: &str) {
        self.forget(node);
        self.lost.insert(node.to_owned(), why.to_owned());
    }

    /// Somebody looks into it again.
    pub fn found(&mut self, node: &str) {
        self.lost.remove(node);
    }

    /// This node is gone; what its member did stays.
    pub fn gone(&mut self, node: &str) {
        self.forget(node);
        self.last.remove(node);
        self.lost.remove(node);
        self.measures.gone(node);
    }

    /// The last look at a node's member.
    pub fn last(&self, node: &str) -> Option<&EtcdSample> {
        self.last.get(node)
    }

    /// Does any member's last answer name a leader?
    pub fn says_who_leads(&self) -> bool {
        let status = |sample: &EtcdSample| sample.status.as_ref().is_some_and(|own| own.leader != MemberId(0));
        self.last.iter().any(|(node, sample)| !self.lost.contains_key(node) && status(sample))
    }

    /// What each node's member said last, however long ago.
    pub fn last_words(&self) -> &BTreeMap<String, MemberStatus> {
        &self.own
    }

    /// Why nobody can look into a node, if that is so.
    pub fn lost(&self, node: &str) -> Option<&str> {
        self.lost.get(node).map(String::as_str)
    }

    /// Since when a member holds its connections; `None` where it has not said so since it began to answer.
    pub fn held(&self, member: MemberId) -> Option<&BTreeMap<MemberId, Since>> {
        self.held.get(&member)
    }

    /// The list of the member that is furthest in etcd's log, of those that hold one; where members are of several clusters, of the
    /// one that most are of. Where none holds one now, the last one that there was.
    pub fn newest_list(&self) -> Option<&Vec<Member>> {
        let cluster = |node: &String| self.own.get(node).map_or(MemberId(0), |own| own.cluster);
        let fellows = |node: &String| self.lists.keys().filter(|other| cluster(other) == cluster(node)).count();
        let index = |node: &String| self.own.get(node).map_or((0, 0), |own| (own.term, own.index));
        let newest = self.lists.iter().max_by_key(|(node, _)| (fellows(node), index(node))).map(|(_, list)| list);
        newest.or_else(|| Some(&self.known).filter(|known| !known.is_empty()))
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

    #[test]
    fn connections_show_who_is_active_and_when_the_gate_is_passed() {
        let mut record = Record::default();
        let at = |s: u64| Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH };
        let own = |id| Some(MemberStatus { id: MemberId(id), index: 100, term: 2, leader: MemberId(1), ..Default::default() });
        for (node, id) in [("a", 1), ("b", 2)] {
            let members = sample(&[(1, "a", false), (2, "b", true)]).members;
            record.sample(1, node, &EtcdSample { seen: at(1), members, status: own(id), ..sample(&[]) });
        }
        let peers = |ids: &[u64]| EtcdMetrics { active_peers: ids.iter().map(|id| MemberId(*id)).collect(), ..Default::default() };
        let mut see = |s, node, ids: Option<&[u64]>| {
            let told = record.metrics(s, node, at(s), ids.map(peers).as_ref());
            told.into_iter().map(|(id, _, moment, at)| (id.0, moment, at.mono / 1_000_000_000)).collect::<Vec<_>>()
        };
        assert_eq!(see(2, "a", Some(&[])), []);
        assert_eq!(see(3, "a", Some(&[2])), [(2, Moment::PeerActive, 3)]);
        assert_eq!(see(9, "b", None), [], "it has no vote yet");
        let promoted = EtcdSample { seen: at(10), ..sample(&[(1, "a", false), (2, "b", false)]) };
        record.sample(4, "a", &promoted);
        assert_eq!(record.metrics(11, "b", at(11), None).len(), 1);
        assert_eq!(record.lives[&MemberId(2)].sight(Moment::GatePassed).map(|s| s.at.mono), Some(at(8).mono), "5 s behind the connection");
    }

    #[test]
    fn a_learner_has_caught_up_at_90_percent_and_leaders_are_kept_as_changes() {
        let mut record = Record::default();
        record.sample(1, "a", &sample(&[(1, "a", false), (2, "b", true)]));
        let mut see = |seq, node: &str, id, index, term| {
            let status = Some(MemberStatus { id: MemberId(id), index, term, learner: id == 2, leader: MemberId(1), ..Default::default() });
            record.sample(seq, node, &EtcdSample { members: None, status, ..sample(&[]) })
        };
        assert_eq!(see(2, "a", 1, 1_000, 2), []);
        assert_eq!(see(3, "b", 2, 899, 2), []);
        assert_eq!(see(4, "b", 2, 900, 2), [(MemberId(2), "b".into(), Moment::CaughtUp)]);
        assert_eq!(see(5, "b", 2, 950, 3), []);
        assert_eq!(record.leaders.iter().map(|led| (led.member.0, led.term)).collect::<Vec<_>>(), [(1, 2), (2, 2), (2, 3)]);
    }

    #[test]
    fn the_list_of_the_cluster_that_most_are_of_is_taken_however_far_another_is() {
        let mut record = Record::default();
        let mut see = |node: &str, id, cluster, index, names: &[(u64, &str, bool)]| {
            let (id, cluster) = (MemberId(id), MemberId(cluster));
            let status = Some(MemberStatus { id, cluster, index, term: index, ..Default::default() });
            record.sample(1, node, &EtcdSample { status, ..sample(names) });
        };
        see("a", 1, 7, 10, &[(1, "a", false), (2, "b", false)]);
        see("b", 2, 7, 11, &[(1, "a", false), (2, "b", false), (3, "", true)]);
        see("c", 9, 8, 999, &[(9, "c", false)]);
        assert_eq!(record.newest_list().map(Vec::len), Some(3));
        for node in ["a", "b", "c"] {
            record.lose(node, "its agent was lost");
        }
        assert!(record.newest_list().is_some_and(|list| !list.is_empty()), "what was known last");
        assert_eq!(Record::default().newest_list(), None);
    }
}
