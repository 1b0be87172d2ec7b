//! Steps that leave the cluster's size as it is: commands, copies, waits, groups, restarts.

use std::time::Duration;

use joinder::event::{Event, Outcome};
use joinder::runner::CaseResult;
use joinder::runtime::Fault;
use joinder::runtime::fake::{Way, When as Which};
use joinder::spec::{
    Compare, Ending, Exec, Expectations, Export, Members, Named, OutputWanted, Part, Restart, Selector, Span, State, Wait, When,
};
use joinder::sys::stop::Stop;
use joinder::workflow::{PlannedTask, Process, Step, Transfer};

use crate::support::{Ran, Rig, Script, alone, numbered, task, with, with_size};

fn picks(words: &[&str]) -> Selector {
    Selector(words.iter().map(|word| word.parse().expect("a pick")).collect())
}

fn cmd(script: &str) -> Step {
    let args = vec!["-c".to_owned(), script.to_owned()];
    Step::Cmd(Process { program: "sh".into(), args, dir: None, env: vec![("GREETING".into(), "hello".into())] })
}

fn exec(nodes: &[&str], command: &[&str]) -> Exec {
    let command = Some(command.iter().map(|word| (*word).to_owned()).collect());
    Exec {
        nodes: picks(nodes),
        command,
        script: None,
        env: Named::default(),
        exit_code: 0,
        output: None,
        parallel: false,
        allow_empty: false,
    }
}

fn restart(nodes: &[&str], what: Part, how: Ending) -> Restart {
    Restart { nodes: picks(nodes), what, how, parallel: false, allow_empty: false }
}

fn wait(until: State) -> Wait {
    Wait { time: None, until: Some(until), nodes: None, within: None, allow_empty: false }
}

fn voters(count: usize) -> Expectations {
    Expectations { members: Some(Members { voters: Some(Compare::just(count)), ..Members::default() }), ..Expectations::default() }
}

/// Runs these tasks on a cluster that is there.
async fn ran(rig: &Rig, tasks: Vec<PlannedTask>) -> Ran {
    let ran = rig.run(&with(tasks), "r1", &Stop::new()).await;
    assert_eq!(ran.left, [""; 0]);
    ran
}

/// How one task ends, and why.
async fn reason(rig: &Rig, step: Step) -> String {
    let ran = ran(rig, vec![task("it", step)]).await;
    match ran.outcome("it") {
        Outcome::Failed { reason } | Outcome::NotStarted { reason } => reason,
        other @ (Outcome::Passed | Outcome::TimedOut { .. } | Outcome::Stopped | Outcome::Skipped { .. }) => panic!("{other:?}"),
    }
}

// These two run real processes, which know nothing of a paused clock.
#[tokio::test]
async fn a_command_is_heard_and_its_end_is_told_apart() {
    let rig = Rig::new();
    let (mut slow, missing) =
        (task("slow", cmd("sleep 100")), Step::Cmd(Process { program: "no-such-program".into(), args: vec![], dir: None, env: vec![] }));
    slow.limit = Duration::from_millis(300);
    let ignored = |name: &str, step| PlannedTask { ignore_error: true, ..task(name, step) };
    slow.ignore_error = true;
    let plan = alone(vec![
        task("good", cmd("echo $GREETING; echo $ARTIFACTS >&2")),
        ignored("bad", cmd("exit 3")),
        ignored("killed", cmd("kill -KILL $$")),
        ignored("missing", missing),
        slow,
        task("leaky", cmd("sleep 1000 & echo $!")),
    ]);
    let ran = rig.run_timed(&plan, "r1", &Stop::new(), false, Duration::ZERO).await;
    assert_eq!(ran.result, CaseResult::default(), "{:?}", ran.outcomes());
    let output = ran.output();
    assert!(output.contains(&": hello".to_owned()), "{output:?}");
    assert!(output.iter().any(|line| line.starts_with("! /") && !line.ends_with("/nodes")), "{output:?}");
    let failed = |reason: &str| Outcome::Failed { reason: reason.into() };
    assert_eq!(ran.outcome("bad"), failed("sh -c exit 3: exit code 3"));
    assert_eq!(ran.outcome("killed"), failed("sh -c kill -KILL $$: killed by SIGKILL"));
    assert!(matches!(ran.outcome("missing"), Outcome::NotStarted { reason } if reason.contains("No such file")));
    assert_eq!(ran.outcome("slow"), Outcome::TimedOut { limit: Duration::from_millis(300) });
    let child = output.last().expect("its id").trim_start_matches(": ");
    assert!(ran.told().contains(&format!("sh left processes running, which were ended: {child} (sleep 1000)")), "{}", ran.told());
}

