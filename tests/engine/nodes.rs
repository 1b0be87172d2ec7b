//! Nodes that die, and kubeadm that fails or never ends.

use std::time::Duration;

use joinder::event::{Event, Outcome, Verdict};
use joinder::sys::stop::Stop;
use tokio_util::sync::CancellationToken;

use crate::support::{Ran, Rig, Script, plan, workflow};

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_while_booting_is_told_with_its_last_lines() {
    let rig = Rig::new();
    rig.engine.doom("one-control-plane-2", 7, "systemd: no cgroup\nexiting\n");
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    assert_eq!(ran.result.failed.as_deref(), Some("create"));
    insta::assert_snapshot!(ran.reason());
    assert_eq!(ran.left, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_during_its_join_fails_alone() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-3", Script::Hangs);
    let dead = CancellationToken::new();
    let kill = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        rig.engine.die("one-control-plane-3", 137, "");
        dead.cancel();
    };
    let plan = workflow("one", "parallel");
    let stop = Stop::new();
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), kill);
    assert_eq!(ran.result.failed.as_deref(), Some("join"));
    assert!(
        ran.reason().contains("1 of 3 nodes did not join") && ran.reason().contains("lost the agent in one-control-plane-3"),
        "{}",
        ran.reason()
    );
    assert_eq!(ran.left, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn kubeadm_that_fails_on_one_node_does_not_stop_the_others() {
    for order in ["parallel", "serial"] {
        let rig = Rig::new();
        let error = "error execution phase etcd-join: error creating local etcd static pod manifest file: etcdserver: unhealthy cluster";
        rig.nodes.script("one-control-plane-2", Script::Fails(error));
        let ran = rig.run(&workflow("one", order), "r1", &Stop::new()).await;
        assert_eq!(ran.result.failed.as_deref(), Some("join"));
        assert_eq!(
            ran.reason(),
            format!("1 of 3 nodes did not join\n  kubeadm join failed on one-control-plane-2 in phase etcd: {error}"),
            "{order}"
        );
        let joined = |e: &Event| matches!(e, Event::KubeadmFinished { node, code: Some(0), .. } if node == "one-control-plane-3");
        assert!(ran.events.iter().any(joined), "{order}");
        assert_eq!(ran.left, [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn kubeadm_that_never_ends_is_ended_at_the_tasks_limit() {
    for node in ["one-control-plane-1", "one-control-plane-2"] {
        for script in [Script::Hangs, Script::Stubborn] {
            let rig = Rig::new();
            rig.nodes.script(node, script);
            let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
            let limit = Duration::from_mins(5);
            let late = if node.ends_with('1') { 1 } else { 2 };
            assert_eq!(ran.outcomes()[late], Outcome::TimedOut { limit });
            assert_eq!(rig.nodes.cancelled(), [node]);
            assert!(ran.result.failed.is_some());
            assert_eq!(ran.left, [""; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_balancer_that_cannot_be_told_is_the_error_and_kubeadm_does_not_wait_for_it() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-1", Script::WaitsForBalancer);
    let target = "one-lb".to_owned();
    let when = joinder::runtime::fake::When::Next { op: "signal container", target, times: 1 };
    rig.engine.disturb(when, joinder::runtime::fake::Way::Refuse(joinder::runtime::Fault::Other));
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    assert!(ran.reason().starts_with("cannot signal container one-lb"), "{:?}", ran.outcomes());
    assert_eq!(rig.nodes.cancelled(), ["one-control-plane-1"]);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_never_gets_ready_does_not_outlive_a_stop() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-1", Script::NoApi);
    let stop = Stop::new();
    let signal = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        stop.soft.cancel();
    };
    let plan = workflow("one", "parallel");
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), signal);
    assert_eq!(ran.outcomes()[1], Outcome::Stopped);
    assert!(ran.took < Duration::from_secs(40), "{:?}", ran.took);
}

#[tokio::test(start_paused = true)]
async fn in_flight_bounds_how_many_join_at_once() {
    let rig = Rig::new();
    let plan =
        plan("{version: 2, cluster: {name: one, controlPlanes: 5}, tasks: [{name: init, init: {}}, {name: join, join: {inFlight: 2}}]}");
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    let (mut now, mut most) = (0, 0);
    for event in &ran.events {
        now += i32::from(matches!(event, Event::KubeadmStarted { .. }));
        now -= i32::from(matches!(event, Event::KubeadmFinished { .. }));
        most = most.max(now);
    }
    assert_eq!((most, ran.result.failed.as_deref()), (2, None), "{}", ran.reason());
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_known_does_not_fail_the_run_and_any_other_does() {
    let text = |error: &str, minor: &str| {
        format!(
            "{{version: 2, cluster: {{name: one, controlPlanes: 2}},
               knownBad: [{{kubeadm: {{'{minor}': '>=0'}}, issue: kubernetes/kubeadm#3317, fails: {{step: join, error: '{error}'}}}}],
               tasks: [{{name: init, init: {{}}}}, {{name: join, join: {{}}}}, {{name: delete, force: true, delete: {{}}}}]}}"
        )
    };
    let verdict = |ran: &Ran| {
        ran.events.iter().find_map(|e| {
            let Event::Judged { judgement, .. } = e else { return None };
            judgement.name.starts_with("known bad").then_some(judgement.verdict)
        })
    };
    for (error, minor, fails, known, failed) in [
        ("can only promote", "1.36", true, Some(Verdict::Known), false),
        ("something else", "1.36", true, Some(Verdict::Fail), true),
        ("can only promote", "1.36", false, Some(Verdict::Fail), true),
        ("can only promote", "1.35", true, None, true),
    ] {
        let rig = Rig::new();
        if fails {
            rig.nodes.script("one-control-plane-2", Script::Fails("error execution phase etcd: can only promote a learner"));
        }
        let ran = rig.run(&plan(&text(error, minor)), "r1", &Stop::new()).await;
        assert_eq!((verdict(&ran), ran.result.failed.is_some()), (known, failed), "{error:?} {minor} {fails}: {}", ran.reason());
        assert_eq!(ran.left, [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_could_look_at_is_undecided_and_never_passed() {
    let text = "{version: 2, cluster: {name: one}, tasks: [
        {name: init, when: {etcd: '<3.0'}, init: {}},
        {name: look, expect: {members: {voters: 9}, nodes: {ready: 42}}},
        {name: wait, wait: {time: 1s}, expect: {members: {voters: 9}}}]}";
    let rig = Rig::new();
    let ran = rig.run(&plan(text), "r1", &Stop::new()).await;
    let of_a_task = |e: &Event| if let Event::Judged { index: 1.., judgement, .. } = e { Some(judgement.verdict) } else { None };
    assert_eq!(ran.events.iter().filter_map(of_a_task).collect::<Vec<_>>(), [Verdict::Undecided; 3]);
    assert!(ran.result.undecided && ran.result.failed.is_none());
}
