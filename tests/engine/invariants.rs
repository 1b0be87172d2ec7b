//! Invariants while a case runs: what a broken one ends, and what is told of the others.

use joinder::cli::Exit;
use joinder::event::{Event, INVARIANTS, Judgement, Outcome, Verdict};
use joinder::runner::CaseResult;
use joinder::runtime::Fault;
use joinder::runtime::fake::{Way, When};
use joinder::spec::Invariant;
use joinder::sys::stop::Stop;
use joinder::workflow::Plan;

use crate::support::{Ran, Rig, Script, plan, workflow};

fn judged(ran: &Ran) -> Vec<&Judgement> {
    let mut all = Vec::new();
    for event in &ran.events {
        if let Event::Judged { index: 0, task, judgement } = event
            && task == INVARIANTS
        {
            all.push(judgement);
        }
    }
    all
}

fn verdict(ran: &Ran, one: Invariant) -> Option<Verdict> {
    judged(ran).into_iter().find(|judgement| judgement.name == one.title()).map(|judgement| judgement.verdict)
}

/// A member raises an alarm in the task `fill`, and what comes behind it.
fn alarm(head: &str) -> Plan {
    plan(&format!(
        "{{version: 2, cluster: {{name: one, controlPlanes: 1}}, {head} tasks: [
           {{name: init, init: {{}}}},
           {{name: fill, exec: {{nodes: first, command: [fill-up]}}}},
           {{name: wait, timeout: 5m, wait: {{time: 2m}}}},
           {{name: look, expect: {{members: {{voters: 1}}}}}},
           {{name: delete, force: true, delete: {{}}}}]}}"
    ))
}

#[tokio::test(start_paused = true)]
async fn each_is_judged_once_and_what_could_be_seen_holds() {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    assert_eq!(ran.result, CaseResult::default(), "nothing that was not seen leaves it undecided");
    let names: Vec<&str> = judged(&ran).iter().map(|judgement| judgement.name.as_str()).collect();
    assert_eq!(names, Invariant::ALL.map(Invariant::title));
    let lines: Vec<String> = judged(&ran).iter().map(|j| format!("{} {:?}", j.name, j.verdict)).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let last = ran.events.iter().rposition(|e| matches!(e, Event::TaskFinished { .. })).expect("told");
    assert!(ran.events[last + 1..].iter().all(|e| matches!(e, Event::Judged { .. })), "behind the last task");
}

#[tokio::test(start_paused = true)]
async fn a_broken_one_ends_ordinary_work_and_leaves_cleanup_alone() {
    let rig = Rig::new();
    let ran = rig.run(&alarm(""), "r1", &Stop::new()).await;
    assert_eq!(ran.result.failed.as_deref(), Some("no-alarm"));
    assert_eq!(Exit::of(&ran.result, None).code(), 100);
    assert_eq!(ran.outcome("wait"), Outcome::Stopped, "it is not waited out");
    assert_eq!(ran.outcome("look"), Outcome::Skipped { reason: "no-alarm does not hold".into() });
    assert_eq!(ran.outcome("delete"), Outcome::Passed);
    assert_eq!(ran.left, [""; 0]);
    let told = ran.events.iter().position(|e| matches!(e, Event::Judged { index: 0, .. })).expect("told");
    let stopped = ran.events.iter().position(|e| matches!(e, Event::TaskFinished { name, .. } if name == "wait")).expect("told");
    assert!(told < stopped, "at once");
    assert_eq!(judged(&ran).len(), Invariant::ALL.len(), "the others are judged too");
}

#[tokio::test(start_paused = true)]
async fn without_fail_fast_the_case_goes_on_and_fails_at_its_end() {
    let rig = Rig::new();
    let ran = rig.run(&alarm("invariants: {failFast: false},"), "r1", &Stop::new()).await;
    assert!(ran.outcomes().iter().all(Outcome::passed), "{:?}", ran.outcomes());
    assert_eq!(ran.result.failed.as_deref(), Some("no-alarm"));
    assert_eq!(verdict(&ran, Invariant::NoAlarm), Some(Verdict::Fail));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_off_is_not_judged() {
    let rig = Rig::new();
    let ran = rig.run(&alarm("invariants: {off: [no-alarm]},"), "r1", &Stop::new()).await;
    assert_eq!(ran.result, CaseResult::default());
    assert_eq!(verdict(&ran, Invariant::NoAlarm), None);
}

#[tokio::test(start_paused = true)]
async fn other_data_on_one_voter_is_found_at_the_end_of_a_task() {
    let rig = Rig::new();
    rig.nodes.other_data("one-control-plane-2");
    let ran = rig.run(&workflow("one", "serial"), "r1", &Stop::new()).await;
    assert_eq!(ran.result.failed.as_deref(), Some("I10 data-equal"));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_has_its_own_exit_code() {
    let rig = Rig::new();
    let target = "one-control-plane-1".to_owned();
    rig.engine.disturb(When::Next { op: "remove container", target, times: usize::MAX }, Way::Refuse(Fault::Other));
    let ran =
        rig.run(&plan("{version: 2, cluster: {name: one, controlPlanes: 1}, tasks: [{name: init, init: {}}]}"), "r1", &Stop::new()).await;
    assert_eq!(verdict(&ran, Invariant::NothingLeft), Some(Verdict::Fail));
    assert_eq!(Exit::of(&ran.result, None).code(), 101);
}

#[tokio::test(start_paused = true)]
async fn what_a_known_failure_breaks_is_known_with_it() {
    let symptom = "error execution phase etcd-join: timed out waiting for the condition";
    let run = async |known: &str| {
        let rig = Rig::new();
        rig.nodes.script("one-control-plane-2", Script::Fails(symptom));
        let text = format!(
            "{{version: 2, cluster: {{name: one, controlPlanes: 2}},
               knownBad: [{{kubeadm: {{\"1.36\": \">=1.36.0\"}}, issue: x/y#1, fails: {{step: {known}}}}}],
               tasks: [{{name: init, init: {{}}}}, {{name: join, join: {{}}}}, {{name: other, wait: {{time: 1s}}}}]}}"
        );
        rig.run(&plan(&text), "r1", &Stop::new()).await
    };
    let ran = run("join").await;
    assert_eq!((&ran.result, verdict(&ran, Invariant::Cause)), (&CaseResult::default(), Some(Verdict::Known)), "{}", ran.reason());
    let ran = run("other").await;
    assert_eq!(verdict(&ran, Invariant::Cause), Some(Verdict::Fail), "the entry is about another task");
}
