//! Each node's join, span by span, and which of it whoever was Ready last had to wait for.

use std::time::Duration;

use serde::Serialize;

use super::history::{History, Life};
use super::scale::Scale;
use crate::event::{Moment, SpanKind};
use crate::report::nodes::Nodes;
use crate::sys::clock::{Stamp, human};

/// More than this part of a join without a name is told aloud (DESIGN: at most 5 %).
const MOST_REST: f64 = 0.05;
/// A learner is announced, and serves clients a moment after its start; so late it is etcd's publish timeout of 7 s.
const PUBLISH: Duration = Duration::from_secs(5);
/// Joins that begin within this time began together: none of them waited for the other.
const TOGETHER: Duration = Duration::from_secs(1);
/// Spans that are named in a sentence.
const MOST_NAMED: usize = 3;

/// All spans, in the order in which a join has them.
const ALL: [SpanKind; 11] = [
    SpanKind::Preflight,
    SpanKind::Discovery,
    SpanKind::Prepare,
    SpanKind::SlotWait,
    SpanKind::EtcdStart,
    SpanKind::Promotion,
    SpanKind::EtcdPublish,
    SpanKind::ApiServerRestarts,
    SpanKind::KubeletCertificate,
    SpanKind::ReadinessFloor,
    SpanKind::Rest,
];

/// The table of one join.
#[derive(Debug, Serialize)]
pub(super) struct Way {
    node: String,
    took: String,
    /// How much of it is on the critical path.
    path: String,
    rest: String,
    much_rest: bool,
    open: bool,
    rows: Vec<Row>,
    /// Spans that it did not have.
    absent: String,
}

#[derive(Debug, Serialize)]
struct Row {
    span: &'static str,
    what: &'static str,
    began: String,
    took: String,
    share: String,
    path: String,
    late: bool,
}

/// A join whose way was told.
#[derive(Debug)]
struct Join<'a> {
    node: &'a str,
    began: Stamp,
    ended: Stamp,
    parts: Vec<Part>,
}

/// A span of it.
#[derive(Debug)]
struct Part {
    kind: SpanKind,
    began: Stamp,
    ended: Stamp,
    /// So much of it is on the critical path.
    critical: Duration,
}

impl Part {
    fn took(&self) -> Duration {
        self.ended.since(self.began)
    }
}

/// What a span is, in words.
pub(super) fn words(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Join => "from kubeadm's start to Ready",
        SpanKind::Preflight => "kubeadm's checks before it does anything",
        SpanKind::Discovery => "until a cluster-info that it trusts",
        SpanKind::Prepare => "certificates, kubeconfigs, manifests, a look at etcd's health, the kubelet's start",
        SpanKind::SlotWait => "its MemberAdd is refused: another learner holds the slot, or the last promotion is too young",
        SpanKind::EtcdStart => "from its member's announcement to its etcd's start",
        SpanKind::Promotion => "its learner catches up and is promoted",
        SpanKind::EtcdPublish => "from the vote until its member serves clients: 7s where etcd's publish timeout strikes",
        SpanKind::ApiServerRestarts => "its kube-apiserver starts anew while the kubelet waits for its certificate",
        SpanKind::KubeletCertificate => "until its kubelet has a certificate and a Node object",
        SpanKind::ReadinessFloor => "from the Node object to its Ready",
        SpanKind::Rest => "what no other span explains",
    }
}

/// Is this etcd's publish timeout?
pub(super) fn is_late(kind: SpanKind, took: Duration) -> bool {
    kind == SpanKind::EtcdPublish && took >= PUBLISH
}

/// The joins in the order of their begin, one table each.
pub(super) fn ways(history: &History, nodes: &Nodes, scale: Scale) -> Vec<Way> {
    let joins = joins(history);
    let last = joins.iter().map(|join| join.ended).max();
    joins.iter().map(|join| way(join, nodes, scale, Some(join.ended) == last)).collect()
}

/// Where the time of the critical path went, the longest first.
pub(super) fn sentence(history: &History, nodes: &Nodes) -> Option<String> {
    let joins = joins(history);
    let failed = |join: &&Join<'_>| {
        history
            .nodes
            .get(join.node)
            .is_some_and(|story| story.runs.iter().any(|run| run.command == "join" && run.ended.is_some() && !run.passed))
    };
    // who failed last was never there, and why is told elsewhere
    let last = joins.iter().max_by_key(|join| join.ended).filter(|join| !failed(join))?;
    let mut each: Vec<(Duration, SpanKind)> = ALL.map(|kind| (critical(&joins, kind), kind)).into();
    let whole: Duration = each.iter().map(|(took, _)| *took).sum();
    each.retain(|(took, _)| !took.is_zero());
    each.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    let named: Vec<String> = each.iter().take(MOST_NAMED).map(|(took, kind)| format!("{} {}", kind.as_str(), human(*took))).collect();
    let who = nodes.short(last.node);
    (!named.is_empty())
        .then(|| format!("{who} was Ready last; of the {} on its critical path, most went to {}", human(whole), named.join(", ")))
}

