//! What a reader should know of a run before all tables: a few sentences, the longest of each kind.

use std::time::Duration;

use super::history::History;
use super::scale::Scale;
use super::ways;
use crate::event::{MemberId, Moment, SpanKind, Verdict};
use crate::report::model::Case;
use crate::report::nodes::Nodes;
use crate::sys::clock::{Stamp, human};

/// What happened so long before a gap may be its cause.
const BEFORE: Duration = Duration::from_secs(1);
/// A gap without an end counts from here on: writers end a moment after the members that they ask.
const OPEN: Duration = Duration::from_secs(2);
/// Of all that happened in a gap so much is told.
const MOST: usize = 4;

/// The sentences; none where nothing of the kind was seen. What failed for want of writes is told first.
pub(super) fn sentences(history: &History, case: &Case, scale: Scale) -> Vec<String> {
    let broken = case.tasks.iter().flat_map(|task| &task.verdicts).chain(case.invariants(Verdict::Fail));
    let of_writes = |name: &str| name.starts_with("writeGap") || name.contains("write-gap");
    let no_writes = broken.map(|seen| &seen.judgement).any(|judged| judged.verdict == Verdict::Fail && of_writes(&judged.name));
    said(history, &case.nodes, scale, no_writes)
}

fn said(history: &History, nodes: &Nodes, scale: Scale, gap_first: bool) -> Vec<String> {
    let gap = gap(history, nodes, scale);
    let (first, later) = if gap_first { (gap, None) } else { (None, gap) };
    let all = [first, slot(history, nodes, scale), ways::sentence(history, nodes), later, published(history, nodes, scale)];
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
    let ended = history.silence.longest;
    let open = history.silence.open().filter(|(from, to)| to.since(*from) >= OPEN);
    let lasts = |gap: &Option<(Stamp, Stamp)>| gap.map_or(Duration::ZERO, |(from, to)| to.since(from));
    let is_open = lasts(&open) > lasts(&ended);
    let (from, to) = if is_open { open? } else { ended? };
    let mut then: Vec<(Stamp, String)> = Vec::new();
    let within = |at: Stamp| from <= at.after(BEFORE) && at <= to;
    let founded = history.lives.values().filter_map(|life| life.moments.get(&Moment::Founded)).map(|sight| sight.at).min();
    for life in history.lives.values() {
        let who = life.owner.as_deref().map_or("a member", |node| nodes.short(node));
        for (moment, sight) in life.moments.iter().filter(|(_, sight)| within(sight.at)) {
            let what = match moment {
                Moment::Announced => "was added as a learner",
                // who founds the cluster is added by nobody
                Moment::Founded if founded.is_some_and(|first| sight.at.since(first) > BEFORE) => "was added as a voter",
                Moment::Promoted => "was promoted",
                Moment::Removed => "was removed",
                Moment::Founded | Moment::Started | Moment::PeerActive | Moment::CaughtUp | Moment::GatePassed => continue,
            };
            then.push((sight.at, format!("{who} {what} at {}", scale.time(sight.at))));
        }
    }
    let faults = history.broken.faults.iter().filter_map(|fault| fault.began.map(|began| (began, &fault.id)));
    then.extend(faults.filter(|(at, _)| within(*at)).map(|(at, id)| (at, format!("fault {id} began at {}", scale.time(at)))));
    let meets = |since: Stamp, until: Option<Stamp>| since < to && until.is_none_or(|until| from < until);
    let lasted = |since: Stamp, until: Option<Stamp>| match until {
        Some(until) => format!("from {} to {}", scale.time(since), scale.time(until)),
        None => format!("from {} on", scale.time(since)),
    };
    for (node, story) in &history.nodes {
        for (since, until) in story.silent.iter().filter(|(since, until)| meets(*since, *until)) {
            then.push((*since, format!("etcd on {} gave no answer {}", nodes.short(node), lasted(*since, *until))));
        }
    }
    for (at, reign) in history.reigns.iter().enumerate().filter(|(_, reign)| reign.leader == MemberId(0)) {
        let until = history.reigns.get(at + 1).map(|next| next.from);
        if meets(reign.from, until) {
            then.push((reign.from, format!("no member knew a leader {}", lasted(reign.from, until))));
        }
    }
    then.extend(no_quorum(history, from, to).map(|(at, words)| (at, format!("from {} on {words}", scale.time(at)))));
    then.sort();
    let then: Vec<String> = then.into_iter().take(MOST).map(|(_, words)| words).collect();
    let then = if then.is_empty() { String::new() } else { format!("; {}", then.join(", ")) };
    let (took, from, to) = (human(to.since(from)), scale.time(from), scale.time(to));
    Some(if is_open {
        format!("No write was acknowledged any more from {from} on; the last one was tried {took} later{then}")
    } else {
        format!("The longest write gap was {took}, from {from} to {to}{then}")
    })
}

