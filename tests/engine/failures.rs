//! Every call of a run fails once, in each way.

use std::collections::BTreeMap;
use std::time::Duration;

use joinder::event::Outcome;
use joinder::runner::CaseResult;
use joinder::runtime::Fault;
use joinder::runtime::fake::{Call, Way, When};
use joinder::sys::stop::Stop;

use crate::support::{Rig, plan, workflow};

const ORDERS: [&str; 2] = ["parallel", "serial"];
const WAYS: [Way; 3] = [Way::Refuse(Fault::Other), Way::Hang, Way::Late(Duration::ZERO)];

/// The calls of a run in which nothing fails.
async fn calls(order: &str) -> Vec<Call> {
    let rig = Rig::new();
    let ran = rig.run(&workflow("one", order), "r1", &Stop::new()).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    assert!(ran.outcomes().iter().all(Outcome::passed), "{:?}", ran.outcomes());
    assert_eq!(rig.engine.holds(&[]), [""; 0]);
    rig.engine.calls()
}

/// How many calls are made before `delete`, which only lists and removes.
fn before_delete(calls: &[Call]) -> usize {
    calls.iter().rposition(|c| !c.op.starts_with("list") && !c.op.starts_with("remove")).map_or(0, |at| at + 1)
}

#[tokio::test(start_paused = true)]
async fn a_run_makes_no_more_calls_than_it_needs() {
    for order in ORDERS {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for call in calls(order).await {
            *counts.entry(call.op).or_default() += 1;
        }
        insta::with_settings!({description => "both orders ask the engine for the same"}, {
            insta::assert_json_snapshot!("calls", counts);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_of_a_parallel_run_fails_once_in_each_way() {
    fail_each("parallel").await;
}

#[tokio::test(start_paused = true)]
async fn every_call_of_a_serial_run_fails_once_in_each_way() {
    fail_each("serial").await;
}

async fn fail_each(order: &str) {
    let all = calls(order).await;
    let ordinary = before_delete(&all);
    assert!(ordinary > 20 && ordinary < all.len(), "{ordinary} of {}", all.len());
    for (at, call) in all.iter().enumerate() {
        for way in WAYS {
            let rig = Rig::new();
            rig.engine.disturb(When::Nth(at + 1), way);
            let ran = rig.run(&workflow("one", order), "r1", &Stop::new()).await;
            let what = format!("{order}, call {} ({} {}), {way:?}: {:?}", at + 1, call.op, call.target, ran.outcomes());
            assert_eq!(ran.left, [""; 0], "{what}");
            assert_eq!(ran.kubeconfig, None, "{what}");
            assert!(!ran.result.left && ran.told_left().is_empty(), "{what}");
            // What fails while things are made fails the run; what fails while they are removed is tried again.
            assert_eq!(ran.result.failed.is_some(), at < ordinary, "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_carried_out_after_its_deadline_leaves_nothing() {
    let all = calls("parallel").await;
    for (at, call) in all.iter().enumerate().filter(|(_, c)| c.op.starts_with("create")) {
        let rig = Rig::new();
        rig.engine.disturb(When::Nth(at + 1), Way::Late(Duration::from_secs(125)));
        let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
        assert!(ran.result.failed.is_some() && !ran.result.left, "{call:?}: {:?}", ran.result);
        assert_eq!(ran.left, [""; 0], "{call:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_removed_is_named() {
    for way in WAYS {
        let rig = Rig::new();
        let target = "one-control-plane-2".to_owned();
        let way = if matches!(way, Way::Late(_)) { Way::Refuse(Fault::Unreachable) } else { way };
        rig.engine.disturb(When::Next { op: "remove container", target, times: usize::MAX }, way);
        let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
        assert!(ran.result.left, "{way:?}: {:?}", ran.result);
        assert_eq!(ran.result.failed.as_deref(), Some("delete"));
        let told = ran.told_left().join("\n");
        assert!(told.contains("container one-control-plane-2: ") && told.contains("network one: "), "{told}");
        assert!(!told.contains("control-plane-1"), "{told}");
        assert_eq!(ran.left, ["container one-control-plane-2", "network one", "volume one-control-plane-2-0"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_goes_away_for_good_ends_the_run_and_is_named() {
    let all = calls("parallel").await;
    for nth in (1..=all.len()).step_by(5) {
        for way in [Way::Refuse(Fault::Unreachable), Way::Hang] {
            let rig = Rig::new();
            rig.engine.disturb(When::From(nth), way);
            let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
            assert!(ran.result.left && ran.result.failed.is_some(), "from call {nth}, {way:?}: {:?}", ran.result);
            assert!(ran.told_left().iter().any(|told| told.starts_with("list of containers: ")), "{:?}", ran.told_left());
            assert!(ran.took < Duration::from_mins(15), "from call {nth}, {way:?}: {:?}", ran.took);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_leaves_nothing_also_where_no_delete_took_place() {
    let tasks = [
        ("no delete", "{name: init, init: {}}"),
        ("a delete that is skipped", "{name: init, timeout: 1s, init: {}}, {name: delete, delete: {}}"),
        ("more after the delete", "{name: a, init: {}}, {name: delete, delete: {}}, {name: b, init: {}}"),
    ];
    for (what, tasks) in tasks {
        let rig = Rig::new();
        let ran = rig.run(&plan(&format!("{{version: 2, cluster: {{}}, tasks: [{tasks}]}}")), "r1", &Stop::new()).await;
        assert_eq!(ran.left, [""; 0], "{what}");
        assert!(!ran.result.left, "{what}: {:?}", ran.result);
    }
}

#[tokio::test(start_paused = true)]
async fn retain_keeps_the_cluster() {
    let rig = Rig::new();
    let ran = rig.run_and(&workflow("one", "serial"), "r1", &Stop::new(), true).await;
    assert_eq!(ran.result, CaseResult::default());
    assert!(ran.left.contains(&"container one-control-plane-1".to_owned()), "{:?}", ran.left);
    let kubeconfig = ran.kubeconfig.expect("it stays as long as the cluster");
    assert!(kubeconfig.starts_with("# written by joinder, run r1") && kubeconfig.contains("server: https://127.0.0.1:"), "{kubeconfig}");
}
