//! Faults over nodes that are played: what sets them off, what shows that they took effect, and that nothing of them is left.

use std::time::Duration;

use joinder::event::{Event, FaultMoment, Outcome, Verdict};
use joinder::runtime::Fault;
use joinder::runtime::fake::{Way, When as Which};
use joinder::runtime::label::Labels;
use joinder::sys::stop::Stop;

use crate::support::{Ran, Rig, Script, plan};

/// Init and a join of the second of two nodes with this fault and these expectations, then a look and the end.
async fn run_on(rig: &Rig, fault: &str, expect: &str, stop: &Stop) -> Ran {
    let plan = plan(&format!(
        "{{version: 2, cluster: {{name: one, controlPlanes: 2}}, tasks: [
           {{name: init, init: {{}}}},
           {{name: join, join: {{nodes: cp2}}, faults: [{fault}], expect: {expect}}},
           {{name: look, expect: {{members: {{learners: {{min: 0}}}}}}}},
           {{name: delete, force: true, delete: {{}}}}]}}"
    ));
    rig.run(&plan, "r1", stop).await
}

const JOINS: &str = "{joins: ok, members: {voters: 2, learners: 0}}";

/// How far the fault `name` came, in words.
fn moments(ran: &Ran, name: &str) -> Vec<&'static str> {
    let word = |moment: &FaultMoment| match moment {
        FaultMoment::Armed => "armed",
        FaultMoment::Done { .. } => "done",
        FaultMoment::Bit { .. } => "bit",
        FaultMoment::Healed => "healed",
        FaultMoment::NeverTriggered => "never",
        FaultMoment::Failed { .. } => "failed",
        FaultMoment::NotApplicable { .. } => "not applicable",
    };
    let of = |event: &Event| {
        let Event::Fault { id, moment, .. } = event else { return None };
        (id == name).then(|| word(moment))
    };
    ran.events.iter().filter_map(of).collect()
}

/// Whose members cannot serve by the one fault, and whether that lasts until it is undone.
fn down(ran: &Ran) -> (Vec<&str>, bool) {
    for event in &ran.events {
        if let Event::Fault { moment: FaultMoment::Done { down, lasts, .. }, .. } = event {
            return (down.iter().map(String::as_str).collect(), *lasts);
        }
    }
    panic!("it was done: {}", ran.told())
}

/// The verdict on a name, and what was seen.
fn verdict(ran: &Ran, name: &str) -> (Verdict, String) {
    let of = |event: &Event| {
        let Event::Judged { judgement, .. } = event else { return None };
        (judgement.name == name).then(|| (judgement.verdict, judgement.saw.clone()))
    };
    ran.events.iter().find_map(of).unwrap_or_else(|| panic!("{name} was not judged: {}", ran.told()))
}

