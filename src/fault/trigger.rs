//! What sets a fault off, heard in what is told. Calls are not here: the proxies count those.

use std::collections::BTreeMap;

use crate::event::{Event, MemberId, Moment};
use crate::spec::Observed;

/// Something to be waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// Something that was observed.
    Event(Observed),
    /// kubeadm enters a phase.
    Phase(String),
}

/// Counts what is waited for.
#[derive(Debug)]
pub(super) struct Watch {
    what: Awaited,
    /// Names of the nodes that it must be about; any when `None`.
    nodes: Option<Vec<String>>,
    nth: u32,
    /// Names of nodes by the host of their member's address.
    places: BTreeMap<String, String>,
    seen: BTreeMap<String, u32>,
    /// A learner has no name yet when it is announced; its address tells whose it is.
    members: BTreeMap<MemberId, String>,
    leader: Option<MemberId>,
    /// Of kubeadm on any node, in their order.
    phases: Vec<String>,
}

impl Watch {
    /// For the `nth` time on one node. `places`: names of nodes by host.
    pub(super) fn new(what: Awaited, nodes: Option<Vec<String>>, nth: u32, places: BTreeMap<String, String>) -> Self {
        Self { what, nodes, nth, places, seen: BTreeMap::new(), members: BTreeMap::new(), leader: None, phases: Vec::new() }
    }

    /// What was there in its place, in words, where it never came.
    pub(super) fn instead(&self) -> String {
        let counts: Vec<String> = self.seen.iter().map(|(node, n)| format!("{n} times on {node}")).collect();
        match &self.what {
            _ if !counts.is_empty() => format!(": it was seen {}, and is wanted the {}. time", counts.join(", "), self.nth),
            Awaited::Phase(_) if self.phases.is_empty() => ": no phase of kubeadm was seen".into(),
            Awaited::Phase(wanted) => format!(": there was no phase {wanted}, but {}", self.phases.join(", ")),
            Awaited::Event(_) => String::new(),
        }
    }

    /// Hears an event; what set the fault off, in words, when this was it.
    pub(super) fn hear(&mut self, event: &Event) -> Option<String> {
        if let Event::KubeadmPhase { phase, .. } = event
            && !self.phases.contains(phase)
        {
            self.phases.push(phase.clone());
        }
        let (node, words) = self.meant(event)?;
        if self.nodes.as_ref().is_some_and(|nodes| !nodes.contains(&node)) {
            return None;
        }
        let seen = self.seen.entry(node).or_default();
        *seen += 1;
        (*seen == self.nth).then_some(words)
    }

    fn meant(&mut self, event: &Event) -> Option<(String, String)> {
        match (event, &self.what) {
            (Event::Etcd { sample, .. }, what) => {
                let leader_matters = *what == Awaited::Event(Observed::LeaderChanged);
                for member in sample.members.iter().flatten() {
                    let host = member.peer_urls.first().and_then(|url| url.split("://").nth(1)).and_then(|rest| rest.split(':').next());
                    if let Some(node) = host.and_then(|host| self.places.get(host)) {
                        self.members.insert(member.id, node.clone());
                    }
                }
                let leader = sample.status.as_ref().map(|status| status.leader).filter(|leader| *leader != MemberId(0))?;
                let before = self.leader.replace(leader)?;
                let node = self.members.get(&leader).cloned().unwrap_or_default();
                (leader_matters && before != leader).then(|| (node.clone(), format!("{node} leads")))
            }
            (Event::Member { id, name, moment, .. }, Awaited::Event(wanted)) if is(*wanted, *moment) => {
                let node = self.members.get(id).cloned().unwrap_or_else(|| name.clone());
                Some((node.clone(), format!("{} of {node}", words(*wanted))))
            }
            (Event::KubeadmPhase { node, phase, .. }, Awaited::Phase(wanted)) if phase == wanted => {
                Some((node.clone(), format!("phase {phase} on {node}")))
            }
            _ => None,
        }
    }
}

fn is(wanted: Observed, moment: Moment) -> bool {
    match wanted {
        Observed::LearnerAnnounced => moment == Moment::Announced,
        Observed::MemberStarted => moment == Moment::Started,
        Observed::LearnerPromoted => moment == Moment::Promoted,
        Observed::MemberRemoved => moment == Moment::Removed,
        Observed::LeaderChanged => false,
    }
}

fn words(wanted: Observed) -> &'static str {
    match wanted {
        Observed::LearnerAnnounced => "the learner",
        Observed::MemberStarted => "the start of the member",
        Observed::LearnerPromoted => "the promotion",
        Observed::MemberRemoved => "the removal of the member",
        Observed::LeaderChanged => "the lead",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EtcdSample, Member, MemberStatus};
    use crate::sys::clock::Stamp;

    fn places() -> BTreeMap<String, String> {
        [("10.0.0.2", "cp-1"), ("10.0.0.3", "cp-2")].map(|(a, n)| (a.to_owned(), n.to_owned())).into()
    }

    fn sample(leader: u64) -> Event {
        let member = |id, host: &str| Member {
            id: MemberId(id),
            name: String::new(),
            peer_urls: vec![format!("https://{host}:2380")],
            learner: false,
        };
        let sample = EtcdSample {
            seen: Stamp::now(),
            members: Some(vec![member(1, "10.0.0.2"), member(2, "10.0.0.3")]),
            status: Some(MemberStatus { id: MemberId(1), leader: MemberId(leader), ..Default::default() }),
            error: None,
            gap_ms: None,
            looks: 1,
            missed: 0,
        };
        Event::Etcd { node: "cp-1".into(), sample }
    }

    fn phase(node: &str, phase: &str) -> Event {
        Event::KubeadmPhase { node: node.into(), seen: Stamp::now(), phase: phase.into() }
    }

    #[test]
    fn a_learner_without_a_name_is_known_by_its_address() {
        let announced = Event::Member { id: MemberId(2), name: String::new(), moment: Moment::Announced, seen: Stamp::now() };
        for (nodes, fires) in [(None, true), (Some(vec!["cp-2".to_owned()]), true), (Some(vec!["cp-1".to_owned()]), false)] {
            let mut watch = Watch::new(Awaited::Event(Observed::LearnerAnnounced), nodes, 1, places());
            assert_eq!(watch.hear(&sample(1)), None);
            assert_eq!(watch.hear(&announced), fires.then(|| "the learner of cp-2".to_owned()));
        }
    }

    #[test]
    fn times_are_counted_on_each_node() {
        let mut watch = Watch::new(Awaited::Phase("etcd".into()), None, 2, places());
        let heard = [("cp-1", "etcd"), ("cp-2", "etcd"), ("cp-2", "certs"), ("cp-2", "etcd"), ("cp-2", "etcd")];
        let fired: Vec<bool> = heard.iter().map(|(node, p)| watch.hear(&phase(node, p)).is_some()).collect();
        assert_eq!(fired, [false, false, false, true, false]);
    }

    #[test]
    fn another_leader_than_the_one_that_was_seen_first() {
        let mut watch = Watch::new(Awaited::Event(Observed::LeaderChanged), None, 1, places());
        assert_eq!([watch.hear(&sample(1)), watch.hear(&sample(0)), watch.hear(&sample(1))], [None, None, None]);
        assert_eq!(watch.hear(&sample(2)).as_deref(), Some("cp-2 leads"));
    }
}
