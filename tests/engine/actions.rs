//! kinder's actions on a cluster whose nodes are made and not joined.

use std::sync::Arc;
use std::time::Duration;

use joinder::action::{Action, ActionError, Options, act};
use joinder::event::{Bus, Event};
use joinder::kubeadm::wishes::{CopyCerts, Discover, Wishes};
use joinder::runtime::Runtime;
use joinder::runtime::label::Labels;
use joinder::spec::Order;
use joinder::sys::stop::Stop;

use crate::support::{Rig, plan};

const ALL: [Action; 10] = [
    Action::ClusterInfo,
    Action::CopyCerts,
    Action::KubeadmConfig,
    Action::KubeadmInit,
    Action::KubeadmJoin,
    Action::KubeadmReset,
    Action::KubeadmUpgrade,
    Action::LoadBalancer,
    Action::SetupExternalCa,
    Action::SmokeTest,
];
const FILES: [&str; 8] = ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key", "etcd/ca.crt", "etcd/ca.key"];

/// Nodes only, with all that kubeadm would have made on the first.
async fn nodes() -> Rig {
    let create = "{version: 2, cluster: {name: one, controlPlanes: 3, workers: 1}, tasks: [{name: create, create: {}}]}";
    nodes_of(create, &[], 1).await
}

/// The same by a workflow's first tasks, with images of these versions beside it.
async fn nodes_of(workflow: &str, versions: &[&str], tasks: usize) -> Rig {
    let rig = Rig::new();
    for version in versions {
        programs(&rig, version);
    }
    let pki = FILES.map(|file| (format!("/etc/kubernetes/pki/{file}"), format!("{file} of the image").into_bytes()));
    let more = [
        ("/kind/version", "v1.36.3\n"),
        ("/kinder/upgrade/version", "v1.37.2\n"),
        ("/etc/kubernetes/admin.conf", "server: https://10.213.0.2:6443\n"),
        ("/etc/kubernetes/manifests/kube-apiserver.yaml", "kind: Pod\n"),
    ];
    let more = more.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    rig.engine.add_image("node", Labels::new(), pki.into_iter().chain(more));
    let mut plan = plan(workflow);
    plan.tasks.truncate(tasks);
    let ran = rig.run_and(&plan, "r1", &Stop::new(), true).await;
    assert_eq!(ran.result.failed, None, "{}", ran.reason());
    rig
}

fn options() -> Options {
    Options {
        name: "one".into(),
        only_node: None,
        dry_run: false,
        wait: Duration::ZERO,
        order: Order::Serial,
        upgrade: Some("v1.37.2".into()),
        patches: vec![("etcd.json".into(), b"{}".to_vec())],
        wishes: Wishes {
            verbosity: Some(3),
            copy_certs: CopyCerts::Manual,
            discovery: Some(Discover::File),
            patches: true,
            ..Wishes::default()
        },
    }
}

async fn done(rig: &Rig, action: Action, options: Options) -> (Result<(), ActionError>, Vec<Event>) {
    let (runtime, events): (Arc<dyn Runtime>, Bus) = (Arc::new(rig.engine.clone()), Bus::new());
    let mut heard = events.subscribe();
    let done = act(action, options, &runtime, &events, &Stop::new()).await;
    events.close();
    let mut all = Vec::new();
    while let Some(told) = heard.recv().await {
        all.push(told.event);
    }
    (done, all)
}

/// `NODE: words of the command line`.
fn commands(events: &[Event]) -> Vec<String> {
    let command = |event: &Event| {
        if let Event::KubeadmStarted { node, argv } = event { Some(format!("{node}: {}", argv[1..].join(" "))) } else { None }
    };
    events.iter().filter_map(command).collect()
}

fn notes(events: &[Event]) -> String {
    let note = |event: &Event| if let Event::Note { text } | Event::Warning { text } = event { Some(text.clone()) } else { None };
    events.iter().filter_map(note).collect::<Vec<_>>().join("\n")
}

fn file(rig: &Rig, container: &str, path: &str) -> String {
    String::from_utf8(rig.engine.file(container, path).unwrap_or_default()).expect("text")
}

