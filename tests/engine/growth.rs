//! Clusters that grow and shrink: reset, scale, joins in stages.

use std::time::Duration;

use joinder::event::{Event, Moment, Outcome};
use joinder::runner::CaseResult;
use joinder::runtime::Fault;
use joinder::runtime::fake::{Way, When};
use joinder::spec::{Compare, Expectations, Join, Members, NodesReady, Order, Reset, Scale, Selector, Span, Wait};
use joinder::sys::stop::Stop;
use joinder::workflow::{Plan, PlannedTask, Step};

use crate::support::{Ran, Rig, Script, task, with, with_size};

fn picks(word: &str) -> Selector {
    Selector(vec![word.parse().expect("a pick")])
}

fn reset(nodes: &str) -> Step {
    Step::Reset(Reset { nodes: picks(nodes), allow_empty: false })
}

fn scale(control_planes: u8, order: Order) -> Step {
    Step::Scale(Scale { control_planes: Some(control_planes), workers: None, order })
}

/// With so many voters, no learner, and so many nodes.
fn expecting(name: &str, step: Step, voters: usize, ready: usize) -> PlannedTask {
    let just = |count| Some(Compare::just(count));
    let members = Some(Members { voters: just(voters), learners: just(0), ..Members::default() });
    let nodes = Some(NodesReady { ready: Compare::just(ready), within: None, when: None });
    PlannedTask { expect: Expectations { members, nodes, ..Expectations::default() }, ..task(name, step) }
}

/// The last configuration that the load balancer was given.
fn backends(rig: &Rig) -> Vec<String> {
    let config = rig.engine.file("one-lb", "/etc/haproxy/haproxy.cfg").expect("it is there");
    let lines = String::from_utf8(config).expect("text");
    lines.lines().filter_map(|line| line.strip_prefix("  server one-control-plane-")).map(|line| line[..1].to_owned()).collect()
}

async fn kept(rig: &Rig, plan: &Plan) -> Ran {
    let ran = rig.run_and(plan, "r1", &Stop::new(), true).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    ran
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_reset_is_gone_and_can_join_again() {
    let rig = Rig::new();
    let join = Step::Join(Join { nodes: Some(picks("cp3")), ..Join::default() });
    let plan = with(vec![expecting("reset", reset("cp3"), 2, 3), expecting("again", join, 3, 4)]);
    let ran = kept(&rig, &plan).await;
    let removed = |e: &Event| matches!(e, Event::Member { name, moment: Moment::Removed, .. } if name == "one-control-plane-3");
    assert_eq!(ran.events.iter().filter(|e| removed(e)).count(), 1);
    assert_eq!(backends(&rig), ["1", "2", "3"]);
    assert!(ran.told().contains("left on one-control-plane-3, as kubeadm leaves it: CNI configuration"), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn the_load_balancer_is_told_before_the_node_goes() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-2", Script::LeavesMember);
    let ran = rig.run_and(&with(vec![task("it", reset("cp2"))]), "r1", &Stop::new(), true).await;
    assert_eq!(backends(&rig), ["1", "3"]);
    assert_eq!(
        ran.reason(),
        "kubeadm reset on one-control-plane-2 has left its etcd member, as one-control-plane-1 says; `etcdctl member remove` on one-control-plane-1 takes it out"
    );
    let rig = Rig::new();
    let refuse = When::Next { op: "signal container", target: "one-lb".into(), times: usize::MAX };
    let pause = Wait { time: Some(Span(Duration::from_mins(2))), until: None, nodes: None, within: None, allow_empty: false };
    let plan = with(vec![task("pause", Step::Wait(pause)), task("it", reset("cp2"))]);
    let stop = Stop::new();
    let late = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        rig.engine.disturb(refuse, Way::Refuse(Fault::Other));
    };
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), late);
    assert!(ran.reason().starts_with("cannot signal container one-lb"), "{}", ran.reason());
    let kubeadm = |e: &Event| matches!(e, Event::KubeadmStarted { argv, .. } if argv[1] == "reset");
    assert!(!ran.events.iter().any(kubeadm), "nothing is reset that still gets connections");
}

