//! What failed joins leave, and its repair.

use joinder::event::Event;
use joinder::sys::stop::Stop;

use crate::support::{Ran, Rig, Script, plan};

/// kubeadm of cp2 is killed when its member is there, at one call or another.
fn killed(call: &str) -> String {
    killed_at(call, "answer")
}

fn killed_at(call: &str, at: &str) -> String {
    format!(
        "{{name: join, join: {{nodes: cp2}}, expect: {{joins: {{cp2: {{fails: it was killed}}}}}},
           faults: [{{id: killed, on: {{call: {call}, at: {at}}}, do: {{kill: {{what: kubeadm, nodes: cp2}}}}}}]}}"
    )
}

async fn run(rig: &Rig, tasks: &[&str]) -> Ran {
    let plan = plan(&format!(
        "{{version: 2, cluster: {{name: one, controlPlanes: 3}}, invariants: {{off: [started, cause, truthful]}}, tasks: [
           {{name: init, init: {{}}}}, {}, {{name: delete, force: true, delete: {{}}}}]}}",
        tasks.join(", ")
    ));
    rig.run(&plan, "r1", &Stop::new()).await
}

fn resets(ran: &Ran) -> usize {
    ran.events.iter().filter(|e| matches!(e, Event::KubeadmStarted { argv, .. } if argv[1] == "reset")).count()
}

const AGAIN: &str = "{name: again, join: {nodes: cp2}, expect: {joins: ok, members: {voters: 2, learners: 0}}}";

#[tokio::test(start_paused = true)]
async fn a_learner_that_the_reset_leaves_is_taken_out_and_the_node_joins_again() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-2", Script::LeavesMember);
    let repair = "{name: repair, repair: {}, expect: {members: {voters: 1, learners: 0}}}";
    let ran = run(&rig, &[&killed("MemberAdd"), repair, AGAIN]).await;
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    let text = "repaired one-control-plane-2: kubeadm reset; its unnamed-learner 2 taken out of etcd by way of one-control-plane-1";
    assert!(ran.told().contains(text), "{}", ran.told());
    assert_eq!(resets(&ran), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_reset_itself_takes_out_is_told_so() {
    let rig = Rig::new();
    let repair = "{name: repair, repair: {nodes: cp2}}";
    let ran = run(&rig, &[&killed("MemberAdd"), repair, AGAIN]).await;
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    assert!(ran.told().contains("kubeadm reset; its unnamed-learner went out of etcd with that"), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn a_voter_goes_out_of_etcd_before_its_data_goes() {
    let rig = Rig::new();
    let repair = "{name: repair, repair: {nodes: cp2}}";
    let ran = run(&rig, &[&killed("MemberPromote"), repair, AGAIN]).await;
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    // this reset takes its member out, if it is still there
    assert!(ran.told().contains("kubeadm reset; its voter 2 taken out of etcd by way of one-control-plane-1"), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn nothing_to_repair_is_said_and_nothing_is_done() {
    let rig = Rig::new();
    let all = "{name: all, repair: {}}";
    let one = "{name: one, repair: {nodes: [cp2, cp3]}}";
    let ran = run(&rig, &["{name: join, join: {}}", all, one]).await;
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    for text in ["no join has failed, and no learner is nobody's", "nothing to repair on one-control-plane-3: no join of it has failed"] {
        assert!(ran.told().contains(text), "{text}: {}", ran.told());
    }
    assert_eq!(resets(&ran), 0, "who has joined stays");
}

#[tokio::test(start_paused = true)]
async fn a_voter_stays_where_it_is_needed_for_the_quorum() {
    let rig = Rig::new();
    let third = "{name: third, join: {nodes: cp3}, expect: {joins: {cp3: {fails: it was killed, residue: voter}}},
        faults: [{id: killed, on: {call: MemberPromote, node: cp3, at: answer}, do: {kill: {what: kubeadm, nodes: cp3}}}]}";
    let dead = "{name: dead, fault: {id: dead, do: {kill: {what: node, nodes: cp2}}}}";
    let ran = run(&rig, &["{name: second, join: {nodes: cp2}}", third, dead, "{name: repair, repair: {nodes: cp3}}"]).await;
    assert_eq!(ran.result.failed.as_deref(), Some("repair"), "{}", ran.told());
    let why = "cannot repair one-control-plane-3: of the 2 voters that would be left 1 answer: it would take the quorum";
    let reason = ran.outcome("repair").reason().unwrap_or_default();
    assert!(reason.contains(why), "{reason}");
    assert_eq!(resets(&ran), 0, "nothing was touched");
}

#[tokio::test(start_paused = true)]
async fn the_learner_of_a_node_that_is_dead_is_taken_out_without_a_reset() {
    let rig = Rig::new();
    let dead = "{name: dead, fault: {id: dead, do: {kill: {what: node, nodes: cp2}}}}";
    let third = "{name: third, join: {nodes: cp3}, expect: {joins: ok}}";
    let ran = run(&rig, &[&killed("MemberAdd"), dead, "{name: repair, repair: {}}", third]).await;
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    let text = "so nothing could be reset; its unnamed-learner 2 taken out of etcd by way of one-control-plane-1";
    assert!(ran.told().contains(text), "{}", ran.told());
    assert_eq!(resets(&ran), 0);
}

#[tokio::test(start_paused = true)]
async fn a_learner_that_has_started_is_taken_out_whether_the_reset_does_it_or_not() {
    for (leaves, text) in [
        (true, "its named-learner 2 taken out of etcd by way of one-control-plane-1"),
        (false, "its named-learner went out of etcd with that"),
    ] {
        let rig = Rig::new();
        if leaves {
            rig.nodes.script("one-control-plane-2", Script::LeavesMember);
        }
        let repair = "{name: repair, repair: {}, expect: {members: {voters: 1, learners: 0}}}";
        let ran = run(&rig, &[&killed_at("MemberPromote", "request"), repair, AGAIN]).await;
        assert_eq!(ran.result.failed, None, "{}", ran.told());
        assert!(ran.told().contains(text), "{}", ran.told());
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_that_nobody_can_confirm_is_no_success() {
    let rig = Rig::new();
    let dead = "{name: dead, fault: {id: dead, do: {kill: {what: node, nodes: [cp1, cp2]}}}}";
    let ran = run(&rig, &["{name: join, join: {}}", dead, "{name: reset, reset: {nodes: cp3}}"]).await;
    assert_eq!(ran.result.failed.as_deref(), Some("reset"), "{}", ran.told());
    let reason = ran.outcome("reset").reason().unwrap_or_default();
    let why = "kubeadm reset on one-control-plane-3 has left maybe its etcd member: no other member answers with a quorum (one-control-plane-1, one-control-plane-2 asked)";
    assert!(reason.starts_with(why), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_learner_without_a_name_that_a_reset_leaves_is_told() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-2", Script::LeavesMember);
    let ran = run(&rig, &[&killed("MemberAdd"), "{name: reset, reset: {nodes: cp2}}"]).await;
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    assert!(
        ran.told().contains("kubeadm reset on one-control-plane-2 has left its unnamed learner 2, as one-control-plane-1 says"),
        "{}",
        ran.told()
    );
}
