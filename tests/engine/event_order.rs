//! Events are the contract: which come in which order, and what holds of any run.

use joinder::event::Event;
use joinder::sys::stop::Stop;

use crate::support::{Rig, workflow};

/// An event's kind and what it is about, without times and samples.
fn shown(event: &Event) -> Option<String> {
    let value = serde_json::to_value(event).expect("JSON");
    let text = |key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let kind = text("type").expect("each event has a type");
    if matches!(event, Event::Etcd { .. } | Event::KubeadmLine { .. }) {
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
async fn nothing_is_told_of_a_node_after_it_was_deleted() {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    let deleting = ran.events.iter().position(|e| matches!(e, Event::TaskStarted { name, .. } if name == "delete")).expect("told");
    let after: Vec<String> = ran.events[deleting + 1..].iter().filter_map(shown).collect();
    assert_eq!(after, ["worked delete one", "cleaned", "task-finished delete passed"]);
}
