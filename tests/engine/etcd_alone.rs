//! etcd alone: founded, grown and shrunk by member steps, and removed like any cluster.

use std::time::Duration;

use joinder::event::{Event, Moment, Outcome};
use joinder::runner::CaseResult;
use joinder::runtime::Fault;
use joinder::runtime::fake::{Way, When};
use joinder::sys::stop::Stop;
use joinder::workflow::Plan;
use tokio::time::Instant;

use crate::support::{Ran, Rig, Script, plan};

/// `etcd: {members, nodes}`, `init`, then these tasks.
fn alone(members: u8, nodes: u8, tasks: &str) -> Plan {
    plan(&format!(
        "{{version: 2, cluster: {{name: one, etcd: {{members: {members}, nodes: {nodes}, args: {{snapshot-count: 100}}}}}}, tasks: [
           {{name: init, init: {{}}, expect: {{members: {{voters: {members}, started: {members}}}}}}}{tasks}]}}"
    ))
}

/// Virtual time goes on only where somebody waits: without `look` nobody would see the learner.
const GROWS: &str = ",
  {name: add, member: {add: {node: etcd2}}},
  {name: look, wait: {time: 1s}},
  {name: start, member: {start: {node: etcd2}}},
  {name: promote, member: {promote: {node: etcd2, within: 10s}}, expect: {members: {voters: 2, learners: 0}, promotion: {max: 30s}}},
  {name: votes, wait: {until: voter, nodes: [etcd1, etcd2]}}";

async fn ran(rig: &Rig, plan: &Plan) -> Ran {
    rig.run(plan, "r1", &Stop::new()).await
}

#[tokio::test(start_paused = true)]
async fn a_learner_is_added_started_and_promoted_and_all_goes_again() {
    let rig = Rig::new();
    let ran = ran(&rig, &alone(1, 2, GROWS)).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    let moments: Vec<Moment> = ran
        .events
        .iter()
        .filter_map(|e| if let Event::Member { name, moment, .. } = e { (name == "one-etcd-2").then_some(*moment) } else { None })
        .collect();
    assert!(moments.contains(&Moment::Started) && moments.contains(&Moment::Promoted), "{moments:?}");
    assert_eq!(ran.left, [""; 0]);
    assert_eq!(ran.kubeconfig, None);
    assert!(ran.told().contains("one-etcd-2 is added as a learner, by way of one-etcd-1"), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn founding_members_start_all_at_once() {
    let ran = ran(&Rig::new(), &alone(3, 3, "")).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_what_was_wanted_or_fails_the_task() {
    let tasks = ",
      {name: first, member: {add: {node: etcd2}}},
      {name: second, member: {add: {node: etcd3}, fails: too many learner}},
      {name: early, member: {promote: {node: etcd2, within: 1s}, fails: in sync with leader}},
      {name: again, ignoreError: true, member: {add: {node: etcd3}}},
      {name: other, ignoreError: true, member: {add: {node: etcd3}, fails: already exists}},
      {name: well, ignoreError: true, member: {remove: {node: etcd2}, fails: member not found}}";
    let ran = ran(&Rig::new(), &alone(1, 3, tasks)).await;
    for task in ["first", "second", "early"] {
        assert_eq!(ran.outcome(task), Outcome::Passed, "{task}");
    }
    for (task, says) in
        [("again", "add one-etcd-3 as a learner"), ("other", "too many learner"), ("well", "a refusal with \"member not found\"")]
    {
        assert!(matches!(ran.outcome(task), Outcome::Failed { reason } if reason.contains(says)), "{task}: {:?}", ran.outcome(task));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_now_is_tried_again_as_long_as_the_task_says() {
    let tasks = ",
      {name: first, member: {add: {node: etcd2}}},
      {name: waits, member: {add: {node: etcd3, within: 7s}, fails: too many learner}}";
    let began = Instant::now();
    let ran = ran(&Rig::new(), &alone(1, 3, tasks)).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    assert!(began.elapsed() >= Duration::from_millis(6_900), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn etcd_that_ends_at_once_is_no_start() {
    let rig = Rig::new();
    rig.nodes.script("one-etcd-2", Script::Fails("bad flag"));
    let ran = ran(&rig, &alone(1, 2, ", {name: add, member: {add: {node: etcd2}}}, {name: start, member: {start: {node: etcd2}}}")).await;
    assert_eq!(ran.result.failed.as_deref(), Some("start"));
    assert!(ran.reason().contains("etcd does not run"), "{}", ran.reason());
    assert_eq!(ran.left, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_member_comes_back_after_a_stop_and_after_its_removal() {
    let tasks = &format!(
        "{GROWS},
      {{name: unknown, ignoreError: true, member: {{start: {{node: etcd2}}}}}},
      {{name: stop, member: {{stop: {{node: etcd2, how: kill}}}}}},
      {{name: gone, ignoreError: true, member: {{stop: {{node: etcd2}}}}}},
      {{name: back, member: {{start: {{node: etcd2, until: serving}}}}}},
      {{name: restart, restart: {{nodes: etcd2, what: etcd}}}},
      {{name: remove, member: {{remove: {{node: etcd2}}}}, expect: {{members: {{voters: 1}}}}}},
      {{name: anew, member: {{add: {{node: etcd2, as: voter}}}}}},
      {{name: joins, member: {{start: {{node: etcd2}}}}, expect: {{members: {{voters: 2}}}}}}"
    );
    let ran = ran(&Rig::new(), &alone(1, 2, tasks)).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    assert!(matches!(ran.outcome("unknown"), Outcome::Failed { reason } if reason.contains("it runs already")));
    assert!(matches!(ran.outcome("gone"), Outcome::Failed { reason } if reason.contains("etcd does not run")));
}

/// As `failures.rs` does with Kubernetes: whichever call fails, in whichever way, nothing is left, and what was not made is no pass.
#[tokio::test(start_paused = true)]
async fn every_call_fails_once_in_each_way() {
    let plan = alone(2, 3, ", {name: put, member: {put: {entries: 10}}}, {name: delete, force: true, delete: {}}");
    let rig = Rig::new();
    assert_eq!(ran(&rig, &plan).await.result, CaseResult::default());
    let all = rig.engine.calls();
    let ordinary = all.iter().rposition(|c| !c.op.starts_with("list") && !c.op.starts_with("remove")).map_or(0, |at| at + 1);
    assert!(ordinary > 8 && ordinary < all.len(), "{ordinary} of {}", all.len());
    for (at, call) in all.iter().enumerate() {
        for way in [Way::Refuse(Fault::Other), Way::Hang, Way::Late(Duration::ZERO)] {
            let rig = Rig::new();
            rig.engine.disturb(When::Nth(at + 1), way);
            let ran = ran(&rig, &plan).await;
            let what = format!("call {} ({} {}), {way:?}: {:?}", at + 1, call.op, call.target, ran.outcomes());
            assert_eq!(ran.left, [""; 0], "{what}");
            assert!(!ran.result.left && ran.told_left().is_empty(), "{what}");
            assert_eq!(ran.result.failed.is_some(), at < ordinary, "{what}");
        }
    }
}