fn backends(rig: &Rig) -> Vec<String> {
    let text = file(rig, "one-lb", "/etc/haproxy/haproxy.cfg");
    text.lines().filter_map(|line| Some(line.trim().strip_prefix("server ")?.split(' ').next()?.to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_of_any_action_touches_nothing_and_says_what_it_would_do() {
    let rig = nodes().await;
    // questions, and no start of an agent, through which anything can be done
    let is_change = |op: &str| !["list", "inspect", "read", "look", "ask"].iter().any(|word| op.starts_with(word));
    for action in ALL {
        let before = rig.engine.calls().len();
        let (done, events) = done(&rig, action, Options { dry_run: true, ..options() }).await;
        done.unwrap_or_else(|e| panic!("{action:?}: {e}"));
        let changes: Vec<String> = rig.engine.calls()[before..]
            .iter()
            .filter(|call| is_change(call.op))
            .map(|call| format!("{} {}", call.op, call.target))
            .collect();
        assert!(changes.is_empty(), "{action:?}: {changes:?}");
        assert!(!notes(&events).is_empty() || action == Action::LoadBalancer, "{action:?} says nothing");
    }
    let (_, events) = done(&rig, Action::KubeadmJoin, Options { dry_run: true, ..options() }).await;
    let text = notes(&events);
    for part in [
        "one-control-plane-3: write /kinder/patches/etcd.json (2 bytes)",
        "one-control-plane-2: write /etc/kubernetes/pki/etcd/ca.key",
        "kind: JoinConfiguration",
        "one-worker-1: run kubeadm join --config /kind/kubeadm.conf --v=3",
        "one-lb: write /etc/haproxy/haproxy.cfg",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("abcdef.0123456789abcdef"), "a token is shown\n{text}");
}

#[tokio::test(start_paused = true)]
async fn control_planes_join_before_workers_and_the_balancer_follows_the_cluster() {
    let rig = nodes().await;
    assert_eq!(backends(&rig), Vec::<String>::new());
    let (init, events) = done(&rig, Action::KubeadmInit, options()).await;
    init.expect("it works");
    assert_eq!(commands(&events), ["one-control-plane-1: init --config /kind/kubeadm.conf --v=3"]);
    assert_eq!(backends(&rig), ["one-control-plane-1"]);
    let document = file(&rig, "one-control-plane-1", "/kind/kubeadm.conf");
    assert!(document.contains("directory: /kinder/patches") && !document.contains("certificateKey"), "{document}");

    // one by one, by processes that know nothing of each other
    let third = Options { only_node: Some("one-control-plane-3".into()), ..options() };
    done(&rig, Action::KubeadmJoin, third).await.0.expect("it works");
    assert_eq!(backends(&rig), ["one-control-plane-1", "one-control-plane-3"]);
    let second = Options { only_node: Some("one-control-plane-2".into()), ..options() };
    done(&rig, Action::KubeadmJoin, second).await.0.expect("it works");
    assert_eq!(backends(&rig), ["one-control-plane-1", "one-control-plane-2", "one-control-plane-3"]);
    assert_eq!(file(&rig, "one-control-plane-2", "/kinder/patches/etcd.json"), "{}");
}

/// A node image of a version, with just what is taken out of it.
fn programs(rig: &Rig, version: &str) {
    let files = [("/usr/bin/kubeadm", "kubeadm"), ("/usr/bin/kubelet", "kubelet")];
    let files = files.map(|(path, text)| (path.to_owned(), format!("{text} {version}").into_bytes()));
    rig.engine.add_image(&format!("node-{version}"), Labels::new(), files);
}

const SKEWED: &str =
    "{version: 2, cluster: {name: one, controlPlanes: 3, workers: 1, versions: [{nodes: [cp3, workers], kubernetes: v1.30.4}]},
    tasks: [{name: create, create: {}}, {name: init, init: {}}, {name: join, join: {}}]}";

fn api(rig: &Rig, node: &str) -> String {
    let document = file(rig, node, "/kind/kubeadm.conf");
    document.lines().find_map(|line| line.trim_start_matches("apiVersion: ").strip_prefix("kubeadm.k8s.io/")).unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn nodes_of_another_version_have_its_programs_and_documents_that_it_reads() {
    let rig = nodes_of(SKEWED, &["v1.30.4"], 1).await;
    for (node, version, kubeadm) in [
        ("one-control-plane-2", "v1.36.3\n", ""),
        ("one-control-plane-3", "v1.30.4\n", "kubeadm v1.30.4"),
        ("one-worker-1", "v1.30.4\n", "kubeadm v1.30.4"),
    ] {
        assert_eq!((file(&rig, node, "/kind/version").as_str(), file(&rig, node, "/usr/bin/kubeadm").as_str()), (version, kubeadm));
    }
    assert_eq!(file(&rig, "one-worker-1", "/usr/bin/kubelet"), "kubelet v1.30.4");
    let names: Vec<String> = rig.engine.containers(&[]).await.expect("listed").into_iter().map(|c| c.name).collect();
    assert!(names.len() == 5 && names.iter().all(|name| name.starts_with("one-")), "{names:?}");
    // each action is a process of its own, which finds the versions in the nodes
    done(&rig, Action::KubeadmInit, options()).await.0.expect("it works");
    done(&rig, Action::KubeadmJoin, options()).await.0.expect("it works");
    let found = ["control-plane-1", "control-plane-2", "control-plane-3", "worker-1"].map(|node| api(&rig, &format!("one-{node}")));
    assert_eq!(found, ["v1beta4", "v1beta4", "v1beta3", "v1beta3"]);
    // a run knows them from its plan
    let rig = nodes_of(SKEWED, &["v1.30.4"], 3).await;
    assert_eq!([api(&rig, "one-control-plane-2"), api(&rig, "one-worker-1")], ["v1beta4", "v1beta3"]);
}

#[tokio::test(start_paused = true)]
async fn all_join_in_kinders_order_or_all_at_once() {
    for (order, first) in [(Order::Serial, "one-control-plane-2"), (Order::Parallel, "")] {
        let rig = nodes().await;
        done(&rig, Action::KubeadmInit, options()).await.0.expect("it works");
        let (join, events) = done(&rig, Action::KubeadmJoin, Options { order, ..options() }).await;
        join.expect("it works");
        let commands = commands(&events);
        assert_eq!(commands.len(), 3, "{commands:?}");
        assert!(commands[0].starts_with(first), "{commands:?}");
        let finished = events.iter().position(|event| matches!(event, Event::KubeadmFinished { .. })).expect("one ended");
        let begun = events[..finished].iter().filter(|event| matches!(event, Event::KubeadmStarted { .. })).count();
        assert_eq!(begun, if order == Order::Serial { 1 } else { 3 }, "{order:?}");
        assert_eq!(backends(&rig).len(), 3);
        let reset = done(&rig, Action::KubeadmReset, options()).await;
        let nodes: Vec<String> = self::commands(&reset.1).iter().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
        assert_eq!(nodes.last().map(String::as_str), Some("one-control-plane-1"), "the first stays as long as any: {nodes:?}");
        assert_eq!(backends(&rig), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn certificates_are_copied_from_the_first_and_a_key_may_be_missing() {
    let rig = nodes().await;
    let (copied, events) = done(&rig, Action::CopyCerts, options()).await;
    copied.expect("it works");
    assert!(notes(&events).contains("on one-control-plane-2, one-control-plane-3"), "{}", notes(&events));
    assert_eq!(file(&rig, "one-control-plane-3", "/etc/kubernetes/pki/etcd/ca.key"), "etcd/ca.key of the image");
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_ends_when_each_node_is_whole_again() {
    let rig = nodes().await;
    done(&rig, Action::KubeadmInit, options()).await.0.expect("it works");
    done(&rig, Action::KubeadmJoin, options()).await.0.expect("it works");
    let patient = || Options { wait: Duration::from_secs(30), ..options() };
    let (upgraded, events) = done(&rig, Action::KubeadmUpgrade, patient()).await;
    upgraded.unwrap_or_else(|e| panic!("{e}\n{}", notes(&events)));
    assert!(notes(&events).contains("one-control-plane-3 is Ready, and a voter of etcd"), "{}", notes(&events));
    // its kubelet has told its version, and its pod is not Ready any more
    rig.nodes.unready("one-control-plane-1", "kube-apiserver-one-control-plane-2");
    let (upgraded, _) = done(&rig, Action::KubeadmUpgrade, patient()).await;
    let why = upgraded.expect_err("it is not whole").to_string();
    assert!(why.contains("one-control-plane-2 in cluster one") && why.contains("kube-apiserver: its pod is not Ready"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_workers_kubelet_finds_the_cluster_without_the_authoritys_key() {
    let rig = nodes().await;
    let (_, events) = done(&rig, Action::SetupExternalCa, Options { dry_run: true, ..options() }).await;
    let text = notes(&events);
    let (_, after) = text.split_once("one-worker-1: run kubeadm init phase kubeconfig kubelet").unwrap_or_else(|| panic!("{text}"));
    // kubeadm has written the worker's own address, where nobody answers
    assert!(after.contains("set-cluster") && after.contains("/etc/kubernetes/kubelet.conf https://10.213.0.2:6443"), "{after}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_is_said_before_anything_is_tried() {
    let rig = nodes().await;
    for (action, options, says) in [
        (Action::KubeadmJoin, Options { only_node: Some("one-worker-7".into()), ..options() }, "no node \"one-worker-7\""),
        (Action::KubeadmJoin, Options { only_node: Some("one-control-plane-1".into()), ..options() }, "cannot join"),
        (Action::KubeadmInit, Options { name: "two".into(), ..options() }, "no cluster \"two\""),
        (Action::KubeadmUpgrade, Options { upgrade: None, ..options() }, "--upgrade-version is needed"),
        (Action::KubeadmUpgrade, Options { upgrade: Some("ci/latest".into()), ..options() }, "is no version"),
        (Action::KubeadmUpgrade, Options { upgrade: Some("v1.37.3".into()), ..options() }, "says v1.37.2, and not v1.37.3"),
    ] {
        let (done, events) = done(&rig, action, options).await;
        let why = done.expect_err("it cannot be done");
        assert!(why.is_unusable() && why.to_string().contains(says), "{why}");
        assert!(commands(&events).is_empty());
    }
}
