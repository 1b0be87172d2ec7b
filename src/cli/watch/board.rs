//! From what was seen to what is shown. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::cluster::Followed;
use crate::event::{self, EtcdSample, MemberId, MemberStatus, Moment};
use crate::observe::Record;
use crate::report::{Board, Member, Row, Slot, Use};
use crate::sys::clock::{Stamp, human};

/// A sample comes at least once a second; an older one is none of now.
const STALE: Duration = Duration::from_secs(3);

/// The cluster as it is now.
pub(super) fn board(name: &str, kubernetes: &str, nodes: &BTreeMap<String, Followed>, record: &Record, now: Stamp) -> Board {
    let list = record.newest_list().cloned().unwrap_or_default();
    let said: Vec<(&str, &MemberStatus)> = nodes.keys().filter_map(|node| Some((node.as_str(), status(record, node, now)?))).collect();
    let led = said.iter().filter(|(_, own)| own.leader != MemberId(0)).max_by_key(|(_, own)| own.term).map(|(_, own)| own.leader);
    let ahead = led.and_then(|leader| said.iter().find(|(_, own)| own.id == leader)).map(|(_, own)| own.index);
    let make = |member: &event::Member, status: Option<&MemberStatus>| {
        let index = status.map(|own| own.index);
        Member {
            id: member.id.to_string(),
            name: member.name.clone(),
            learner: member.learner,
            started: member.started(),
            leads: led == Some(member.id),
            answers: status.is_some(),
            index,
            lag: ahead.zip(index).map(|(ahead, own)| ahead.saturating_sub(own)),
            in_sync: ahead.zip(index).map(|(ahead, own)| percent(own, ahead)),
            db_size: status.map(|own| own.db_size),
            version: status.map(|own| own.version.clone()).unwrap_or_default(),
        }
    };
    let mut known = BTreeSet::new();
    let mut rows: Vec<(u8, Row)> = Vec::new();
    for (node, followed) in nodes {
        let own = said.iter().find(|(of, _)| of == node).map(|(_, own)| *own);
        let address = followed.node.as_ref().map(|node| format!("//{}:", node.address));
        let member = list.iter().find(|member| own.is_some_and(|own| own.id == member.id)).or_else(|| {
            let there = |url: &String| address.as_ref().is_some_and(|address| url.contains(address.as_str()));
            list.iter().find(|member| member.name == *node || member.peer_urls.iter().any(there))
        });
        known.extend(member.map(|member| member.id));
        let (state, why) = state(node, followed, record, now);
        let member = member.map(|member| make(member, own.filter(|own| own.id == member.id)));
        let used = record.measures.latest(node).filter(|(_, latest)| now.since(latest.seen) <= STALE);
        let used = used.map(|(component, latest)| {
            let usage = &latest.usage;
            (component.to_owned(), Use { cores: latest.cores, rss: usage.rss, working_set: usage.working_set })
        });
        let row = Row { node: node.clone(), role: followed.role.as_str().into(), state, why, member, used: used.collect() };
        rows.push((followed.index, row));
    }
    rows.sort_by_key(|(index, _)| *index);
    let learner = list.iter().find(|member| member.learner);
    Board {
        at: now.wall,
        cluster: name.to_owned(),
        kubernetes: kubernetes.to_owned(),
        voters: list.iter().filter(|member| !member.learner).count(),
        learners: list.iter().filter(|member| member.learner).count(),
        leader: led.map(|id| list.iter().find(|member| member.id == id).map_or_else(|| id.to_string(), event::Member::label)),
        term: said.iter().map(|(_, own)| own.term).max(),
        slot: learner.map(|member| slot(member, record, now)),
        alarms: said.iter().flat_map(|(_, own)| own.errors.iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect(),
        clusters: clusters(&said),
        nodes: rows.into_iter().map(|(_, row)| row).collect(),
        strangers: list.iter().filter(|member| !known.contains(&member.id)).map(|member| make(member, None)).collect(),
    }
}

fn slot(learner: &event::Member, record: &Record, now: Stamp) -> Slot {
    let announced = record.lives.get(&learner.id).and_then(|life| life.sight(Moment::Announced));
    let seen = announced.map(|sight| now.since(sight.at)).unwrap_or_default();
    Slot { holder: learner.label(), started: learner.started(), seen_ms: u64::try_from(seen.as_millis()).unwrap_or(u64::MAX) }
}

/// The clusters that members say they are of; 0 where an earlier joinder's agent says none.
fn clusters(said: &[(&str, &MemberStatus)]) -> Vec<String> {
    let ids: BTreeSet<MemberId> = said.iter().map(|(_, own)| own.cluster).filter(|id| *id != MemberId(0)).collect();
    ids.into_iter().map(|id| id.to_string()).collect()
}

fn fresh<'a>(record: &'a Record, node: &str, now: Stamp) -> Option<&'a EtcdSample> {
    record.last(node).filter(|sample| record.lost(node).is_none() && now.since(sample.seen) <= STALE)
}

