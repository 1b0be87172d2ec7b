//! What a reader should know of a run before all tables: a few sentences, the longest of each kind.

use std::time::Duration;

use super::history::History;
use super::scale::Scale;
use super::ways;
use crate::event::{Moment, SpanKind};
use crate::report::nodes::Nodes;
use crate::sys::clock::{Stamp, human};

/// What happened so long before a gap may be its cause.
const BEFORE: Duration = Duration::from_secs(1);
/// Of all that happened in a gap so much is told.
const MOST: usize = 3;

/// The sentences; none where nothing of the kind was seen.
pub(super) fn sentences(history: &History, nodes: &Nodes, scale: Scale) -> Vec<String> {
    let all = [slot(history, nodes, scale), ways::sentence(history, nodes), gap(history, nodes, scale), published(history, nodes, scale)];
    all.into_iter().flatten().map(|sentence| sentence + ".").collect()
}

/// Who held the learner slot, from when to when.
fn held<'a>(history: &'a History, nodes: &'a Nodes) -> Vec<(&'a str, Stamp, Stamp)> {
    let mut held: Vec<(&str, Stamp, Stamp)> = Vec::new();
    for life in history.lives.values() {
        let Some(from) = life.moments.get(&Moment::Announced) else { continue };
        let left = [Moment::Promoted, Moment::Removed].iter().filter_map(|moment| life.moments.get(moment)).map(|sight| sight.at).min();
        held.push((
            life.owner.as_deref().map_or("a member without a name", |node| nodes.short(node)),
            from.at,
            left.unwrap_or(history.last),
        ));
    }
    held.sort_by_key(|(_, from, _)| *from);
    held
}

/// Who waited longest for the learner slot, and who held it meanwhile; where nobody waited, who held it longest.
fn slot(history: &History, nodes: &Nodes, scale: Scale) -> Option<String> {
    let held = held(history, nodes);
    let spans = history.nodes.iter().flat_map(|(node, story)| story.spans.iter().map(move |span| (nodes.short(node), span)));
    let waits = spans.filter(|(_, (kind, ..))| *kind == SpanKind::SlotWait);
    if let Some((who, (_, from, took))) = waits.max_by_key(|(_, (.., took))| *took) {
        let to = from.after(*took);
        let within = |(name, since, left): &(&str, Stamp, Stamp)| (name.to_owned().to_owned(), (*left).min(to).since((*since).max(*from)));
        let others: Vec<_> = held.iter().filter(|(name, ..)| *name != who).map(within).filter(|(_, took)| !took.is_zero()).collect();
        let rest = took.saturating_sub(others.iter().map(|(_, took)| *took).sum());
        let others = others.iter().map(|(name, took)| format!("{name} held it for {}", human(*took)));
        let rest = format!("{} were no learner's: etcd lets none in for 5s behind a promotion, and kubeadm has to ask again", human(rest));
        let parts: Vec<String> = others.chain([rest]).collect();
        return Some(format!("{who} waited {} for the learner slot: {}", human(*took), parts.join(", ")));
    }
    // of joins whose way was never told to its end
    let runs = history.nodes.iter().flat_map(|(node, story)| story.runs.iter().map(move |run| (nodes.short(node), run)));
    let refused = runs.filter_map(|(who, run)| run.refused.map(|(at, times)| (times, who, at))).max_by_key(|(times, ..)| *times);
    let refused = refused.map(|(times, who, at)| format!("; {who} was refused it {times} times, from {} on", scale.time(at)));
    let (who, from, to) = held.into_iter().max_by_key(|(_, from, to)| to.since(*from))?;
    Some(format!("{who} held the learner slot for {}{}", human(to.since(from)), refused.unwrap_or_default()))
}

/// The longest time in which no write was acknowledged though somebody wrote, and what happened then.
fn gap(history: &History, nodes: &Nodes, scale: Scale) -> Option<String> {
    let (from, to) = history.silence.longest?;
    let mut then: Vec<(Stamp, String)> = Vec::new();
    let within = |at: Stamp| from <= at.after(BEFORE) && at <= to;
    for life in history.lives.values() {
        let who = life.owner.as_deref().map_or("a member", |node| nodes.short(node));
        for (moment, sight) in life.moments.iter().filter(|(_, sight)| within(sight.at)) {
            let what = match moment {
                Moment::Announced => "was added as a learner",
                Moment::Founded => "was added as a voter",
                Moment::Promoted => "was promoted",
                Moment::Removed => "was removed",
                Moment::Started | Moment::PeerActive | Moment::CaughtUp | Moment::GatePassed => continue,
            };
            then.push((sight.at, format!("{who} {what} at {}", scale.time(sight.at))));
        }
    }
    let faults = history.broken.faults.iter().filter_map(|fault| fault.began.map(|began| (began, &fault.id)));
    then.extend(faults.filter(|(at, _)| within(*at)).map(|(at, id)| (at, format!("fault {id} began at {}", scale.time(at)))));
    then.sort();
    let then: Vec<String> = then.into_iter().take(MOST).map(|(_, words)| words).collect();
    let then = if then.is_empty() { String::new() } else { format!("; {}", then.join(", ")) };
    Some(format!("The longest write gap was {}, from {} to {}{then}", human(to.since(from)), scale.time(from), scale.time(to)))
}

