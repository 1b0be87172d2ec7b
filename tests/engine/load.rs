//! joinder's own clients on a whole run: whom they call and when, and what is judged by it.

use std::collections::BTreeMap;

use joinder::event::{ClientCall, Event, Judgement, Moment, Op, Verdict};
use joinder::sys::stop::Stop;

use crate::support::{Ran, Rig, plan};

/// A cluster of three with a load, then these tasks.
async fn ran(rig: &Rig, tasks: &str) -> Ran {
    let text = format!(
        "{{version: 2, load: {{rate: 5, preload: 10MiB}}, cluster: {{name: one, controlPlanes: 3}}, tasks: [
           {{name: init, init: {{}}}},
           {{name: join, join: {{order: serial}}, expect: {{staleReads: {{max: 0, over: run}}, lostWrites: {{max: 0}}}}}},
           {tasks}
           {{name: delete, force: true, delete: {{}}}}]}}"
    );
    let ran = rig.run(&plan(&text), "r1", &Stop::new()).await;
    assert_eq!(ran.left, [""; 0]);
    let failed: Vec<Judgement> = judged(&ran, "join").into_iter().filter(|judgement| judgement.verdict != Verdict::Pass).collect();
    assert!(failed.is_empty(), "{failed:?}");
    ran
}

/// All calls with their places in the events.
fn calls(ran: &Ran) -> Vec<(usize, &ClientCall)> {
    let told = ran.events.iter().enumerate();
    told.filter_map(|(at, e)| if let Event::Called { call } = e { Some((at, call)) } else { None }).collect()
}

fn judged(ran: &Ran, task: &str) -> Vec<Judgement> {
    let of = |e: &Event| if let Event::Judged { task: of, judgement, .. } = e { (of == task).then(|| judgement.clone()) } else { None };
    ran.events.iter().filter_map(of).collect()
}

fn place(ran: &Ran, is: impl Fn(&Event) -> bool) -> usize {
    ran.events.iter().position(is).expect("told")
}

#[tokio::test(start_paused = true)]
async fn each_voter_has_its_clients_from_its_vote_to_the_end() {
    let ran = ran(&Rig::new(), "{name: wait, wait: {time: 10s}},").await;
    assert_eq!(ran.result.failed, None, "{}", ran.reason());
    assert!(ran.told().contains("put 10MiB into etcd's store"), "{}", ran.told());
    let calls = calls(&ran);
    let inited = place(&ran, |e| matches!(e, Event::Worked { work: joinder::event::Work::Init, .. }));
    let deleted = place(&ran, |e| matches!(e, Event::TaskFinished { name, .. } if name == "wait"));
    assert!(calls.iter().all(|(at, _)| inited < *at && *at < deleted + 20), "from the end of init to the delete");
    for n in 1..=3 {
        let name = format!("one-control-plane-{n}");
        let vote = |e: &Event| matches!(e, Event::Member { name: of, moment: Moment::Founded | Moment::Promoted, .. } if *of == name);
        // the first member gets its name later than its vote
        let voted = if n == 1 { inited } else { place(&ran, vote) };
        for (client, least) in [(format!("writer {name}"), 50), (format!("reader {name}"), 10)] {
            let own: Vec<_> = calls.iter().filter(|(_, call)| call.client == client).collect();
            assert!(own.len() >= least, "{client}: {}", own.len());
            assert!(own[0].0 > voted, "{client} begins with the vote");
            assert!(own.iter().all(|(_, call)| call.node == name));
        }
    }
    let pair: BTreeMap<&str, Op> =
        calls.iter().filter(|(_, call)| call.node.is_empty()).map(|(_, call)| (call.client.as_str(), call.op)).collect();
    assert_eq!(pair, [("api-reader", Op::Read), ("api-writer", Op::Write)].into());
    let verdicts: Vec<_> = judged(&ran, "join").into_iter().map(|judgement| (judgement.name, judgement.verdict)).collect();
    assert_eq!(verdicts, [("lostWrites".to_owned(), Verdict::Pass), ("staleReads".to_owned(), Verdict::Pass)]);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_leaves_is_written_to_no_more_and_one_that_comes_back_is() {
    let tasks = "{name: restart, restart: {nodes: cp2, how: kill}}, {name: again, wait: {time: 5s}}, \
                 {name: reset, reset: {nodes: cp3}}, {name: rest, wait: {time: 5s}},";
    let ran = ran(&Rig::new(), tasks).await;
    assert_eq!(ran.result.failed, None, "{}", ran.reason());
    let calls = calls(&ran);
    let removed = |e: &Event| matches!(e, Event::Member { name, moment: Moment::Removed, .. } if name == "one-control-plane-3");
    let gone = place(&ran, removed);
    let of = |n: u32| calls.iter().filter(move |(_, call)| call.client == format!("writer one-control-plane-{n}"));
    // what was under way at that moment may still be told
    let later = |n| of(n).filter(|(at, _)| *at > gone).count();
    assert!(later(3) <= 1 && later(1) > 10, "{} {}", later(3), later(1));
    let number = |call: &ClientCall| call.key.strip_prefix("own/one-control-plane-2/").and_then(|n| n.parse::<u64>().ok());
    let numbers: Vec<u64> = of(2).filter_map(|(_, call)| number(call)).collect();
    let jumps: Vec<u64> = numbers.windows(2).map(|two| two[1] - two[0]).filter(|by| *by > 2).collect();
    assert!(matches!(jumps[..], [by] if by > 60), "what nobody told of is left out, and no number is given twice: {jumps:?}");
}

#[tokio::test(start_paused = true)]
async fn what_etcd_forgets_is_found_out_by_the_read_behind_the_step() {
    let rig = Rig::new();
    let forget = "{name: forget, exec: {nodes: first, command: [forget, own/one-control-plane-2/1]}, \
                   expect: {lostWrites: {max: 0}, writeGap: {max: 1h}}},";
    let ran = ran(&rig, &format!("{{name: write, wait: {{time: 5s}}}}, {forget}")).await;
    assert_eq!(ran.result.failed.as_deref(), Some("forget"));
    let judged = judged(&ran, "forget");
    let lost = judged.iter().find(|judgement| judgement.name == "lostWrites").expect("judged");
    assert_eq!(lost.verdict, Verdict::Fail);
    assert!(lost.saw.contains("acknowledged writes are gone: own/one-control-plane-2/1"), "{}", lost.saw);
    let shown = |seq: &u64| {
        let event = &ran.events[usize::try_from(*seq).expect("small") - 1];
        matches!(event, Event::Called { call } if call.key.starts_with("own/one-control-plane-2/1"))
    };
    assert!(!lost.evidence.is_empty() && lost.evidence.iter().all(shown), "each lost write is shown");
}

#[tokio::test(start_paused = true)]
async fn without_a_load_nobody_calls() {
    let plan = plan("{version: 2, load: {off: true}, tasks: [{name: init, init: {}}, {name: wait, wait: {time: 5s}}]}");
    let ran = Rig::new().run(&plan, "r1", &Stop::new()).await;
    assert!(calls(&ran).is_empty());
}
