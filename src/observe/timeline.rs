//! Follows each node's way into the cluster by what is told, and says where its time went once it is there.

use std::collections::BTreeMap;

use super::passage::{Passage, Stretch};
use crate::event::{EtcdWord, Event, Moment, Notice, Told, Work};
use crate::kubeadm::marks;

/// A node's way, and what is known of its end.
#[derive(Default)]
struct Way {
    passage: Passage,
    /// Its last kubeadm has succeeded, and its API server serves.
    joined: bool,
}

/// The ways of all nodes that are not told yet.
#[derive(Default)]
pub(super) struct Timeline {
    ways: BTreeMap<String, Way>,
}

/// Where a node's time went.
pub(super) struct Explained {
    /// The node.
    pub(super) node: String,
    /// All of it.
    pub(super) whole: Stretch,
    /// Its parts.
    pub(super) stretches: Vec<Stretch>,
}

impl Timeline {
    /// Hears an event; returns where a node's time went when this was the last that was to be seen of its way.
    pub(super) fn hear(&mut self, told: &Told) -> Option<Explained> {
        self.note(told);
        let ended = match ended(&told.event)? {
            End::Failed(node) => Some(node),
            End::Part(node) => self.ways.get(node).filter(|way| way.joined && way.passage.ready.is_some()).map(|_| node),
        };
        ended.and_then(|node| self.explain(node))
    }

    /// What is to be said of the nodes that have joined, though nobody saw them get Ready.
    pub(super) fn rest(&mut self) -> Vec<Explained> {
        let joined: Vec<String> = self.ways.iter().filter(|(_, way)| way.joined).map(|(node, _)| node.clone()).collect();
        joined.iter().filter_map(|node| self.explain(node)).collect()
    }

    fn explain(&mut self, node: &str) -> Option<Explained> {
        let way = self.ways.remove(node)?;
        let (whole, stretches) = (way.passage.whole()?, way.passage.stretches());
        Some(Explained { node: node.to_owned(), whole, stretches })
    }

    fn note(&mut self, told: &Told) {
        if let Event::KubeadmStarted { node, argv } = &told.event
            && argv.get(1).is_some_and(|command| command == "join")
        {
            self.ways.entry(node.clone()).or_default().passage.began.push(told.at);
        }
        let Some(way) = node_of(&told.event).and_then(|node| self.ways.get_mut(node)) else { return };
        let passage = &mut way.passage;
        if let Event::KubeadmLine { seen, line, .. } = &told.event
            && let Some(mark) = marks::mark(line)
        {
            passage.mark(*seen, mark);
        }
        if let Event::KubeadmFinished { .. } = &told.event {
            passage.ended.push(told.at);
        }
        if let Event::Worked { .. } = &told.event {
            way.joined = true;
        }
        if let Event::Member { moment: Moment::Started, seen, .. } = &told.event {
            passage.started = Some(*seen);
        }
        if let Event::Member { moment: Moment::Promoted, seen, .. } = &told.event {
            passage.promoted = Some(*seen);
        }
        if let Event::Noticed { seen, notice, .. } = &told.event {
            match notice {
                Notice::ProcessStarted { component, .. } if component == "kube-apiserver" => passage.api_servers.push(*seen),
                Notice::KubeletCertificate => passage.certificate = Some(*seen),
                Notice::NodeReady => passage.ready = Some(*seen),
                Notice::EtcdLog { word: EtcdWord::Serving, .. } => passage.serving = passage.serving.or(Some(*seen)),
                Notice::ProcessStarted { .. }
                | Notice::CertificateRequest { .. }
                | Notice::NodeRegistered
                | Notice::InitialCluster { .. }
                | Notice::DataHash { .. }
                | Notice::EtcdLog { .. } => {}
            }
        }
    }
}

