//! `time`: how long a step, the joins in it, and the parts of those took.

use std::collections::BTreeSet;
use std::time::Duration;

use super::noise;
use super::window::Window;
use crate::event::{Judgement, SpanKind, Verdict};
use crate::observe::{Noise, Record};
use crate::spec::{Compare, Span, SpanName, Time};
use crate::sys::clock::Stamp;

/// Judges what is demanded. The step itself ended at `ended`; on a machine that is too busy, nothing is known by what took long.
pub fn time(wanted: &Time, record: &Record, window: Window, ended: Stamp, noise: Option<&Noise>) -> Vec<Judgement> {
    let step = wanted.step.map(|bounds| {
        let took = ended.since(window.from);
        judgement("step", bounds, &[("it".to_owned(), Some(took))], Vec::new(), noise)
    });
    let joined: BTreeSet<&String> = nodes(record, window);
    let node = wanted.node.map(|bounds| over(&joined, record, window, SpanKind::Join, "node", bounds, noise));
    let span = wanted.span.iter().map(|(name, bounds)| {
        let kind = kind(*name);
        over(&joined, record, window, kind, &format!("span {}", kind.as_str()), *bounds, noise)
    });
    step.into_iter().chain(node).chain(span).collect()
}

/// The nodes whose joins ended in the step and whose ways are not told yet.
pub fn unexplained(record: &Record, window: Window) -> Vec<String> {
    let told = |node: &String| total(record, window, node, SpanKind::Join).is_some();
    nodes(record, window).into_iter().filter(|node| !told(node)).cloned().collect()
}

fn nodes(record: &Record, window: Window) -> BTreeSet<&String> {
    let ended = |(_, ends): &(&String, &Vec<_>)| ends.iter().any(|end: &crate::observe::KubeadmEnd| end.join && window.holds(end.at));
    record.story.ends.iter().filter(ended).map(|(node, _)| node).collect()
}

/// All of a node's time of a kind; `None` when its way was not told to its end.
fn total(record: &Record, window: Window, node: &String, kind: SpanKind) -> Option<(Duration, Vec<u64>)> {
    let own = || record.story.spans.iter().filter(|(of, stretch, _)| of == node && window.holds(stretch.began));
    own().find(|(_, stretch, _)| stretch.kind == SpanKind::Join)?;
    let meant = own().filter(|(_, stretch, _)| stretch.kind == kind);
    Some(meant.fold((Duration::ZERO, Vec::new()), |(sum, mut seqs), (_, stretch, seq)| {
        seqs.push(*seq);
        (sum + stretch.took, seqs)
    }))
}

fn over(
    nodes: &BTreeSet<&String>,
    record: &Record,
    window: Window,
    kind: SpanKind,
    name: &str,
    bounds: Compare<Span>,
    noise: Option<&Noise>,
) -> Judgement {
    let mut evidence = Vec::new();
    let seen: Vec<(String, Option<Duration>)> = nodes
        .iter()
        .map(|node| {
            let total = total(record, window, node, kind);
            evidence.extend(total.iter().flat_map(|(_, seqs)| seqs.clone()));
            ((*node).clone(), total.map(|(took, _)| took))
        })
        .collect();
    judgement(name, bounds, &seen, evidence, noise)
}

fn judgement(
    name: &str,
    bounds: Compare<Span>,
    seen: &[(String, Option<Duration>)],
    evidence: Vec<u64>,
    noise: Option<&Noise>,
) -> Judgement {
    let each = seen.iter().map(|(_, took)| match took {
        Some(took) => noise::bound(&bounds, (*took, *took), noise.is_some()),
        None => Verdict::Undecided,
    });
    let verdict = each.max().unwrap_or(Verdict::Undecided);
    let words = seen.iter().map(|(who, took)| match took {
        Some(took) => format!("{who} took {}", Span(*took)),
        None => format!("{who} was not seen to its end"),
    });
    let saw = if seen.is_empty() { "no node joined in this step".to_owned() } else { words.collect::<Vec<_>>().join(", ") };
    let saw = noise::beside(saw, verdict, noise);
    Judgement { name: format!("time {name}"), verdict, wanted: bounds.to_string(), saw, evidence }
}