fn critical(joins: &[Join<'_>], kind: SpanKind) -> Duration {
    joins.iter().flat_map(|join| &join.parts).filter(|part| part.kind == kind).map(|part| part.critical).sum()
}

/// Spans of a node are told one after the other, and then the whole join.
fn joins(history: &History) -> Vec<Join<'_>> {
    let mut joins = Vec::new();
    for (node, story) in &history.nodes {
        let mut parts = Vec::new();
        for (kind, began, took) in &story.spans {
            let (began, ended) = (*began, began.after(*took));
            if *kind == SpanKind::Join {
                joins.push(Join { node, began, ended, parts: std::mem::take(&mut parts) });
            } else {
                parts.push(Part { kind: *kind, began, ended, critical: Duration::ZERO });
            }
        }
    }
    joins.sort_by_key(|join| join.began);
    find_path(&mut joins, history);
    joins
}

/// Back from whoever was Ready last. Where it waited for the learner slot, the way goes on with the member whose leaving of the slot
/// ended the wait; and before its begin, with a join that was under way then: in serial joins the next one waits for it.
fn find_path(joins: &mut [Join<'_>], history: &History) {
    let mut next = joins.iter().enumerate().max_by_key(|(_, join)| join.ended).map(|(at, join)| (at, join.ended));
    while let Some((at, until)) = next {
        let mut to = until;
        let mut onward = None;
        for part in (0..joins[at].parts.len()).rev() {
            let Part { kind, began, ended, .. } = joins[at].parts[part];
            let end = ended.min(to);
            if end <= began {
                continue;
            }
            onward = Some(kind).filter(|kind| *kind == SpanKind::SlotWait).and_then(|_| holder(joins, history, at, (began, end)));
            let from = onward.map_or(began, |(_, left)| left);
            joins[at].parts[part].critical += end.since(from);
            to = from;
            if onward.is_some() {
                break;
            }
        }
        let onward = onward.or_else(|| before(joins, at));
        // stamps of a damaged file may lead around in a circle
        next = onward.filter(|(_, left)| *left < until);
    }
}

/// The join whose member left the learner slot last within a wait for it, and when.
fn holder(joins: &[Join<'_>], history: &History, waiting: usize, (from, to): (Stamp, Stamp)) -> Option<(usize, Stamp)> {
    let left = |life: &Life| {
        let node = life.owner.as_deref().filter(|node| *node != joins[waiting].node)?;
        let left = [Moment::Promoted, Moment::Removed].iter().filter_map(|moment| life.moments.get(moment)).map(|sight| sight.at).min()?;
        let announced = life.moments.get(&Moment::Announced)?.at;
        let join = joins.iter().position(|join| join.node == node && join.began <= announced && announced <= join.ended)?;
        (from < left && left <= to).then_some((join, left))
    };
    history.lives.values().filter_map(left).max_by_key(|(_, left)| *left)
}

/// The join that was under way last before another one began.
fn before(joins: &[Join<'_>], at: usize) -> Option<(usize, Stamp)> {
    let began = joins[at].began;
    let earlier = joins.iter().enumerate().filter(|(_, join)| join.began.after(TOGETHER) < began);
    earlier.map(|(other, join)| (other, join.ended.min(began))).max_by_key(|(_, until)| *until)
}

fn way(join: &Join<'_>, nodes: &Nodes, scale: Scale, open: bool) -> Way {
    let whole = join.ended.since(join.began);
    let share = |took: Duration| if whole.is_zero() { 0.0 } else { took.as_secs_f64() / whole.as_secs_f64() };
    let on_path = |critical: Duration, took: Duration| match critical {
        Duration::ZERO => "–".to_owned(),
        all if all == took => "yes".to_owned(),
        part => format!("{} of it", human(part)),
    };
    let row = |part: &Part| Row {
        span: part.kind.as_str(),
        what: words(part.kind),
        began: scale.time(part.began),
        took: human(part.took()),
        share: format!("{:.1} %", share(part.took()) * 100.0),
        path: on_path(part.critical, part.took()),
        late: is_late(part.kind, part.took()),
    };
    let rest = share(join.parts.iter().filter(|part| part.kind == SpanKind::Rest).map(Part::took).sum());
    let has = |kind: &SpanKind| join.parts.iter().any(|part| part.kind == *kind);
    Way {
        node: nodes.short(join.node).to_owned(),
        took: human(whole),
        path: on_path(join.parts.iter().map(|part| part.critical).sum(), whole),
        rest: format!("{:.1} %", rest * 100.0),
        much_rest: rest > MOST_REST,
        open: open || rest > MOST_REST,
        rows: join.parts.iter().map(row).collect(),
        absent: ALL.iter().filter(|kind| !has(kind)).map(|kind| kind.as_str()).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Notes, Sight};
    use super::*;
    use crate::event::{Event, MemberId, Told};
    use crate::report::script::stamp;

    /// Spans one after the other, in milliseconds from that moment on, and the whole.
    fn told(history: &mut History, node: &str, mut at: u64, spans: &[(SpanKind, u64)]) {
        let mut tell = |span, from, ms| {
            let event = Event::Span { node: node.into(), span, began: stamp(from), took: Duration::from_millis(ms) };
            history.hear(&Told { seq: 1, at: stamp(0), event });
        };
        let begin = at;
        for (span, ms) in spans {
            tell(*span, at, *ms);
            at += ms;
        }
        tell(SpanKind::Join, begin, at - begin);
    }

    fn learner(history: &mut History, id: u64, node: &str, announced: u64, promoted: u64) {
        let sight = |ms| Sight { at: stamp(ms), unsure: Duration::ZERO };
        let moments = [(Moment::Announced, sight(announced)), (Moment::Promoted, sight(promoted))].into();
        history.lives.insert(MemberId(id), Life { owner: Some(node.into()), moments });
    }

    fn shown(history: &History) -> Vec<String> {
        let ways = ways(history, &Nodes::default(), Scale::new(stamp(0), stamp(60_000)));
        let row = |row: &Row| format!("{} {} {} {}", row.span, row.began, row.took, row.path);
        ways.iter().map(|way| format!("{} {}: {}", way.node, way.path, way.rows.iter().map(row).collect::<Vec<_>>().join(", "))).collect()
    }

    /// Two that join at once; the second waits for the first one's promotion at 4 s.
    fn parallel() -> History {
        let mut history = History::new(stamp(0), stamp(0), Notes::default());
        let first = [(SpanKind::Prepare, 1_000), (SpanKind::EtcdStart, 2_000), (SpanKind::Promotion, 1_000)];
        told(&mut history, "cp-2", 0, &[&first[..], &[(SpanKind::EtcdPublish, 7_000), (SpanKind::Rest, 400)]].concat());
        let second = [(SpanKind::Prepare, 1_500), (SpanKind::SlotWait, 7_500), (SpanKind::EtcdStart, 1_000), (SpanKind::Rest, 2_000)];
        told(&mut history, "cp-3", 100, &second);
        learner(&mut history, 2, "cp-2", 1_000, 4_000);
        learner(&mut history, 3, "cp-3", 9_100, 10_100);
        history
    }

    #[test]
    fn who_waits_for_the_slot_waits_for_whoever_holds_it() {
        assert_eq!(
            shown(&parallel()),
            [
                "cp-2 4.0s of it: prepare 0.0s 1.0s yes, etcd-start 1.0s 2.0s yes, promotion 3.0s 1.0s yes, etcd-publish 4.0s 7.0s –, rest 11.0s 400ms –",
                "cp-3 8.1s of it: prepare 0.1s 1.5s –, slot-wait 1.6s 7.5s 5.1s of it, etcd-start 9.1s 1.0s yes, rest 10.1s 2.0s yes",
            ]
        );
        assert_eq!(
            sentence(&parallel(), &Nodes::default()).expect("said"),
            "cp-3 was Ready last; of the 12.1s on its critical path, most went to slot-wait 5.1s, etcd-start 3.0s, rest 2.0s"
        );
    }

    #[test]
    fn one_join_behind_another_waits_for_it() {
        let mut history = History::new(stamp(0), stamp(0), Notes::default());
        told(&mut history, "cp-2", 0, &[(SpanKind::Prepare, 8_000), (SpanKind::ReadinessFloor, 9_000)]);
        told(&mut history, "cp-3", 10_000, &[(SpanKind::Prepare, 8_000), (SpanKind::ReadinessFloor, 1_000)]);
        assert_eq!(
            shown(&history),
            [
                "cp-2 10.0s of it: prepare 0.0s 8.0s yes, readiness-floor 8.0s 9.0s 2.0s of it",
                "cp-3 yes: prepare 10.0s 8.0s yes, readiness-floor 18.0s 1.0s yes",
            ]
        );
    }

    #[test]
    fn a_rest_of_more_than_a_twentieth_is_flagged_and_a_publish_timeout_is_marked() {
        let history = parallel();
        let ways = ways(&history, &Nodes::default(), Scale::new(stamp(0), stamp(60_000)));
        let rests: Vec<(&str, bool, bool)> = ways.iter().map(|way| (way.rest.as_str(), way.much_rest, way.open)).collect();
        assert_eq!(rests, [("3.5 %", false, false), ("16.7 %", true, true)]);
        assert!(ways[0].rows.iter().any(|row| row.late && row.span == "etcd-publish"));
        assert_eq!(
            ways[1].absent,
            "preflight, discovery, promotion, etcd-publish, api-server-restarts, kubelet-certificate, readiness-floor"
        );
    }

    #[test]
    fn stamps_that_lead_in_a_circle_end() {
        let mut history = History::new(stamp(0), stamp(0), Notes::default());
        for (id, node) in [(1, "a"), (2, "b")] {
            told(&mut history, node, 0, &[(SpanKind::SlotWait, 9_000)]);
            learner(&mut history, id, node, 1_000, 9_000);
        }
        assert_eq!(shown(&history).len(), 2);
    }
}
