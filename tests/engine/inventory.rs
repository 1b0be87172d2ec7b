//! What clusters there are, by labels alone.

use std::sync::Arc;
use std::time::Duration;

use joinder::cluster::{self, Following, InventoryError};
use joinder::runtime::api::Subnet;
use joinder::runtime::label::{self, Labels, Lifetime};
use joinder::runtime::{ContainerSpec, NetworkSpec, Runtime};
use joinder::sys::stop::Stop;

use crate::support::{Rig, workflow};

const LIMIT: Duration = Duration::from_mins(2);

#[tokio::test(start_paused = true)]
async fn a_cluster_is_found_and_spoken_to_by_its_labels() {
    let rig = Rig::new();
    rig.run_and(&workflow("one", "serial"), "r1", &Stop::new(), true).await;
    let runtime: Arc<dyn Runtime> = Arc::new(rig.engine.clone());
    let cluster = cluster::attach(&runtime, "one", LIMIT).await.expect("it is there");
    let names: Vec<&str> = cluster.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["one-control-plane-1", "one-control-plane-2", "one-control-plane-3", "one-worker-1"]);
    assert_eq!((cluster.endpoint.as_str(), cluster.kubernetes.as_str()), ("10.213.0.2:6443", "v1.36.3"));

    let error = cluster::find(&rig.engine, "two").await.expect_err("it is not there");
    assert_eq!(error.to_string(), "no cluster \"two\"; there are: one");
    assert_eq!(cluster.absent, []);

    rig.engine.die("one-worker-1", 0, "");
    let cluster = cluster::attach(&runtime, "one", LIMIT).await.expect("it is there");
    let absent: Vec<&str> = cluster.absent.iter().map(|n| n.name.as_str()).collect();
    assert_eq!((cluster.nodes.len(), absent), (3, vec!["one-worker-1"]));
    let dir = tempfile::tempdir().expect("a folder");
    let missing = cluster.export_logs(dir.path()).await;
    assert!(missing.iter().any(|what| what.starts_with("one-worker-1 does not run: ")), "{missing:?}");
    for node in ["one-control-plane-1", "one-control-plane-2", "one-control-plane-3"] {
        rig.engine.die(node, 0, "");
    }
    let down = cluster::attach(&runtime, "one", LIMIT).await;
    assert!(matches!(down.err(), Some(InventoryError::Down { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_changes_is_followed() {
    let rig = Rig::new();
    rig.run_and(&workflow("one", "serial"), "r1", &Stop::new(), true).await;
    let runtime: Arc<dyn Runtime> = Arc::new(rig.engine.clone());
    let mut following = Following::new(runtime);
    let found = cluster::find(&rig.engine, "one").await.expect("it is there");
    // one that comes later is reached later
    let mut fewer = found.clone();
    let late = fewer.nodes.pop().expect("one").name;
    let mut reached = Vec::new();
    for found in [&fewer, &found] {
        assert_eq!(following.look(found, |_| false), Vec::<String>::new());
        while !following.tried() {
            reached.extend(following.reached().await.map(|node| node.name.clone()));
        }
    }
    assert_eq!((reached.len(), reached.last()), (4, Some(&late)));

    // an agent that is lost is connected to anew, and one that does not answer is told of and tried again
    following.look(&found, |node| node == "one-control-plane-2");
    assert!(following.reached().await.is_none(), "it is no new node");
    assert_eq!(following.nodes()["one-control-plane-2"].why, None);
    rig.nodes.mute("one-control-plane-2");
    for _ in 0..2 {
        following.look(&found, |node| node == "one-control-plane-2");
        assert!(following.reached().await.is_none());
        let why = following.nodes()["one-control-plane-2"].why.clone().expect("it does not answer");
        assert!(why.contains("did not answer in 3.0s"), "{why}");
    }

    // what ends is shown with its state, what is removed is gone
    rig.engine.die("one-worker-1", 137, "");
    let mut found = cluster::find(&rig.engine, "one").await.expect("it is there");
    following.look(&found, |_| false);
    assert_eq!(following.nodes()["one-worker-1"].state, "exited");
    found.nodes.retain(|node| node.name != "one-worker-1");
    assert_eq!(following.look(&found, |_| false), ["one-worker-1"]);
}

#[tokio::test(start_paused = true)]
async fn only_what_dead_processes_own_is_collected() {
    let rig = Rig::new();
    let living = label::common("living", "a", Lifetime::Process);
    let kept = label::common("kept", "b", Lifetime::Kept);
    let mut dead = label::common("dead", "c", Lifetime::Kept);
    dead.insert(label::OWNER.into(), "1@1@00000000".into());
    for (at, labels) in (1..).zip([&living, &kept, &dead, &Labels::new()]) {
        let name = format!("n{at}");
        let network = NetworkSpec { name: name.clone(), subnet: Subnet([10, 213, at]), labels: labels.clone() };
        rig.engine.create_network(&network).await.expect("made");
        let network = Some((name.clone(), network.subnet.host(11)));
        let spec = ContainerSpec { name, image: "node".into(), labels: labels.clone(), network, ..ContainerSpec::default() };
        rig.engine.create(&spec).await.expect("made");
    }
    let gone = cluster::collect_garbage(&rig.engine, LIMIT, &Stop::new().hard).await.expect("the engine answers");
    assert_eq!((gone.removed, gone.left), (vec!["container n3".to_owned(), "network n3".to_owned()], vec![]));
    assert_eq!(rig.engine.holds(&[]).len(), 6);
}
