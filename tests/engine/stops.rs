//! The first signal ends ordinary work and leaves nothing; the second one leaves, and says what.

use std::time::Duration;

use joinder::event::Outcome;
use joinder::runtime::fake::{Way, When};
use joinder::sys::stop::Stop;

use crate::support::{Rig, Script, plan, workflow};

/// The number of calls of an undisturbed run.
async fn calls() -> usize {
    let rig = Rig::new();
    rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    rig.engine.calls().len()
}

#[tokio::test(start_paused = true)]
async fn a_soft_stop_at_every_call_leaves_nothing() {
    for nth in 1..=calls().await {
        let rig = Rig::new();
        let stop = Stop::new();
        rig.engine.ring(nth, stop.soft.clone());
        let ran = rig.run(&workflow("one", "parallel"), "r1", &stop).await;
        let what = format!("stop at call {nth}: {:?}", ran.outcomes());
        assert_eq!(ran.left, [""; 0], "{what}");
        assert_eq!((ran.result.failed.as_deref(), ran.result.left), (None, false), "{what}");
        assert!(ran.took < Duration::from_secs(30), "{what}: {:?}", ran.took);
        let outcomes = ran.outcomes();
        assert!(outcomes.last().is_some_and(Outcome::passed), "{what}");
        let stopped = outcomes.iter().filter(|o| **o == Outcome::Stopped).count();
        assert_eq!(stopped, usize::from(!outcomes[2].passed()), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_at_every_call_ends_at_once_and_names_what_is_left() {
    for nth in 1..=calls().await {
        let rig = Rig::new();
        let stop = Stop::new();
        rig.engine.ring(nth, stop.hard.clone());
        let ran = rig.run(&workflow("one", "parallel"), "r1", &stop).await;
        let what = format!("hard stop at call {nth}: {:?} {:?}", ran.outcomes(), ran.told_left());
        assert!(ran.took < Duration::from_secs(5), "{what}: {:?}", ran.took);
        assert_eq!(ran.result.left, !ran.left.is_empty(), "{what}");
        for left in &ran.left {
            assert!(ran.told_left().iter().any(|told| told.starts_with(left.as_str())), "{left} is not told: {what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_does_not_wait_for_an_engine_that_hangs() {
    let rig = Rig::new();
    let stop = Stop::new();
    let first = "one-control-plane-1".to_owned();
    rig.engine.disturb(When::Next { op: "start container", target: first, times: usize::MAX }, Way::Hang);
    let late = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        rig.engine.disturb(When::Next { op: "list containers", target: String::new(), times: usize::MAX }, Way::Hang);
        stop.soft.cancel();
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop.hard.cancel();
    };
    let plan = workflow("one", "parallel");
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), late);
    assert!(ran.took < Duration::from_secs(20), "{:?}", ran.took);
    assert!(ran.result.left);
    let told = ran.told_left().join("\n");
    assert!(told.contains("io.joinder.run=r1"), "how to find what could not even be listed: {told}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_boot_whose_agent_never_answers() {
    let rig = Rig::new();
    rig.nodes.mute("one-control-plane-2");
    let stop = Stop::new();
    let signal = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.soft.cancel();
    };
    let plan = workflow("one", "parallel");
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), signal);
    assert_eq!(ran.outcomes()[0], Outcome::Stopped);
    assert_eq!(ran.left, [""; 0]);
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_call_that_hangs_and_removes_what_it_makes_later() {
    let rig = Rig::new();
    let target = "one-control-plane-2".to_owned();
    rig.engine.disturb(When::Next { op: "create container", target, times: 1 }, Way::Late(Duration::from_secs(25)));
    let stop = Stop::new();
    let signal = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.soft.cancel();
    };
    let plan = workflow("one", "parallel");
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), signal);
    assert_eq!(ran.outcomes()[0], Outcome::Stopped);
    assert_eq!((ran.left, ran.result.left), (vec![], false));
    assert!(ran.took < Duration::from_mins(1), "{:?}", ran.took);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_jitter() {
    let rig = Rig::new();
    let plan = plan(
        "{version: 2, cluster: {name: one, controlPlanes: 3}, tasks: [{name: init, init: {}}, {name: join, join: {jitter: 9m, seed: 1}}]}",
    );
    let stop = Stop::new();
    let signal = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        stop.soft.cancel();
    };
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), signal);
    assert_eq!(ran.outcomes()[1], Outcome::Stopped);
    assert!(ran.took < Duration::from_secs(40), "{:?}", ran.took);
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_kubeadm_ends_it_in_its_node() {
    for node in ["one-control-plane-1", "one-control-plane-3"] {
        for script in [Script::Hangs, Script::Stubborn] {
            let rig = Rig::new();
            rig.nodes.script(node, script.clone());
            let stop = Stop::new();
            let signal = async {
                tokio::time::sleep(Duration::from_secs(30)).await;
                stop.soft.cancel();
            };
            let plan = workflow("one", "parallel");
            let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), signal);
            assert_eq!(ran.outcomes().iter().filter(|o| **o == Outcome::Stopped).count(), 1, "{:?}", ran.outcomes());
            assert_eq!(rig.nodes.cancelled(), [node]);
            assert_eq!(ran.left, [""; 0]);
            // what does not end when it is told to is given up on
            assert!(ran.took < Duration::from_secs(55), "{node} {script:?}: {:?}", ran.took);
        }
    }
}