/// Whose etcd hung in its publish timeout.
fn published(history: &History, nodes: &Nodes, scale: Scale) -> Option<String> {
    let late = history.nodes.iter().flat_map(|(node, story)| story.late(history.last).map(|(from, to)| (nodes.short(node), from, to)));
    let each: Vec<String> =
        late.map(|(who, from, to)| format!("{who} for {} from {} on", human(to.since(from)), scale.time(from))).collect();
    (!each.is_empty()).then(|| format!("etcd hung in its publish timeout and served no client: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::history::{Life, Notes, Sight};
    use super::*;
    use crate::event::{CallEnd, ClientCall, EtcdWord, Event, MemberId, Notice, Op, Told};
    use crate::report::script::stamp;

    fn life(node: &str, announced: u64, promoted: Option<u64>) -> Life {
        let sight = |ms| Sight { at: stamp(ms), unsure: Duration::ZERO };
        let mut life = Life { owner: Some(node.into()), ..Life::default() };
        life.moments.insert(Moment::Announced, sight(announced));
        life.moments.extend(promoted.map(|ms| (Moment::Promoted, sight(ms))));
        life
    }

    fn said(history: &History) -> Vec<String> {
        sentences(history, &Nodes::default(), Scale::new(stamp(0), stamp(60_000)))
    }

    fn hear(history: &mut History, event: Event) {
        history.hear(&Told { seq: 1, at: stamp(0), event });
    }

    fn write(began: u64, ended: u64, end: CallEnd) -> Event {
        let (client, node, key) = ("writer cp-1".into(), "cp-1".into(), "own/1".into());
        let (began, ended) = (stamp(began), stamp(ended));
        Event::Called { call: ClientCall { client, node, op: Op::Write, key, value: Some(1), began, ended, end, revision: 1 } }
    }

    #[test]
    fn who_waited_for_the_slot_is_told_with_who_held_it() {
        let mut history = History::new(stamp(0), stamp(60_000), Notes::default());
        history.lives.insert(MemberId(2), life("cp-2", 1_000, Some(3_000)));
        assert_eq!(said(&history), ["cp-2 held the learner slot for 2.0s."]);
        let span = |span, began, ms| Event::Span { node: "cp-3".into(), span, began: stamp(began), took: Duration::from_millis(ms) };
        hear(&mut history, span(SpanKind::SlotWait, 1_500, 7_000));
        assert_eq!(
            said(&history),
            [
                "cp-3 waited 7.0s for the learner slot: cp-2 held it for 1.5s, 5.5s were no learner's: etcd lets none in for 5s behind a promotion, and kubeadm has to ask again."
            ]
        );
    }

    #[test]
    fn the_longest_write_gap_is_one_in_which_somebody_wrote() {
        let mut history = History::new(stamp(0), stamp(60_000), Notes::default());
        for event in [
            write(0, 10, CallEnd::Ok),
            write(1_000, 1_010, CallEnd::Unknown { why: "late".into() }),
            write(2_500, 4_000, CallEnd::Ok),
            // nobody wrote meanwhile
            write(30_000, 30_010, CallEnd::Ok),
        ] {
            hear(&mut history, event);
        }
        history.lives.insert(MemberId(2), life("cp-2", 900, None));
        let said = said(&history);
        assert_eq!(said[1], "The longest write gap was 3.0s, from 1.0s to 4.0s; cp-2 was added as a learner at 0.9s.");
    }

    #[test]
    fn a_publish_timeout_is_told_by_etcds_own_log() {
        let mut history = History::new(stamp(0), stamp(60_000), Notes::default());
        let mut log = |ms, word| {
            hear(&mut history, Event::Noticed { node: "cp-2".into(), seen: stamp(ms), notice: Notice::EtcdLog { word, member: None } });
        };
        log(1_000, EtcdWord::Starting);
        log(1_100, EtcdWord::Serving);
        log(2_000, EtcdWord::Starting);
        log(9_000, EtcdWord::PublishFailed);
        log(9_060, EtcdWord::Serving);
        assert_eq!(said(&history), ["etcd hung in its publish timeout and served no client: cp-2 for 7.1s from 2.0s on."]);
    }
}
