//! Real kubeadm in real containers: what the README promises of `joinder run`.

mod support;

use std::path::Path;

use serde_json::Value;

fn events(artifacts: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(artifacts.join("events.jsonl")).expect("events were written");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an event")).collect()
}

#[test]
fn two_control_planes_join_at_once() {
    if !support::may_run("two_control_planes_join_at_once") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let output = support::run(Path::new("workflows/join/parallel.yaml"), dir.path());
    assert_eq!(output.status.code(), Some(0));

    let events = events(dir.path());
    let of = |kind: &str| events.iter().filter(|e| e["type"] == kind).collect::<Vec<_>>();
    assert_eq!(events.last().expect("some")["type"], "run-finished");
    let joins: Vec<_> = of("worked").into_iter().filter(|e| e["work"] == "join").collect();
    assert_eq!(joins.len(), 2);
    let promoted = of("member").into_iter().filter(|e| e["moment"] == "promoted").count();
    assert_eq!(promoted, 2, "both were learners before they were voters");
    assert!(of("judged").iter().all(|e| e["judgement"]["verdict"] == "pass"));
    assert_eq!(of("cleaned").last().expect("it is always deleted")["left"], Value::Array(Vec::new()));
}

#[test]
fn what_is_not_so_fails_and_says_what_was_seen() {
    if !support::may_run("what_is_not_so_fails_and_says_what_was_seen") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("nine.yaml");
    let shipped = std::fs::read_to_string("workflows/join/parallel.yaml").expect("it is there");
    let nine = shipped.replace("members: {voters: 1,", "members: {voters: 9,");
    assert_ne!(nine, shipped);
    std::fs::write(&file, nine).expect("written");
    let output = support::run(&file, &dir.path().join("artifacts"));
    assert_eq!(output.status.code(), Some(100));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("wanted voters 9") && said.contains("saw voters 1"), "{said}");
}