/// What an event ends.
enum End<'a> {
    /// The whole way, without success.
    Failed(&'a str),
    /// One of two things: joining, and getting Ready.
    Part(&'a str),
}

fn ended(event: &Event) -> Option<End<'_>> {
    if let Event::KubeadmFinished { node, code, .. } = event {
        return (*code != Some(0)).then_some(End::Failed(node));
    }
    if let Event::Noticed { node, notice: Notice::NodeReady, .. } | Event::Worked { on: node, work: Work::Join, .. } = event {
        return Some(End::Part(node));
    }
    None
}

/// The node whose way an event may be about.
fn node_of(event: &Event) -> Option<&str> {
    if let Event::KubeadmLine { node, .. }
    | Event::KubeadmFinished { node, .. }
    | Event::Noticed { node, .. }
    | Event::Member { name: node, .. }
    | Event::Worked { on: node, work: Work::Join, .. } = event
    {
        return Some(node);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::SpanKind;
    use crate::sys::clock::Stamp;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn told(ms: u64, event: Event) -> Told {
        Told { seq: ms, at: at(ms), event }
    }

    fn started(node: &str) -> Event {
        Event::KubeadmStarted { node: node.into(), argv: ["kubeadm", "join"].map(str::to_owned).into() }
    }

    fn finished(node: &str, code: i32) -> Event {
        Event::KubeadmFinished { node: node.into(), code: Some(code), phase: None, error: None, took: Duration::ZERO }
    }

    fn line(node: &str, ms: u64, line: &str) -> Event {
        Event::KubeadmLine { node: node.into(), seen: at(ms), line: line.into() }
    }

    fn joined(node: &str) -> Event {
        Event::Worked { work: Work::Join, on: node.into(), began: at(0), took: Duration::ZERO }
    }

    fn ready(node: &str, ms: u64) -> Event {
        Event::Noticed { node: node.into(), seen: at(ms), notice: Notice::NodeReady }
    }

    #[test]
    fn a_way_is_told_once_both_its_ends_were_seen_in_any_order() {
        for ends in [[joined("cp-2"), ready("cp-2", 5_000)], [ready("cp-2", 5_000), joined("cp-2")]] {
            let mut timeline = Timeline::default();
            for event in [started("cp-2"), line("cp-2", 100, "[certs] Generating"), finished("cp-2", 0)] {
                assert!(timeline.hear(&told(4_000, event)).is_none());
            }
            assert!(timeline.hear(&told(5_000, ready("cp-9", 5_000))).is_none(), "somebody else's");
            let [first, second] = ends;
            assert!(timeline.hear(&told(5_000, first)).is_none());
            let explained = timeline.hear(&told(5_001, second)).expect("told");
            assert_eq!((explained.node.as_str(), explained.whole.took), ("cp-2", Duration::from_secs(1)));
            assert!(timeline.rest().is_empty());
        }
    }

    #[test]
    fn a_failed_join_is_told_at_once_and_one_that_nobody_saw_ready_at_the_end() {
        let mut timeline = Timeline::default();
        timeline.hear(&told(0, started("cp-2")));
        timeline.hear(&told(0, started("cp-3")));
        let failed = timeline.hear(&told(2_000, finished("cp-3", 1))).expect("told");
        assert_eq!(failed.stretches.iter().map(|s| s.kind).collect::<Vec<_>>(), [SpanKind::Preflight]);
        timeline.hear(&told(3_000, finished("cp-2", 0)));
        assert!(timeline.rest().is_empty(), "its API server does not serve yet");
        timeline.hear(&told(3_100, joined("cp-2")));
        assert_eq!(timeline.rest().len(), 1);
    }

    #[test]
    fn init_is_no_join() {
        let mut timeline = Timeline::default();
        let init = Event::KubeadmStarted { node: "cp-1".into(), argv: ["kubeadm", "init"].map(str::to_owned).into() };
        timeline.hear(&told(0, init));
        assert!(timeline.hear(&told(1, finished("cp-1", 1))).is_none());
    }
}
