//! Events are the contract: which come in which order, and what holds of any run.

use std::time::Duration;

use joinder::event::{Event, SpanKind};
use joinder::sys::stop::Stop;

use crate::support::{Rig, workflow};

/// An event's kind and what it is about, without times and samples.
fn shown(event: &Event) -> Option<String> {
    let value = serde_json::to_value(event).expect("JSON");
    let text = |key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let kind = text("type").expect("each event has a type");
    // what is noticed comes in between as it happens; where time went is about earlier moments, and told once it is known
    if matches!(event, Event::Etcd { .. } | Event::KubeadmLine { .. } | Event::Noticed { .. } | Event::Span { .. }) {
        return None;
    }
    // tests/engine/invariants.rs
    if matches!(event, Event::Judged { index: 0, .. }) {
        return None;
    }
    let outcome = value.pointer("/outcome/is").and_then(|v| v.as_str()).map(str::to_owned);
    let verdict = value.pointer("/judgement/verdict").and_then(|v| v.as_str()).map(str::to_owned);
    let judged = value.pointer("/judgement/name").and_then(|v| v.as_str()).map(str::to_owned);
    let what =
        [text("task"), text("work"), text("on"), text("node"), text("name"), text("moment"), text("phase"), judged, verdict, outcome];
    Some(std::iter::once(kind).chain(what.into_iter().flatten()).collect::<Vec<_>>().join(" "))
}

#[tokio::test(start_paused = true)]
async fn a_serial_run_is_told_in_order() {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", "serial"), "r1", &Stop::new()).await;
    let lines: Vec<String> = ran.events.iter().filter_map(shown).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn each_node_of_a_parallel_run_is_told_in_order() {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    let lines: Vec<String> = ran.events.iter().filter_map(shown).filter(|l| l.contains("one-control-plane-3")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn where_the_time_of_each_join_went_is_told_before_the_cluster_goes() {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    let deleting = ran.events.iter().position(|e| matches!(e, Event::TaskStarted { name, .. } if name == "delete")).expect("told");
    for node in ["one-control-plane-2", "one-control-plane-3", "one-worker-1"] {
        let spans: Vec<(SpanKind, Duration)> = ran.events[..deleting].iter().filter_map(|event| span_of(event, node)).collect();
        let (whole, parts): (Vec<_>, Vec<_>) = spans.into_iter().partition(|(kind, _)| *kind == SpanKind::Join);
        assert_eq!(whole.len(), 1, "{node}");
        assert_eq!(parts.iter().map(|(_, took)| *took).sum::<Duration>(), whole[0].1, "{node}: they fill it");
    }
}

fn span_of(event: &Event, of: &str) -> Option<(SpanKind, Duration)> {
    if let Event::Span { node, span, took, .. } = event
        && node == of
    {
        return Some((*span, *took));
    }
    None
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_of_a_node_after_it_was_deleted() {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    let deleting = ran.events.iter().position(|e| matches!(e, Event::TaskStarted { name, .. } if name == "delete")).expect("told");
    let after: Vec<String> = ran.events[deleting + 1..].iter().filter_map(shown).collect();
    assert_eq!(after, ["worked delete one", "cleaned", "task-finished delete passed"]);
}
