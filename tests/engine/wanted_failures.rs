//! Joins that should fail: only in just that way the run goes on.

use joinder::event::Event;
use joinder::sys::stop::Stop;

use crate::support::{Ran, Rig, Script, plan};

const FULL: &str = "error execution phase etcd-join: etcdserver: too many learner members in cluster";

async fn run(joins: &str) -> Ran {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-3", Script::Fails(FULL));
    let plan = plan(&format!(
        "{{version: 2, cluster: {{name: one, controlPlanes: 3}}, tasks: [
           {{name: init, init: {{}}}},
           {{name: join, join: {{order: serial}}, expect: {{joins: {joins}, members: {{voters: 2}}}}}},
           {{name: look, expect: {{members: {{voters: 2}}}}}},
           {{name: delete, force: true, delete: {{}}}}]}}"
    ));
    rig.run(&plan, "r1", &Stop::new()).await
}

#[tokio::test(start_paused = true)]
async fn a_join_that_fails_as_it_should_does_not_end_the_run() {
    let ran = run("{cp3: {fails: too many learner}}").await;
    assert_eq!((ran.result.failed.as_deref(), ran.result.undecided), (None, false), "{}", ran.told());
    assert!(ran.outcomes()[2].passed(), "the task behind it has its turn: {:?}", ran.outcomes());
}

#[tokio::test(start_paused = true)]
async fn another_error_another_node_or_no_word_of_it_counts() {
    for joins in ["{cp3: {fails: unhealthy cluster}}", "{cp2: {fails: too many learner}}", "ok"] {
        let ran = run(joins).await;
        assert_eq!(ran.result.failed.as_deref(), Some("join"), "{joins}: {}", ran.told());
        assert!(!ran.outcomes()[2].passed(), "{joins}: nothing ordinary comes behind it");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_oracle_cannot_predict_is_undecided() {
    let rig = Rig::new();
    let plan = plan(
        "{version: 2, cluster: {name: one, controlPlanes: 2}, tasks: [
           {name: init, init: {}},
           {name: join, join: {order: serial}, expect: {joins: oracle}},
           {name: delete, force: true, delete: {}}]}",
    );
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    assert_eq!((ran.result.failed.as_deref(), ran.result.undecided), (None, true), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn of_a_node_that_another_join_has_left_its_files_in_nothing_is_predicted() {
    let rig = Rig::new();
    rig.add_to_image("/etc/kubernetes/kubelet.conf", "of another join");
    let plan = plan(
        "{version: 2, cluster: {name: one, controlPlanes: 2}, tasks: [
           {name: init, init: {}},
           {name: join, join: {order: serial}, expect: {joins: oracle}},
           {name: delete, force: true, delete: {}}]}",
    );
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    assert!(ran.result.undecided, "{}", ran.told());
    let judged = |event: &Event| {
        let Event::Judged { judgement, .. } = event else { return None };
        (judgement.name == "joins").then(|| judgement.saw.clone())
    };
    let saw = ran.events.iter().find_map(judged).expect("judged");
    assert!(saw.contains("one-control-plane-2 was not reset after another join"), "{saw}");
}