/// The spans' names in files are those in events.
fn kind(name: SpanName) -> SpanKind {
    match name {
        SpanName::Preflight => SpanKind::Preflight,
        SpanName::Discovery => SpanKind::Discovery,
        SpanName::Prepare => SpanKind::Prepare,
        SpanName::SlotWait => SpanKind::SlotWait,
        SpanName::EtcdStart => SpanKind::EtcdStart,
        SpanName::EtcdPublish => SpanKind::EtcdPublish,
        SpanName::Promotion => SpanKind::Promotion,
        SpanName::ApiServerRestarts => SpanKind::ApiServerRestarts,
        SpanName::KubeletCertificate => SpanKind::KubeletCertificate,
        SpanName::ReadinessFloor => SpanKind::ReadinessFloor,
        SpanName::Rest => SpanKind::Rest,
    }
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &Time) -> String {
    let part = |name: &str, bounds: Option<Compare<Span>>| bounds.map(|bounds| format!("{name} {bounds}"));
    let spans = wanted.span.iter().map(|(name, bounds)| format!("{} {bounds}", kind(*name).as_str()));
    [part("step", wanted.step), part("node", wanted.node)].into_iter().flatten().chain(spans).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EtcdMetrics, Event, Told};
    use crate::observe::Stretch;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// A join of 20 s, of which two preflights are 3 s; its way may not be told to its end.
    fn record(told: bool) -> Record {
        let mut record = Record::default();
        let mut hear = |s, event| record.story.hear(&Told { seq: s, at: at(s), event });
        hear(10, Event::KubeadmStarted { node: "cp-2".into(), argv: ["kubeadm", "join"].map(str::to_owned).into() });
        hear(25, Event::KubeadmFinished { node: "cp-2".into(), code: Some(0), phase: None, error: None, took: Duration::ZERO });
        let mut span = |kind, began, took| {
            record.story.span("cp-2", Stretch { kind, began: at(began), took: Duration::from_secs(took) }, began);
        };
        span(SpanKind::Preflight, 10, 1);
        span(SpanKind::Preflight, 12, 2);
        if told {
            span(SpanKind::Join, 10, 20);
        }
        record
    }

    fn most(s: u64) -> Compare<Span> {
        Compare { equals: None, min: None, max: Some(Span(Duration::from_secs(s))) }
    }

    fn verdicts(wanted: &Time, record: &Record) -> Vec<(Verdict, String)> {
        let window = Window { from: at(5), to: at(40) };
        let noise = record.measures.noise(window.from, window.to);
        let judged = time(wanted, record, window, at(26), noise.as_ref());
        judged.into_iter().map(|judgement| (judgement.verdict, judgement.saw)).collect()
    }

    #[test]
    fn step_node_and_span_have_bounds_of_their_own() {
        let wanted = |s: [u64; 3]| Time {
            step: Some(most(s[0])),
            node: Some(most(s[1])),
            span: [(SpanName::Preflight, most(s[2]))].into(),
            when: None,
        };
        let pass = ["it took 21.0s", "cp-2 took 20.0s", "cp-2 took 3.0s"].map(|saw| (Verdict::Pass, saw.to_owned()));
        assert_eq!(verdicts(&wanted([21, 20, 3]), &record(true)), pass);
        let fails: Vec<Verdict> = verdicts(&wanted([20, 19, 2]), &record(true)).into_iter().map(|(verdict, _)| verdict).collect();
        assert_eq!(fails, [Verdict::Fail; 3]);
        let none = Time { span: [(SpanName::SlotWait, most(1))].into(), ..Time::default() };
        assert_eq!(verdicts(&none, &record(true)), [(Verdict::Pass, "cp-2 took 0ms".into())], "it never had to wait");
    }

    #[test]
    fn what_was_not_told_to_its_end_is_undecided() {
        let wanted = Time { node: Some(most(20)), ..Time::default() };
        assert_eq!(verdicts(&wanted, &record(false)), [(Verdict::Undecided, "cp-2 was not seen to its end".into())]);
        assert_eq!(verdicts(&wanted, &Record::default()), [(Verdict::Undecided, "no node joined in this step".into())]);
        assert_eq!(unexplained(&record(false), Window { from: at(5), to: at(40) }), ["cp-2"]);
        assert!(unexplained(&record(true), Window { from: at(5), to: at(40) }).is_empty());
    }

    #[test]
    fn on_a_machine_that_is_too_busy_only_what_was_short_is_decided() {
        let mut noisy = record(true);
        noisy.measures.metrics("cp-1", at(1), &EtcdMetrics { fsync_p99: Some(2.0), ..EtcdMetrics::default() });
        let judged = |max| verdicts(&Time { node: Some(most(max)), ..Time::default() }, &noisy).remove(0);
        let (verdict, saw) = judged(1);
        assert_eq!(verdict, Verdict::Undecided);
        assert!(saw.contains("cp-2 took 20.0s; but the disk was slow"), "{saw}");
        let (verdict, saw) = judged(60);
        assert_eq!(verdict, Verdict::Pass);
        assert!(saw.contains("cp-2 took 20.0s; that the disk was slow"), "{saw}");
    }
}