#[tokio::test]
async fn the_folder_of_artifacts_is_written_out_when_a_process_runs() {
    let rig = Rig::new();
    let text = "{version: 2, tasks: [{name: say, cmd: sh, args: [-c, 'echo {{ .env.ARTIFACTS }}x $ARTIFACTS; pwd'], dir: '{{ .env.ARTIFACTS }}'}]}";
    let ran = rig.run_timed(&crate::support::plan(text), "r1", &Stop::new(), false, Duration::ZERO).await;
    assert_eq!(ran.outcome("say"), Outcome::Passed);
    let output = ran.output();
    let (told, own) = output[0].trim_start_matches(": ").split_once("x ").expect("both");
    assert!(told == own && told.starts_with('/') && output[1] == format!(": {own}"), "{output:?}");
}

#[tokio::test]
async fn a_failure_in_a_group_stops_the_others_and_all_are_told() {
    for keep_going in [false, true] {
        let rig = Rig::new();
        let tasks = vec![task("bad", cmd("exit 3")), task("slow", cmd("sleep 1; echo done")), task("quick", Step::Expect)];
        let plan = alone(vec![task("group", Step::Group { tasks, keep_going }), task("next", cmd("true"))]);
        let ran = rig.run_timed(&plan, "r1", &Stop::new(), false, Duration::ZERO).await;
        assert_eq!(ran.result.failed.as_deref(), Some("group"));
        assert_eq!(ran.outcome("group"), Outcome::Failed { reason: "1 of 3 tasks failed: bad".into() });
        assert_eq!(ran.outcome("bad"), Outcome::Failed { reason: "sh -c exit 3: exit code 3".into() });
        assert_eq!(ran.outcome("slow"), if keep_going { Outcome::Passed } else { Outcome::Stopped });
        assert_eq!(ran.outcome("quick"), Outcome::Passed);
        assert_eq!(ran.output().len(), usize::from(keep_going));
        assert_eq!(ran.outcome("next"), Outcome::Skipped { reason: "task \"group\" failed".into() });
    }
}

#[tokio::test(start_paused = true)]
async fn joins_and_commands_run_side_by_side_and_each_is_judged() {
    let rig = Rig::new();
    let joins = ["cp2", "cp3"].map(|pick| {
        let mut join = task(pick, Step::Join(joinder::spec::Join { nodes: Some(picks(&[pick])), ..Default::default() }));
        join.expect.members = Some(Members { learners: Some(Compare::just(0)), ..Members::default() });
        join
    });
    let mut plan = with(vec![task("group", Step::Group { tasks: joins.into(), keep_going: false })]);
    plan.tasks.remove(1);
    let mut plan = numbered(plan);
    plan.tasks[1].expect = voters(3);
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    assert_eq!(ran.result, CaseResult::default(), "{:?}", ran.outcomes());
    let judged: Vec<usize> =
        ran.events.iter().filter_map(|e| if let Event::Judged { index: index @ 1.., .. } = e { Some(*index) } else { None }).collect();
    assert_eq!((judged.len(), judged.last()), (3, Some(&2)), "the group is judged last: {judged:?}");
    let began = ran.events.iter().position(|e| matches!(e, Event::KubeadmStarted { node, .. } if node.ends_with("plane-3")));
    let ended = ran.events.iter().position(|e| matches!(e, Event::KubeadmFinished { node, .. } if node.ends_with("plane-2")));
    assert!(began < ended, "both were under way at once");
}

