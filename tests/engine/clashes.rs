//! Names, subnets and ports that somebody else has.

use joinder::event::Event;
use joinder::runner::CaseResult;
use joinder::runtime::api::Subnet;
use joinder::runtime::fake::{Way, When};
use joinder::runtime::label::Labels;
use joinder::runtime::{Fault, NetworkSpec, Runtime};
use joinder::sys::stop::Stop;

use crate::support::{Rig, plan, workflow};

#[tokio::test(start_paused = true)]
async fn two_runs_side_by_side_do_not_touch_each_other() {
    let rig = Rig::new();
    let (one, two) = (workflow("one", "parallel"), workflow("two", "serial"));
    let stop = Stop::new();
    let (a, b) = tokio::join!(rig.run(&one, "r1", &stop), rig.run(&two, "r2", &stop));
    for ran in [&a, &b] {
        assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    }
    let removed = |ran: &crate::support::Ran| {
        let cleaned = ran.events.iter().find_map(|e| if let Event::Cleaned { removed, .. } = e { Some(removed.clone()) } else { None });
        // the kubeconfig's folder is the rig's
        cleaned.expect("it was told").into_iter().filter(|what| !what.starts_with("file ")).collect::<Vec<_>>()
    };
    assert!(removed(&a).iter().all(|what| what.contains(" one")), "{:?}", removed(&a));
    assert!(removed(&b).iter().all(|what| what.contains(" two")), "{:?}", removed(&b));
    assert_eq!(rig.engine.holds(&[]), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_cluster_that_is_there_is_refused_and_the_cluster_stays() {
    let rig = Rig::new();
    let kept = rig.run_and(&workflow("one", "serial"), "r1", &Stop::new(), true).await;
    let ran = rig.run(&workflow("one", "parallel"), "r2", &Stop::new()).await;
    assert_eq!(ran.result.failed.as_deref(), Some("create"));
    assert!(ran.reason().starts_with("cluster \"one\" is there already, run r1 of a joinder that still runs"), "{}", ran.reason());
    assert_eq!(ran.left, [""; 0]);
    assert_eq!(rig.engine.holds(&["io.joinder.run=r1".into()]), kept.left);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_network_of_the_clusters_name_is_refused_and_stays() {
    let rig = Rig::new();
    let foreign = NetworkSpec { name: "one".into(), subnet: Subnet([10, 1, 1]), labels: Labels::new() };
    rig.engine.create_network(&foreign).await.expect("made");
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    assert!(ran.reason().contains("network") && ran.reason().contains("choose another --name"), "{}", ran.reason());
    assert_eq!(rig.engine.holds(&[]), ["network one"]);
}

#[tokio::test(start_paused = true)]
async fn the_next_free_subnet_is_taken_and_one_of_the_users_own_is_not_replaced() {
    let rig = Rig::new();
    let foreign = NetworkSpec { name: "other".into(), subnet: Subnet([10, 213, 0]), labels: Labels::new() };
    rig.engine.create_network(&foreign).await.expect("made");
    let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    let first = ran.events.iter().find_map(|e| if let Event::NodeUp { address, .. } = e { Some(address.octets()) } else { None });
    assert_eq!(first.map(|octets| octets[2]), Some(1));

    let own = plan("{version: 2, cluster: {name: one, subnet: 10.213.0.0/24}, tasks: [{name: init, init: {}}]}");
    let ran = rig.run(&own, "r2", &Stop::new()).await;
    assert!(ran.reason().contains("wanted 10.213.0.0/24; in use: other 10.213.0.0/24"), "{}", ran.reason());
    assert_eq!(rig.engine.holds(&[]), ["network other"]);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_was_taken_meanwhile_is_replaced() {
    for target in ["one-control-plane-2", "one-lb"] {
        let rig = Rig::new();
        let when = |times| When::Next { op: "start container", target: target.into(), times };
        rig.engine.disturb(when(2), Way::Refuse(Fault::PortTaken));
        let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
        assert_eq!(ran.result, CaseResult::default(), "{target}: {}", ran.reason());

        let rig = Rig::new();
        rig.engine.disturb(when(usize::MAX), Way::Refuse(Fault::PortTaken));
        let ran = rig.run(&workflow("one", "parallel"), "r1", &Stop::new()).await;
        assert!(ran.reason().contains(&format!("cannot start container {target}")), "{}", ran.reason());
        assert_eq!(ran.left, [""; 0]);
    }
}