#[tokio::test(start_paused = true)]
async fn a_reset_of_all_leaves_the_first_control_plane_to_the_end() {
    let rig = Rig::new();
    let ran = kept(&rig, &with(vec![task("it", reset("all"))])).await;
    let order: Vec<String> = ran
        .events
        .iter()
        .filter_map(|e| if let Event::KubeadmStarted { node, argv } = e { (argv[1] == "reset").then(|| node.clone()) } else { None })
        .collect();
    assert_eq!(order, ["one-worker-1", "one-control-plane-3", "one-control-plane-2", "one-control-plane-1"]);
    assert!(ran.told().contains("nobody is left to ask for the Node object of one-control-plane-1"), "{}", ran.told());
    assert!(!ran.told().contains("Node object of one-control-plane-2"), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_grows_and_shrinks() {
    for order in [Order::Serial, Order::Parallel, Order::Staged] {
        let rig = Rig::new();
        let sizes = [3, 5, 3, 1, 2].map(|n| expecting(&format!("to {n}"), scale(n, order), usize::from(n), usize::from(n) + 1));
        let ran = kept(&rig, &with_size(1, 1, sizes.into())).await;
        let up: Vec<String> = ran
            .events
            .iter()
            .filter_map(|e| {
                if let Event::NodeUp { node, address } = e { Some(format!("{} {}", &node[4..], address.octets()[3])) } else { None }
            })
            .collect();
        let sorted = |at: std::ops::Range<usize>| {
            let mut part = up[at].to_vec();
            part.sort();
            part
        };
        assert_eq!(sorted(0..4), ["control-plane-1 11", "control-plane-2 13", "control-plane-3 14", "worker-1 12"]);
        assert_eq!(sorted(4..7), ["control-plane-2 13", "control-plane-4 15", "control-plane-5 16"]);
        assert_eq!(backends(&rig), ["1", "2"]);
        let left = ["container one-control-plane-1", "container one-control-plane-2", "container one-lb", "container one-worker-1"];
        assert_eq!(ran.left[..4], left, "containers that left are removed");
        assert_eq!(ran.left.iter().filter(|what| what.starts_with("volume")).count(), 3, "with their volumes: {:?}", ran.left);
        let script = String::from_utf8(rig.engine.file("one-worker-1", "/kind/network.sh").expect("there")).expect("text");
        assert!(script.contains("10.244.3.0/24 via 10.213.0.13") && !script.contains("10.244.4.0"), "{script}");
        assert!(!ran.told().contains("not watched"), "{}", ran.told());
    }
}

#[tokio::test(start_paused = true)]
async fn a_size_that_cannot_be_is_refused_before_anything_is_done() {
    let rig = Rig::new();
    let ran = rig.run(&with(vec![task("it", scale(0, Order::Serial))]), "r1", &Stop::new()).await;
    assert_eq!(ran.reason(), "cannot scale: controlPlanes: 0 control planes make no cluster: ask for at least 1");
    assert!(!ran.events.iter().any(|e| matches!(e, Event::KubeadmStarted { argv, .. } if argv[1] == "reset")));
}

#[tokio::test(start_paused = true)]
async fn every_call_of_a_scale_fails_once_and_leaves_nothing() {
    let plan = with_size(1, 0, vec![task("up", scale(2, Order::Parallel)), task("down", scale(1, Order::Parallel))]);
    let rig = Rig::new();
    rig.run(&plan, "r1", &Stop::new()).await;
    let calls = rig.engine.calls();
    let second = |call: &joinder::runtime::fake::Call| call.target == "one-control-plane-2";
    let begin = calls.iter().position(second).expect("it is made");
    let end = calls.iter().rposition(second).expect("it is removed");
    assert!(calls[begin].op == "create container" && calls[end].op == "remove container" && end - begin > 10);
    for (nth, call) in calls.iter().enumerate().take(end + 1).skip(begin) {
        for way in [Way::Refuse(Fault::Other), Way::Hang, Way::Late(Duration::ZERO)] {
            let rig = Rig::new();
            rig.engine.disturb(When::Nth(nth + 1), way);
            let ran = rig.run(&plan, "r1", &Stop::new()).await;
            let what = format!("{call:?} {way:?}: {:?}", ran.outcomes());
            assert_eq!((ran.left.len(), ran.result.left), (0, false), "{what}");
            assert!(ran.result.failed.is_some(), "{what}");
        }
        let (rig, stop) = (Rig::new(), Stop::new());
        rig.engine.ring(nth + 1, stop.soft.clone());
        let ran = rig.run(&plan, "r1", &stop).await;
        assert_eq!((ran.left.len(), &ran.result.failed), (0, &None), "stop at {call:?}: {:?}", ran.result.left);
        assert!(ran.outcomes().contains(&Outcome::Stopped) || nth == end, "stop at {call:?}");
    }
}

/// What kubeadm was told in each of a node's runs.
fn runs(ran: &Ran, node: &str) -> Vec<String> {
    let run = |e: &Event| {
        let Event::KubeadmStarted { node: of, argv } = e else { return None };
        let words = argv[1..].iter().filter(|arg| !arg.starts_with("--") && !arg.starts_with('/'));
        (of == node).then(|| words.cloned().collect::<Vec<_>>().join(" "))
    };
    ran.events.iter().filter_map(run).collect()
}

#[tokio::test(start_paused = true)]
async fn a_staged_join_holds_one_ticket_for_etcd() {
    let rig = Rig::new();
    let mut plan = with_size(4, 1, Vec::new());
    plan.tasks[1] = PlannedTask { index: 2, ..expecting("join", Step::Join(Join { order: Order::Staged, ..Join::default() }), 4, 5) };
    let ran = kept(&rig, &plan).await;
    assert_eq!(
        runs(&ran, "one-control-plane-3"),
        [
            "join etcd-join,kubelet-wait-bootstrap,control-plane-join,wait-control-plane",
            "join phase etcd-join",
            "join preflight,control-plane-prepare,check-etcd,kubelet-start,etcd-join",
        ]
    );
    assert_eq!(runs(&ran, "one-worker-1"), ["join"]);
    // Each next one begins its etcd phase once the member before it has its vote, and before that one's own phase has ended.
    let (mut began, mut promoted, mut overlaps) = (0, 0, 0);
    let mut in_etcd: Vec<String> = Vec::new();
    for event in &ran.events {
        if let Event::KubeadmStarted { node, argv } = event
            && argv.contains(&"phase".to_owned())
        {
            assert_eq!(began, promoted, "the ticket moves at the promotion");
            began += 1;
            overlaps += usize::from(!in_etcd.is_empty());
            in_etcd.push(node.clone());
        }
        if let Event::KubeadmFinished { node, .. } = event {
            in_etcd.retain(|n| n != node);
        }
        promoted += usize::from(matches!(event, Event::Member { moment: Moment::Promoted, .. }));
    }
    assert_eq!((began, promoted, overlaps), (3, 3, 2));
    let lines = ran.events.iter().filter(|e| matches!(e, Event::KubeadmLine { line, .. } if line.contains("too many learner")));
    assert_eq!(lines.count(), 0, "nobody has to wait for the slot");
}

#[tokio::test(start_paused = true)]
async fn a_kubeadm_without_the_phase_says_so_before_it_begins() {
    let rig = Rig::with_kubernetes("v1.32.4");
    let mut plan = with(Vec::new());
    plan.tasks[1].step = Step::Join(Join { order: Order::Staged, ..Join::default() });
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    assert!(ran.reason().starts_with("order staged: kubeadm 1.32.4 has no phase etcd-join of its own"), "{}", ran.reason());
    assert_eq!(runs(&ran, "one-control-plane-2"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_join_of_nobody_does_not_pass_for_one() {
    let rig = Rig::new();
    let join = Step::Join(Join { nodes: Some(picks("cp1")), ..Join::default() });
    let ran = rig.run(&with(vec![task("reset", reset("cp1")), task("it", join)]), "r1", &Stop::new()).await;
    assert_eq!(ran.reason(), "order parallel: only one-control-plane-1 is meant, which others join: it cannot join them");
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_others_hold_the_ticket_ends_the_join() {
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-2", Script::Hangs);
    let mut plan = with(Vec::new());
    plan.tasks[1].step = Step::Join(Join { order: Order::Staged, ..Join::default() });
    let stop = Stop::new();
    let signal = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        stop.soft.cancel();
    };
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), signal);
    assert_eq!((ran.outcome("join"), ran.left), (Outcome::Stopped, vec![]));
    assert!(ran.took < Duration::from_secs(90), "{:?}", ran.took);
}