#[tokio::test(start_paused = true)]
async fn a_skipped_group_tells_of_all_its_tasks() {
    let rig = Rig::new();
    rig.nodes.program("one-control-plane-1", "false", &[], 1);
    let tasks = vec![task("a", Step::Expect), task("b", Step::Expect)];
    let ran =
        ran(&rig, vec![task("fails", Step::Exec(exec(&["cp1"], &["false"]))), task("group", Step::Group { tasks, keep_going: false })])
            .await;
    for name in ["group", "a", "b"] {
        assert_eq!(ran.outcome(name), Outcome::Skipped { reason: "task \"fails\" failed".into() });
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_in_the_nodes_that_are_meant_one_after_the_other() {
    let rig = Rig::new();
    for n in 1..=3 {
        rig.nodes.program(&format!("one-control-plane-{n}"), "hostname", &[&format!("I am {n}")], 0);
    }
    let mut wanted = exec(&["control-planes"], &["hostname"]);
    wanted.output = Some(OutputWanted { contains: vec!["I am".into()], lacks: vec!["nobody".into()] });
    let ran = ran(&rig, vec![task("it", Step::Exec(wanted.clone()))]).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    assert_eq!(ran.output(), [1, 2, 3].map(|n| format!("one-control-plane-{n}: I am {n}")));

    wanted.output = Some(OutputWanted { contains: vec!["I am 1".into()], lacks: vec!["I am 1".into()] });
    let reason = reason(&rig, Step::Exec(wanted)).await;
    insta::assert_snapshot!(reason);
}

#[tokio::test(start_paused = true)]
async fn an_exit_code_that_is_not_wanted_fails_on_each_node_that_gives_it() {
    let rig = Rig::new();
    for n in 1..=2 {
        rig.nodes.program(&format!("one-control-plane-{n}"), "test", &["a", "b"], n);
    }
    let mut all = exec(&["control-planes"], &["test"]);
    all.parallel = true;
    insta::assert_snapshot!(reason(&rig, Step::Exec(all.clone())).await);
    all.exit_code = 1;
    all.nodes = picks(&["first"]);
    let ran = ran(&rig, vec![task("it", Step::Exec(all))]).await;
    assert_eq!(ran.outcome("it"), Outcome::Passed);
    let missing = reason(&rig, Step::Exec(exec(&["worker1"], &["missing"]))).await;
    assert_eq!(missing, "cannot start missing on one-worker-1: No such file or directory (os error 2)");
    let nobody = reason(&rig, Step::Exec(exec(&["worker2"], &["true"]))).await;
    assert_eq!(nobody, "\"worker2\" selects none of the nodes that are there");
}

#[tokio::test(start_paused = true)]
async fn secrets_do_not_stand_in_what_commands_say() {
    let rig = Rig::new();
    let time = Step::Wait(Wait { time: Some(Span(Duration::from_mins(2))), until: None, ..wait(State::Ready) });
    let plan = with(vec![task("time", time), task("it", Step::Exec(exec(&["cp2"], &["show"])))]);
    let learn = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        let document = rig.engine.file("one-control-plane-2", "/kind/kubeadm.conf").expect("it has joined");
        let document = String::from_utf8(document).expect("text");
        let token = document.lines().find_map(|line| line.trim().strip_prefix("tlsBootstrapToken: ")).expect("a token");
        rig.nodes.program("one-control-plane-2", "show", &[&format!("--token {}", token.trim_matches('"'))], 0);
    };
    let stop = Stop::new();
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), learn);
    assert_eq!(ran.output(), ["one-control-plane-2: --token [redacted]"]);
}