fn status<'a>(record: &'a Record, node: &str, now: Stamp) -> Option<&'a MemberStatus> {
    fresh(record, node, now)?.status.as_ref()
}

/// A node's state, and why it or its member does not answer.
fn state(node: &str, followed: &Followed, record: &Record, now: Stamp) -> (String, Option<String>) {
    if followed.state != "running" {
        return (followed.state.clone(), None);
    }
    let silent = |why: String| ("not answering".to_owned(), Some(why));
    match (record.lost(node), &followed.why, &followed.node) {
        (_, Some(why), _) => silent(why.clone()),
        (Some(why), None, _) => silent(why.to_owned()),
        (None, None, None) => silent("it is being reached".into()),
        (None, None, Some(_)) => match record.last(node) {
            Some(sample) if now.since(sample.seen) > STALE => {
                silent(format!("nothing was heard of it for {}", human(now.since(sample.seen))))
            }
            Some(sample) => ("running".into(), sample.error.clone()),
            None => ("running".into(), None),
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "raft indexes are far below 2^53")]
fn percent(own: u64, ahead: u64) -> f64 {
    // the leader's sample may be the older one
    if ahead == 0 || own >= ahead { 100.0 } else { own as f64 * 100.0 / ahead as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;
    use crate::node::Role;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn followed(index: u8, state: &str, why: Option<&str>) -> Followed {
        let mut followed = Followed::new(Role::ControlPlane, index);
        (followed.state, followed.why) = (state.into(), why.map(str::to_owned));
        followed
    }

    fn list(learner: Option<&str>) -> Vec<event::Member> {
        let member = |id, name: &str, learner| event::Member { id: MemberId(id), name: name.into(), peer_urls: vec![], learner };
        let mut all = vec![member(1, "cp-1", false), member(2, "cp-2", false)];
        all.extend(learner.map(|name| member(3, name, true)));
        all
    }

    fn see(record: &mut Record, ms: u64, node: &str, own: (u64, u64), learner: Option<&str>) {
        let (id, index) = own;
        let status = MemberStatus {
            id: MemberId(id),
            cluster: MemberId(0xc),
            leader: MemberId(1),
            term: 2,
            index,
            db_size: 4_096,
            learner: id == 3,
            ..MemberStatus::default()
        };
        let members = (id != 3).then(|| list(learner));
        record.sample(
            ms,
            node,
            &EtcdSample { seen: at(ms), members, status: Some(status), error: None, gap_ms: Some(100), looks: 1, missed: 0 },
        );
    }

    #[test]
    fn members_leader_lag_and_slot_are_as_the_samples_say() {
        let mut record = Record::default();
        see(&mut record, 1_000, "cp-1", (1, 1_000), Some("cp-3"));
        see(&mut record, 1_100, "cp-2", (2, 990), Some("cp-3"));
        see(&mut record, 1_200, "cp-3", (3, 400), None);
        for (ms, cpu_us) in [(1_000, 0), (2_000, 250_000)] {
            record.measures.used("cp-1", "etcd", at(ms), &Usage { cpu_us, rss: 7, ..Usage::default() });
        }
        let node = |n: u8| (format!("cp-{n}"), followed(n, "running", None));
        let nodes: BTreeMap<String, Followed> = [node(1), node(2), node(3)].into();
        let board = board("c", "v1.36.3", &nodes, &record, at(3_000));
        assert_eq!((board.voters, board.learners, board.term, board.leader.as_deref()), (2, 1, Some(2), Some("cp-1")));
        assert_eq!(board.slot, Some(Slot { holder: "cp-3".into(), started: true, seen_ms: 2_000 }));
        let lags: Vec<_> = board.nodes.iter().filter_map(|row| row.member.as_ref()).map(|m| (m.lag, m.in_sync, m.learner)).collect();
        assert_eq!(lags, [(Some(0), Some(100.0), false), (Some(10), Some(99.0), false), (Some(600), Some(40.0), true)]);
        assert_eq!(board.nodes[0].used["etcd"], Use { cores: Some(0.25), rss: 7, working_set: 0 });
        assert_eq!(board.clusters, ["c"]);
        assert!(board.strangers.is_empty());
    }

    #[test]
    fn who_is_gone_silent_or_strange_is_told() {
        let mut record = Record::default();
        see(&mut record, 1_000, "cp-1", (1, 1_000), Some(""));
        see(&mut record, 1_000, "cp-2", (2, 1_000), Some(""));
        record.lose("cp-2", "lost the agent in cp-2");
        let nodes = [
            ("cp-1".to_owned(), followed(1, "running", None)),
            ("cp-2".to_owned(), followed(2, "running", None)),
            ("cp-4".to_owned(), followed(4, "exited", None)),
        ];
        let seen = |now, nodes: [(String, Followed); 3]| board("c", "", &nodes.into(), &record, at(now));
        let first = seen(1_500, nodes);
        assert_eq!(first.nodes[1].state, "not answering");
        assert_eq!(first.nodes[1].why.as_deref(), Some("lost the agent in cp-2"));
        assert!(first.nodes[1].member.as_ref().is_some_and(|member| !member.answers), "its member stays in the list");
        assert_eq!((first.nodes[2].state.as_str(), &first.nodes[2].member), ("exited", &None));
        assert_eq!(first.strangers.iter().map(|m| (m.id.as_str(), m.started)).collect::<Vec<_>>(), [("3", false)]);
        let nodes = [
            ("cp-1".to_owned(), followed(1, "running", None)),
            ("cp-2".to_owned(), followed(2, "running", Some("no agent"))),
            ("cp-4".to_owned(), followed(4, "paused", None)),
        ];
        let later = seen(60_000, nodes);
        assert_eq!((later.term, later.leader), (None, None), "what is old says nothing of now");
        assert_eq!(later.nodes[1].why.as_deref(), Some("no agent"));
    }

    #[test]
    fn a_member_of_another_cluster_is_seen() {
        let mut record = Record::default();
        see(&mut record, 1_000, "cp-1", (1, 10), None);
        let other = MemberStatus { id: MemberId(9), cluster: MemberId(0xd), term: 7, ..MemberStatus::default() };
        let sample = EtcdSample { seen: at(1_000), members: None, status: Some(other), error: None, gap_ms: None, looks: 1, missed: 0 };
        record.sample(2, "cp-2", &sample);
        let nodes = [("cp-1".to_owned(), followed(1, "running", None)), ("cp-2".to_owned(), followed(2, "running", None))];
        let board = board("c", "", &nodes.into(), &record, at(1_000));
        assert_eq!(board.clusters, ["c", "d"]);
        assert!(board.nodes[1].member.as_ref().is_some_and(|member| !member.answers), "it speaks for another member");
    }
}