fn clean(rig: &Rig, ran: &Ran) {
    assert_eq!((rig.nodes.left(), ran.left.len(), ran.result.left), (Vec::new(), 0, false));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_shown_and_the_join_goes_on() {
    let rig = Rig::new();
    let fault = "{id: lost, on: {call: MemberPromote, node: cp2}, do: {dropAnswer: {times: 2}}}";
    let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
    assert_eq!(moments(&ran, "lost"), ["armed", "done", "bit", "bit", "healed"]);
    assert_eq!(verdict(&ran, "fault lost"), (Verdict::Pass, "MemberPromote dropped; MemberPromote dropped".into()));
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_nothing_sets_off_fails_its_step() {
    let rig = Rig::new();
    for on in ["{call: MemberAdd, nth: 9}", "{call: MemberPromote, nth: 2}", "{event: member-removed}", "{phase: no-such}", "{after: 9m}"] {
        let action = if on.contains("call") { "{delay: {by: 1s}}" } else { "{kill: {what: etcd, nodes: cp2}}" };
        let ran = run_on(&rig, &format!("{{id: idle, on: {on}, do: {action}}}"), JOINS, &Stop::new()).await;
        assert_eq!(moments(&ran, "idle"), ["armed", "never"], "{on}");
        let (judged, saw) = verdict(&ran, "fault idle");
        assert!(judged == Verdict::Fail && saw.starts_with("never triggered"), "{judged:?} {saw}");
        assert!(!on.contains("phase") || saw.contains(": there was no phase no-such, but preflight, "), "{saw}");
        assert_eq!(ran.result.failed.as_deref(), Some("join"), "{on}");
        clean(&rig, &ran);
    }
}

const KILLED: &str = "{id: killed, on: {call: MemberAdd, at: answer}, do: {kill: {what: kubeadm, nodes: cp2}}}";

#[tokio::test(start_paused = true)]
async fn kubeadm_is_killed_while_its_call_stands_still_and_what_it_leaves_is_named() {
    let rig = Rig::new();
    let ran = run_on(&rig, KILLED, "{joins: {cp2: {fails: it was killed, residue: unnamed-learner}}}", &Stop::new()).await;
    assert_eq!(moments(&ran, "killed"), ["armed", "done", "bit", "healed"]);
    assert_eq!(verdict(&ran, "joins").0, Verdict::Pass, "{:?}", verdict(&ran, "joins"));
    assert_eq!(down(&ran), (vec![], false), "only kubeadm");
    assert_eq!(ran.result.failed, None, "it failed as it should: {}", ran.told());
    assert!(ran.outcome("look").passed(), "the task behind it has its turn");
    assert!(ran.told().contains("has left an unnamed learner"), "{}", ran.told());
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn another_residue_than_the_wanted_one_counts() {
    for residue in ["none", "named-learner", "voter"] {
        let rig = Rig::new();
        let ran = run_on(&rig, KILLED, &format!("{{joins: {{cp2: {{fails: it was killed, residue: {residue}}}}}}}"), &Stop::new()).await;
        assert_eq!(ran.result.failed.as_deref(), Some("join"), "{residue}");
        assert!(verdict(&ran, "joins").1.contains("unnamed-learner"), "{:?}", verdict(&ran, "joins"));
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn a_join_whose_proxy_dies_fails_with_just_that_reason() {
    let rig = Rig::new();
    rig.nodes.proxy_dies("one-control-plane-2", "MemberAdd");
    let fault = "{id: lost, on: {call: MemberPromote}, do: {dropAnswer: {times: 1}}}";
    let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
    assert_eq!(ran.outcome("join"), Outcome::Failed { reason: "the proxy of etcd's calls: it was killed".into() });
    assert_eq!(ran.result.failed.as_deref(), Some("join"));
    assert!(rig.nodes.left().iter().all(|left| !left.starts_with("proxy")), "{:?}", rig.nodes.left());
    assert_eq!(ran.left, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_fault_undoes_it() {
    for fault in [
        "{id: x, on: {call: MemberPromote}, do: {hold: {at: request}}}",
        "{id: x, on: {phase: etcd}, do: {pause: {what: kubelet, nodes: cp2}}}",
        "{id: x, on: {phase: etcd}, do: {pause: {what: node, nodes: first}}}",
        "{id: x, on: {phase: etcd}, do: {partition: {from: cp2, to: first}}}",
        "{id: x, on: {phase: etcd}, do: {partition: {from: cp2, to: first}}, until: run-end}",
    ] {
        let rig = Rig::new();
        if fault.contains("phase") {
            rig.nodes.script("one-control-plane-2", Script::Hangs);
        }
        let stop = Stop::new();
        let soft = stop.soft.clone();
        let ran = async {
            // kubeadm stands still by then, and would for ever
            tokio::time::sleep(Duration::from_mins(1)).await;
            soft.cancel();
        };
        let (ran, ()) = tokio::join!(run_on(&rig, fault, JOINS, &stop), ran);
        assert_eq!(ran.outcome("join"), Outcome::Stopped, "{fault}: {:?}", ran.outcomes());
        let moments = moments(&ran, "x");
        assert!(moments.contains(&"done") && moments.contains(&"healed"), "{fault}: {moments:?}");
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_between_its_end_and_its_start_is_waited_for_and_one_that_never_comes_fails() {
    let fault = "{id: x, on: {event: learner-announced}, do: {pause: {what: kubelet, nodes: cp2}}, until: 1s}";
    for (looks, comes) in [(20, true), (1000, false)] {
        let rig = Rig::new();
        rig.nodes.just_ended("one-control-plane-2", "kubelet", looks);
        let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
        let (judged, saw) = verdict(&ran, "fault x");
        if comes {
            assert_eq!(moments(&ran, "x"), ["armed", "done", "bit", "healed"]);
            assert_eq!(judged, Verdict::Pass, "{saw}");
        } else {
            assert_eq!(moments(&ran, "x"), ["armed", "failed"]);
            assert!(judged == Verdict::Fail && saw.contains("no kubelet runs on one-control-plane-2"), "{judged:?} {saw}");
        }
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_here_is_undecided_and_not_passed() {
    let cut = "{id: cut, on: {event: learner-announced}, do: {partition: {from: cp2, to: first}}}";
    let slow = "{id: slow, on: {event: learner-announced}, do: {diskSlow: {nodes: cp2, rate: 1MiB}}}";
    for (id, fault, why) in [("cut", cut, "no nft in this image"), ("slow", slow, "page cache")] {
        let rig = Rig::new();
        rig.nodes.no_nft();
        let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
        assert_eq!(moments(&ran, id), ["armed", "not applicable"]);
        let (judged, saw) = verdict(&ran, &format!("fault {id}"));
        assert!(judged == Verdict::Undecided && saw.contains(why), "{judged:?} {saw}");
        assert!(ran.result.undecided && ran.result.failed.is_none());
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_is_shown_by_its_counter_and_ends_in_its_time() {
    let rig = Rig::new();
    let fault = "{id: cut, on: {event: learner-announced, node: cp2}, do: {partition: {from: cp2, to: first}}, until: 300ms}";
    let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
    assert_eq!(moments(&ran, "cut"), ["armed", "done", "bit", "healed"]);
    assert_eq!(verdict(&ran, "fault cut"), (Verdict::Pass, "5 packets dropped on one-control-plane-2".into()));
    assert_eq!(down(&ran), (vec!["one-control-plane-2"], true));
    let healed = |event: &Event| matches!(event, Event::Fault { moment: FaultMoment::Healed, .. });
    let joined = |event: &Event| matches!(event, Event::TaskFinished { name, .. } if name == "join");
    let at = |is: &dyn Fn(&Event) -> bool| ran.events.iter().position(is).expect("told");
    assert!(at(&healed) < at(&joined), "it ends by itself");
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_node_is_let_go_and_an_engine_that_refuses_is_told_of() {
    let fault = "{id: ice, on: {event: learner-announced}, do: {pause: {what: node, nodes: cp2}}, until: 1s}";
    let rig = Rig::new();
    let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
    assert_eq!(verdict(&ran, "fault ice"), (Verdict::Pass, "container one-control-plane-2 is paused".into()));
    let ops: Vec<String> = rig.engine.calls().into_iter().map(|call| call.op.to_owned()).collect();
    assert!(ops.contains(&"pause container".to_owned()) && ops.contains(&"resume container".to_owned()));
    for (op, moment, said) in [("pause container", "failed", "could not be done"), ("resume container", "failed", "could not be undone")] {
        let nth = ops.iter().position(|other| other == op).expect("a call") + 1;
        let rig = Rig::new();
        rig.engine.disturb(Which::Nth(nth), Way::Refuse(Fault::Other));
        let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
        assert!(moments(&ran, "ice").contains(&moment), "{op}: {:?}", moments(&ran, "ice"));
        let (judged, saw) = verdict(&ran, "fault ice");
        assert!(judged == Verdict::Fail && saw.contains(said), "{op}: {saw}");
        assert_eq!(ran.result.failed.as_deref(), Some("join"));
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn all_nodes_end_at_once_and_start_behind_the_step() {
    let rig = Rig::new();
    let ran =
        run_on(&rig, "{id: dark, on: {event: learner-announced}, do: {crashAll: {}}}", "{joins: {cp2: {fails: x}}}", &Stop::new()).await;
    assert_eq!(moments(&ran, "dark"), ["armed", "done", "bit", "healed"]);
    let (judged, saw) = verdict(&ran, "fault dark");
    assert_eq!(judged, Verdict::Pass);
    assert_eq!(down(&ran), (vec!["one-control-plane-1", "one-control-plane-2"], true));
    assert_eq!(saw, "container one-control-plane-1 has exited with code 137, container one-control-plane-2 has exited with code 137");
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn a_fault_until_the_runs_end_is_undone_before_the_nodes_go() {
    let rig = Rig::new();
    let fault = "{id: cut, on: {event: learner-announced}, do: {partition: {from: cp2, to: first}}, until: run-end}";
    let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
    assert_eq!(verdict(&ran, "fault cut").0, Verdict::Pass);
    let at = |is: &dyn Fn(&Event) -> bool| ran.events.iter().position(is).expect("told");
    let healed = at(&|event| matches!(event, Event::Fault { moment: FaultMoment::Healed, .. }));
    assert!(healed > at(&|event| matches!(event, Event::TaskFinished { name, .. } if name == "look")));
    assert!(healed < at(&|event| matches!(event, Event::Cleaned { .. })));
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn calls_are_watched_without_a_fault_where_the_join_says_so() {
    let rig = Rig::new();
    let text = "{version: 2, cluster: {name: one, controlPlanes: 2}, tasks: [
           {name: init, init: {}}, {name: join, join: {watchCalls: true}}, {name: delete, force: true, delete: {}}]}";
    rig.nodes.proxy_dies("one-control-plane-2", "MemberPromote");
    let ran = rig.run(&plan(text), "r1", &Stop::new()).await;
    assert_eq!(ran.outcome("join"), Outcome::Failed { reason: "the proxy of etcd's calls: it was killed".into() }, "it stood");
    clean(&rig, &ran);
}

/// A fault as a task of its own, a look, and what ends it.
fn standing(fault: &str, end: &str) -> String {
    format!(
        "{{version: 2, cluster: {{name: one, controlPlanes: 2}}, tasks: [
           {{name: init, init: {{}}}}, {{name: break, fault: {fault}}},
           {{name: join, join: {{nodes: cp2}}}},
           {end}{{name: delete, force: true, delete: {{}}}}]}}"
    )
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_its_own_lasts_until_it_is_healed() {
    let rig = Rig::new();
    let text = standing("{id: cut, do: {partition: {from: cp2, to: first}}}", "{name: mend, heal: cut}, ");
    let ran = rig.run(&plan(&text), "r1", &Stop::new()).await;
    assert_eq!(moments(&ran, "cut"), ["armed", "done", "bit", "healed"]);
    assert_eq!(verdict(&ran, "fault cut").0, Verdict::Pass);
    let finished = |wanted: &str| {
        let is = |event: &Event| matches!(event, Event::TaskFinished { name, .. } if name == wanted);
        ran.events.iter().position(is).expect("told")
    };
    let moment = |is: fn(&FaultMoment) -> bool| {
        ran.events.iter().position(|event| matches!(event, Event::Fault { moment, .. } if is(moment))).expect("told")
    };
    assert!(moment(|m| matches!(m, FaultMoment::Done { .. })) < finished("break"), "it is done when its task ends");
    let healed = moment(|m| matches!(m, FaultMoment::Healed));
    assert!(finished("join") < healed && healed < finished("mend"));
    assert_eq!(ran.result.failed, None, "{}", ran.told());
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn what_was_never_broken_cannot_be_healed() {
    let rig = Rig::new();
    let text = standing("{id: cut, do: {partition: {from: cp2, to: first}}}, when: {kubernetes: '<1.0'}", "{name: mend, heal: cut}, ");
    let ran = rig.run(&plan(&text), "r1", &Stop::new()).await;
    assert_eq!(ran.result.failed.as_deref(), Some("mend"), "{}", ran.told());
    let reason = "there is no fault \"cut\" to end: its task was skipped, or failed".to_owned();
    assert_eq!(ran.outcome("mend"), Outcome::Failed { reason });
    clean(&rig, &ran);
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_no_task_heals_ends_before_the_nodes_go_and_is_judged() {
    for (fault, came) in [
        ("{id: x, on: {call: MemberPromote}, do: {dropAnswer: {times: 1}}}", Verdict::Pass),
        ("{id: x, on: {call: MemberRemove}, do: {dropAnswer: {times: 1}}}", Verdict::Fail),
    ] {
        let rig = Rig::new();
        let ran = rig.run(&plan(&standing(fault, "")), "r1", &Stop::new()).await;
        assert_eq!(verdict(&ran, "fault x").0, came, "{fault}");
        assert_eq!(ran.result.failed.as_deref(), (came == Verdict::Fail).then_some("break"), "{fault}");
        assert!(ran.outcome("join").passed(), "{fault}");
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn a_manifest_is_changed_and_put_back() {
    let rig = Rig::new();
    for (change, trace) in [("flag: --no-such=1", "--no-such=1"), ("image: nowhere/etcd:0", "nowhere/etcd:0")] {
        let fault = format!("{{id: edited, on: {{phase: etcd}}, do: {{manifest: {{nodes: cp2, of: etcd, {change}}}}}}}");
        let ran = run_on(&rig, &fault, JOINS, &Stop::new()).await;
        assert_eq!(moments(&ran, "edited"), ["armed", "done", "bit", "healed"]);
        let saw = format!("one-control-plane-2: a container of etcd was made with {trace}");
        assert_eq!(verdict(&ran, "fault edited"), (Verdict::Pass, saw));
        clean(&rig, &ran);
    }
}

/// A certificate and its key, and etcd's CA, as they are in an image.
fn with_pki(rig: &Rig) {
    let data = |file: &str| std::fs::read(format!("{}/tests/data/pki/{file}", env!("CARGO_MANIFEST_DIR"))).expect("a file of the tests");
    let pki = ["etcd/ca.crt", "etcd/ca.key", "etcd/peer.crt", "etcd/peer.key"].map(|path| {
        let (_, end) = path.split_once('.').expect("an ending");
        (format!("/etc/kubernetes/pki/{path}"), data(&format!("p256.{end}")))
    });
    let more = [
        ("/kind/version", "v1.36.3\n"),
        ("/etc/kubernetes/pki/ca.crt", "CA"),
        ("/etc/kubernetes/admin.conf", "server: https://10.213.0.2:6443\n"),
    ];
    let more = more.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    rig.engine.add_image("node", Labels::new(), pki.into_iter().chain(more));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_bad_for_a_while_and_then_what_it_was() {
    for (flaw, said) in [
        ("expired", "has expired or is not yet valid"),
        ("not-yet-valid", "has expired or is not yet valid"),
        ("wrong-ca", "signed by unknown authority"),
        ("missing-san", "certificate is valid for|does not match any of DNSNames"),
    ] {
        let rig = Rig::new();
        with_pki(&rig);
        let fault = format!("{{id: bad, on: {{phase: etcd}}, do: {{certificate: {{nodes: cp2, of: etcd-peer, flaw: {flaw}}}}}}}");
        let ran = run_on(&rig, &fault, JOINS, &Stop::new()).await;
        assert_eq!(moments(&ran, "bad"), ["armed", "done", "bit", "healed"], "{flaw}: {:?}", verdict(&ran, "fault bad"));
        let (ended, saw) = verdict(&ran, "fault bad");
        assert_eq!(ended, Verdict::Pass);
        assert!(saw.contains(&format!("one-control-plane-2: x509: certificate {said}")), "{saw}");
        clean(&rig, &ran);
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_cannot_be_bad_where_there_is_no_ca_to_sign_it() {
    let rig = Rig::new();
    let fault = "{id: bad, on: {phase: etcd}, do: {certificate: {nodes: cp2, of: etcd-server, flaw: expired}}}";
    let ran = run_on(&rig, fault, JOINS, &Stop::new()).await;
    assert_eq!(moments(&ran, "bad"), ["armed", "not applicable"]);
    let why = "it does not apply here: one-control-plane-2: there is no /etc/kubernetes/pki/etcd/server.crt";
    assert_eq!(verdict(&ran, "fault bad"), (Verdict::Undecided, why.into()));
}