#[tokio::test(start_paused = true)]
async fn who_leads_is_asked_when_the_step_begins() {
    let rig = Rig::new();
    for n in 1..=3 {
        rig.nodes.program(&format!("one-control-plane-{n}"), "role", &["here"], 0);
    }
    let tasks = vec![
        task("leader", Step::Exec(exec(&["leader"], &["role"]))),
        task("followers", Step::Exec(exec(&["followers"], &["role"]))),
        task("learner", Step::Exec(Exec { allow_empty: true, ..exec(&["learner"], &["role"]) })),
    ];
    let ran = ran(&rig, tasks).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    assert_eq!(ran.output(), [1, 2, 3].map(|n| format!("one-control-plane-{n}: here")));
    let none = reason(&rig, Step::Exec(exec(&["learner"], &["role"]))).await;
    assert_eq!(none, "\"learner\" selects none of the nodes that are there");
    rig.nodes.no_leader();
    let none = reason(&rig, Step::Exec(exec(&["leader"], &["role"]))).await;
    assert!(none.contains("needs an answer from etcd: one-control-plane-1: no leader in term 2; one-control-plane-2"), "{none}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_and_a_stop_end_a_command_in_its_node() {
    let rig = Rig::new();
    let endless = || task("it", Step::Exec(exec(&["cp2"], &["endless"])));
    let limit = Duration::from_secs(20);
    let limited = ran(&rig, vec![PlannedTask { limit, ..endless() }]).await;
    assert_eq!((limited.outcome("it"), rig.nodes.cancelled()), (Outcome::TimedOut { limit }, vec!["one-control-plane-2".to_owned()]));
    let stop = Stop::new();
    let plan = with(vec![endless()]);
    let signal = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        stop.soft.cancel();
    };
    let (stopped, ()) = tokio::join!(rig.run(&plan, "r2", &stop), signal);
    assert_eq!((stopped.outcome("it"), stopped.left), (Outcome::Stopped, vec![]));
}

#[tokio::test(start_paused = true)]
async fn files_go_in_and_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let from = dir.path().join("from");
    std::fs::write(&from, "text").expect("written");
    let copy_in = |nodes: &[&str], from: &std::path::Path| {
        Step::Copy(Transfer::In { from: from.to_owned(), nodes: picks(nodes), to: "/etc/there".into(), allow_empty: false })
    };
    let out = |node: &str, from: &str| Step::Copy(Transfer::Out { node: picks(&[node]), from: from.into(), to: dir.path().join("to") });
    let rig = Rig::new();
    let ran = ran(&rig, vec![task("in", copy_in(&["workers", "cp2"], &from)), task("out", out("cp1", "/kind/version"))]).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    assert_eq!(std::fs::read_to_string(dir.path().join("to")).expect("copied"), "v1.36.3\n");
    let staged = rig.engine.calls().iter().filter(|call| call.op == "write files" && call.target == "one-worker-1").count();
    assert_eq!(staged, 3 + 1, "the node's own files, discovery and document, then the copy");

    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).expect("made");
    let _bound = std::os::unix::net::UnixListener::bind(folder.join("socket")).expect("bound");
    let ran = self::ran(&rig, vec![task("in", copy_in(&["cp1"], &folder))]).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    let warned =
        |e: &Event| matches!(e, Event::Warning { text } if text.ends_with("leaves out folder/socket: neither a file nor a folder"));
    assert!(ran.events.iter().any(warned), "a copy without all is no secret");
    let socket = reason(&rig, copy_in(&["cp1"], &folder.join("socket"))).await;
    assert!(socket.ends_with("/socket: neither a file nor a folder"), "{socket}");

    let missing = reason(&rig, copy_in(&["cp1"], &dir.path().join("missing"))).await;
    assert!(
        missing.starts_with("cannot copy ") && missing.contains("to one-control-plane-1:/etc/there: ") && missing.contains("No such file"),
        "{missing}"
    );
    let missing = reason(&rig, out("cp1", "/no/such")).await;
    assert!(missing.contains("Could not find the file /no/such"), "{missing}");
    let many = reason(&rig, out("control-planes", "/kind/version")).await;
    assert!(many.starts_with("\"control-planes\" selects one-control-plane-1, one-control-plane-2, "), "{many}");
}