/// When, between these, too few voters answered first, and how many.
fn no_quorum(history: &History, from: Stamp, to: Stamp) -> Option<(Stamp, String)> {
    let within = |at: &Stamp| from <= *at && *at < to;
    let mut when: Vec<Stamp> = history.nodes.values().flat_map(|story| story.silent.iter().map(|(since, _)| *since)).collect();
    when.push(from);
    when.sort();
    let few = |at: Stamp| {
        let voters = history.lives.values().filter(|life| {
            let began = life.moments.get(&Moment::Founded).or_else(|| life.moments.get(&Moment::Promoted));
            let gone = life.moments.get(&Moment::Removed);
            began.is_some_and(|began| began.at <= at) && gone.is_none_or(|gone| gone.at > at)
        });
        let owners: Vec<Option<&String>> = voters.map(|life| life.owner.as_ref()).collect();
        let silent = |node: &&String| history.nodes.get(*node).is_some_and(|story| is_silent(&story.silent, at));
        let all = owners.len();
        let up = all - owners.into_iter().flatten().filter(silent).count();
        (up * 2 <= all && up < all).then(|| format!("{up} of {all} voters answered, which is no quorum"))
    };
    when.into_iter().filter(within).find_map(|at| Some((at, few(at)?)))
}

fn is_silent(silent: &[(Stamp, Option<Stamp>)], at: Stamp) -> bool {
    silent.iter().any(|(since, until)| *since <= at && until.is_none_or(|until| at < until))
}

/// Whose etcd hung in its publish timeout.
fn published(history: &History, nodes: &Nodes, scale: Scale) -> Option<String> {
    let late = history.nodes.iter().flat_map(|(node, story)| story.late(history.last).map(|(from, to)| (nodes.short(node), from, to)));
    let each: Vec<String> =
        late.map(|(who, from, to)| format!("{who} for {} from {} on", human(to.since(from)), scale.time(from))).collect();
    (!each.is_empty()).then(|| format!("A new member serves no client before it is through etcd's publish timeout: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::history::{Life, Notes, Reign, Sight};
    use super::*;
    use crate::event::{CallEnd, ClientCall, EtcdWord, Event, Notice, Op, Told};
    use crate::report::script::stamp;

    fn life(node: &str, announced: u64, promoted: Option<u64>) -> Life {
        let sight = |ms| Sight { at: stamp(ms), unsure: Duration::ZERO };
        let mut life = Life { owner: Some(node.into()), ..Life::default() };
        life.moments.insert(Moment::Announced, sight(announced));
        life.moments.extend(promoted.map(|ms| (Moment::Promoted, sight(ms))));
        life
    }

    fn said(history: &History) -> Vec<String> {
        super::said(history, &Nodes::default(), Scale::new(stamp(0), stamp(60_000)), false)
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
        assert_eq!(said(&history)[1], "The longest write gap was 3.0s, from 1.0s to 4.0s; cp-2 was added as a learner at 0.9s.");
        let silent = &mut history.nodes.entry("cp-2".into()).or_default().silent;
        silent.extend([(stamp(200), Some(stamp(900))), (stamp(950), Some(stamp(3_900))), (stamp(5_000), None)]);
        history.reigns.push(Reign { from: stamp(2_000), leader: MemberId(0), term: 2 });
        assert_eq!(
            said(&history)[1],
            "The longest write gap was 3.0s, from 1.0s to 4.0s; cp-2 was added as a learner at 0.9s, etcd on cp-2 gave no answer from 0.9s to 3.9s, \
             no member knew a leader from 2.0s on."
        );
        let founder = Life { moments: [(Moment::Founded, Sight { at: stamp(0), unsure: Duration::ZERO })].into(), ..life("cp-1", 0, None) };
        history.lives.insert(MemberId(1), founder);
        history.lives.insert(MemberId(2), life("cp-2", 100, Some(150)));
        let few = |from, to| no_quorum(&history, stamp(from), stamp(to));
        assert_eq!(few(1_000, 4_000), Some((stamp(1_000), "1 of 2 voters answered, which is no quorum".to_owned())));
        assert_eq!(few(920, 1_000), Some((stamp(950), "1 of 2 voters answered, which is no quorum".to_owned())), "not at once");
        assert_eq!(few(3_900, 4_900), None, "it answers again");
        let first = super::said(&history, &Nodes::default(), Scale::new(stamp(0), stamp(60_000)), true).remove(0);
        assert!(first.starts_with("The longest write gap was"), "{first}");
    }

    #[test]
    fn a_gap_that_lasts_to_the_end_is_told_and_nobody_added_founders() {
        let mut history = History::new(stamp(0), stamp(60_000), Notes::default());
        for id in [1, 2] {
            let founder = Life { moments: [(Moment::Founded, Sight { at: stamp(0), unsure: Duration::ZERO })].into(), ..Life::default() };
            history.lives.insert(MemberId(id), founder);
        }
        hear(&mut history, write(0, 100, CallEnd::Ok));
        assert_eq!(said(&history), ["The longest write gap was 100ms, from 0.0s to 0.1s."]);
        for at in [1, 2, 40] {
            hear(&mut history, write(at * 1_000, at * 1_000 + 10, CallEnd::Failed { why: "refused".into() }));
        }
        assert_eq!(said(&history), ["No write was acknowledged any more from 1.0s on; the last one was tried 39.0s later."]);
        hear(&mut history, write(41_000, 41_010, CallEnd::Ok));
        assert_eq!(said(&history), ["The longest write gap was 40.0s, from 1.0s to 41.0s."]);
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
        assert_eq!(
            said(&history),
            ["A new member serves no client before it is through etcd's publish timeout: cp-2 for 7.1s from 2.0s on."]
        );
    }
}