#[tokio::test(start_paused = true)]
async fn waits_end_when_all_are_so_and_say_what_they_saw_when_not() {
    let rig = Rig::new();
    let states = [State::Running, State::ApiServer, State::Voter, State::Ready];
    let mut tasks: Vec<_> = states.into_iter().map(|state| task(state.as_str(), Step::Wait(wait(state)))).collect();
    tasks.push(task("time", Step::Wait(Wait { time: Some(Span(Duration::from_secs(90))), until: None, ..wait(State::Ready) })));
    let ran = ran(&rig, tasks).await;
    assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
    let took = ran.events.iter().find_map(|e| {
        let Event::TaskFinished { name, took, .. } = e else { return None };
        (name == "time").then_some(*took)
    });
    assert!(took.is_some_and(|took| took >= Duration::from_secs(90) && took < Duration::from_secs(91)), "{took:?}");

    let mut plan = with(vec![task("it", Step::Wait(Wait { within: Some(Span(Duration::from_secs(5))), ..wait(State::Voter) }))]);
    plan.tasks[1].step = Step::Join(joinder::spec::Join { nodes: Some(picks(&["cp2"])), ..Default::default() });
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    assert_eq!(
        ran.reason(),
        "3 voter: not after 5.0s; first seen: 2 of 3, one-control-plane-3: one-control-plane-3: connection refused; last seen: 2 of 3, one-control-plane-3: one-control-plane-3: connection refused"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_a_limit_of_its_own_ends_with_the_task_and_says_what_it_saw() {
    let rig = Rig::new();
    let mut plan = with(vec![task("it", Step::Wait(wait(State::Ready)))]);
    plan.tasks[1].step = Step::Join(joinder::spec::Join { nodes: Some(picks(&["cp2"])), ..Default::default() });
    let ran = rig.run(&plan, "r1", &Stop::new()).await;
    assert!(ran.reason().starts_with("4 ready: not after 5m00s; ") && ran.reason().contains("one-worker-1: not Ready"), "{}", ran.reason());
}

#[tokio::test(start_paused = true)]
async fn versions_decide_what_is_run_and_judged() {
    let rig = Rig::new();
    let when = |kubernetes: &str| Some(When { kubernetes: Some(kubernetes.parse().expect("a demand")), etcd: None });
    let mut wrong = voters(9);
    wrong.members.as_mut().expect("there").when = when("<1.30");
    let tasks = vec![
        PlannedTask { when: when("<1.36"), ..task("old", Step::Exec(exec(&["cp1"], &["missing"]))) },
        PlannedTask { when: when(">=1.36"), expect: wrong, ..task("new", Step::Expect) },
    ];
    let ran = ran(&rig, tasks).await;
    assert_eq!(ran.outcome("old"), Outcome::Skipped { reason: "kubernetes <1.36 is wanted, this is v1.36.3".into() });
    assert_eq!(ran.outcome("new"), Outcome::Passed);
    assert!(ran.told().contains("members is not judged: kubernetes <1.30 is wanted, this is v1.36.3"), "{}", ran.told());
}

#[tokio::test(start_paused = true)]
async fn logs_go_where_they_are_wanted() {
    let rig = Rig::new();
    let dir = tempfile::tempdir().expect("a folder");
    let to = dir.path().display().to_string();
    let ran = ran(&rig, vec![task("it", Step::Export(Export { to: Some(to.clone()) }))]).await;
    assert_eq!(ran.outcome("it"), Outcome::Passed);
    assert!(ran.told().contains(&format!("logs of the nodes are in {to}")), "{}", ran.told());
    assert!(dir.path().join("one-worker-1/kubelet.log").exists());
}

#[tokio::test(start_paused = true)]
async fn what_is_restarted_runs_again_and_is_watched_again() {
    for how in [Ending::Stop, Ending::Kill] {
        let rig = Rig::new();
        let mut tasks: Vec<_> = [Part::Node, Part::Kubelet, Part::Etcd, Part::KubeApiserver]
            .into_iter()
            .map(|what| task(what.as_str(), Step::Restart(restart(&["cp2", "cp3"], what, how))))
            .collect();
        tasks.push(task("running", Step::Wait(wait(State::Running))));
        let ran = ran(&rig, tasks).await;
        assert_eq!(ran.result, CaseResult::default(), "{}", ran.reason());
        let code = if how == Ending::Stop { 0 } else { 137 };
        for what in [
            &format!("container one-control-plane-3 has exited with code {code}, and"),
            "kubelet of one-control-plane-3",
            "etcd of one-control-plane-2",
            "kube-apiserver of one-control-plane-2",
        ] {
            assert!(ran.told().contains(&format!("{what} runs again ")), "{what}: {}", ran.told());
        }
        let restarted = ran.events.iter().position(|e| matches!(e, Event::TaskFinished { name, .. } if name == "node")).expect("told");
        let seen_again = |e: &Event| matches!(e, Event::Etcd { node, .. } if node == "one-control-plane-3");
        let before =
            ran.events.iter().rposition(|e| matches!(e, Event::Warning { text } if text.contains("one-control-plane-3 is not watched")));
        let again = ran.events.iter().rposition(seen_again);
        assert!(before.is_some() && before < again && before < Some(restarted), "{before:?} {again:?} {restarted}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_back_is_named() {
    let rig = Rig::new();
    rig.nodes.stays_down("one-control-plane-2", "etcd");
    let etcd = PlannedTask { limit: Duration::from_mins(10), ..task("it", Step::Restart(restart(&["cp2"], Part::Etcd, Ending::Kill))) };
    let down = ran(&rig, vec![etcd]).await;
    assert!(
        down.reason().starts_with("etcd of one-control-plane-2: not after 6m00s") && down.reason().ends_with("last seen: it is down"),
        "{}",
        down.reason()
    );
    let when = Which::Next { op: "start container", target: "one-control-plane-3".into(), times: usize::MAX };
    let time = Step::Wait(Wait { time: Some(Span(Duration::from_mins(2))), until: None, ..wait(State::Ready) });
    let plan = with(vec![task("time", time), task("it", Step::Restart(restart(&["all"], Part::Node, Ending::Kill)))]);
    let rig = Rig::new();
    let stop = Stop::new();
    let refuse = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        rig.engine.disturb(when, Way::Refuse(Fault::PortTaken));
    };
    let (ran, ()) = tokio::join!(rig.run(&plan, "r1", &stop), refuse);
    let reason = ran.reason();
    assert!(
        reason.contains("restart failed on 1 of 4 nodes\n  cannot start container one-control-plane-3")
            && reason.ends_with("\n  not tried: one-worker-1"),
        "{reason}"
    );
    assert_eq!(ran.left, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_call_of_these_steps_fails_once_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let tasks = || {
        vec![
            task(
                "in",
                Step::Copy(Transfer::In { from: "Cargo.toml".into(), nodes: picks(&["cp2"]), to: "/etc/x".into(), allow_empty: false }),
            ),
            task("out", Step::Copy(Transfer::Out { node: picks(&["cp1"]), from: "/kind/version".into(), to: dir.path().join("x") })),
            task("restart", Step::Restart(restart(&["cp2"], Part::Node, Ending::Stop))),
            task("wait", Step::Wait(wait(State::Running))),
        ]
    };
    let rig = Rig::new();
    rig.run(&with_size(2, 0, tasks()), "r1", &Stop::new()).await;
    let calls = rig.engine.calls();
    let begin = calls.iter().rposition(|call| call.op == "write files" && call.target == "one-control-plane-2").expect("the copy");
    let end = calls.iter().rposition(|call| call.op == "inspect container").expect("the wait");
    assert!(end - begin >= 6, "{:?}", &calls[begin..=end]);
    for (nth, call) in calls.iter().enumerate().take(end + 1).skip(begin) {
        for way in [Way::Refuse(Fault::Other), Way::Hang] {
            let rig = Rig::new();
            rig.engine.disturb(Which::Nth(nth + 1), way);
            let ran = rig.run(&with_size(2, 0, tasks()), "r1", &Stop::new()).await;
            let what = format!("{call:?} {way:?}: {:?}", ran.outcomes());
            assert_eq!((ran.left.len(), ran.result.left), (0, false), "{what}");
            // a wait looks again
            let waits = ran.outcome("restart").passed();
            assert_eq!(ran.result.failed.is_some(), !waits, "{what}");
        }
    }
    let stop = Stop::new();
    let rig = Rig::new();
    rig.nodes.script("one-control-plane-2", Script::Hangs);
    rig.engine.ring(begin + 1, stop.soft.clone());
    assert_eq!(rig.run(&with_size(2, 0, tasks()), "r1", &stop).await.left, [""; 0]);
}
