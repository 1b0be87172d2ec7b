use std::time::Duration;

use super::{End, Pipe, Program, Ran, run};
use crate::sys::stop::Stop;

/// More than any test takes.
const LONG: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_millis(400);

fn sh(script: &str) -> Program {
    Program { program: "sh".into(), args: vec!["-c".into(), script.into()], ..Program::default() }
}

/// What became of it, and its lines.
async fn ran(program: &Program, stop: &Stop) -> (Ran, Vec<(Pipe, String)>) {
    let mut lines = Vec::new();
    let running = run(program, GRACE, stop, |pipe, line, _| lines.push((pipe, line)));
    let ran = tokio::time::timeout(LONG, running).await.expect("it ends");
    (ran, lines)
}

/// Stopped softly once it has said its first line, which is returned.
async fn stopped(script: &str) -> (Ran, String) {
    let stop = Stop::new();
    let mut first = String::new();
    let program = sh(script);
    let running = run(&program, GRACE, &stop, |_, line, _| {
        if first.is_empty() {
            first = line;
        }
        stop.soft.cancel();
    });
    let ran = tokio::time::timeout(LONG, running).await.expect("it ends");
    (ran, first)
}

/// Does the process run? A zombie does not: nobody has asked for it yet.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[tokio::test]
async fn an_exit_code_a_signal_and_both_streams() {
    let (done, lines) = ran(&sh("echo out; echo err >&2; printf last; exit 3"), &Stop::new()).await;
    assert_eq!((done.end.to_string(), done.leaked), ("exit code 3".to_owned(), vec![]));
    let of = |wanted| lines.iter().filter(|(pipe, _)| *pipe == wanted).map(|(_, line)| line.as_str()).collect::<Vec<_>>();
    assert_eq!((of(Pipe::Out), of(Pipe::Err)), (vec!["out", "last"], vec!["err"]));
    let (killed, _) = ran(&sh("kill -SEGV $$"), &Stop::new()).await;
    assert_eq!((killed.end.to_string().as_str(), killed.end), ("killed by SIGSEGV", End::Signalled(11)));
}

#[tokio::test]
async fn what_cannot_be_started_is_told_in_the_systems_words() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("program");
    std::fs::write(&file, "#!/bin/sh\n").expect("written");
    let named = |program: &str| Program { program: program.into(), ..Program::default() };
    for (program, words) in [
        (named("no-such-program"), "No such file"),
        (named(&file.display().to_string()), "Permission denied"),
        (Program { dir: Some("/no/such/folder".into()), ..sh("true") }, "there is no folder /no/such/folder"),
    ] {
        let (done, _) = ran(&program, &Stop::new()).await;
        assert!(matches!(&done.end, End::NotStarted(why) if why.contains(words)), "{done:?}");
    }
}

#[tokio::test]
async fn variables_and_folder_are_as_asked_and_nobody_reads_the_terminal() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = Program {
        dir: Some(dir.path().to_owned()),
        env: vec![("GREETING".into(), "hello there".into())],
        ..sh("echo $GREETING; pwd; cat; test -n \"$PATH\"")
    };
    let (done, lines) = ran(&program, &Stop::new()).await;
    assert_eq!(done.end, End::Exited(0));
    let here = dir.path().canonicalize().expect("there").display().to_string();
    assert_eq!(lines, [(Pipe::Out, "hello there".to_owned()), (Pipe::Out, here)]);
}

#[tokio::test]
async fn a_stop_lets_a_program_tidy_up_in_its_grace() {
    let (done, _) = stopped("trap 'echo tidy; exit 7' TERM; echo up; while :; do sleep 0.05; done").await;
    assert_eq!(done, Ran { end: End::Stopped, leaked: vec![], left: vec![] });
}

#[tokio::test]
async fn a_stop_ends_also_a_child_that_ignores_the_polite_signal() {
    let (done, child) = stopped("sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done' & wait").await;
    assert_eq!((done.end, done.left), (End::Stopped, vec![]));
    assert!(!runs(&child));
}

#[tokio::test]
async fn a_hard_stop_does_not_wait_for_a_grace() {
    let stop = Stop::new();
    let program = sh("trap '' TERM; echo up; while :; do sleep 0.05; done");
    let began = tokio::time::Instant::now();
    let done = run(&program, Duration::from_mins(1), &stop, |_, _, _| stop.hard.cancel()).await;
    assert_eq!(done.end, End::Stopped);
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_is_named_and_ended() {
    let (done, lines) = ran(&sh("sleep 1000 & echo $!"), &Stop::new()).await;
    let child = &lines[0].1;
    assert_eq!((done.end, done.leaked, done.left), (End::Exited(0), vec![format!("{child} (sleep 1000)")], vec![]));
    assert!(!runs(child));
}

#[tokio::test]
async fn a_daemon_in_a_session_of_its_own_is_found_too() {
    let script = "setsid sh -c 'echo $$; trap \"\" TERM; while :; do sleep 0.05; done' </dev/null & sleep 0.3";
    let (done, lines) = ran(&sh(script), &Stop::new()).await;
    let daemon = &lines[0].1;
    assert!(done.leaked.iter().any(|what| what.starts_with(&format!("{daemon} (sh -c "))), "{done:?}");
    assert!(!runs(daemon) && done.left.is_empty());
    let (done, daemon) = stopped("setsid sh -c 'echo $$; exec sleep 1000' & wait; sleep 1000").await;
    assert_eq!(done.end, End::Stopped);
    assert!(!runs(&daemon));
}

#[tokio::test]
async fn a_child_that_is_on_its_way_out_is_not_left_behind() {
    let (done, lines) = ran(&sh("(sleep 0.2; echo late) & echo early"), &Stop::new()).await;
    assert_eq!(done, Ran { end: End::Exited(0), leaked: vec![], left: vec![] });
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[tokio::test]
async fn ten_megabytes_without_a_newline_are_told_in_pieces() {
    let (done, lines) = ran(&sh("head -c 10000000 /dev/zero | tr '\\0' x"), &Stop::new()).await;
    assert_eq!(done.end, End::Exited(0));
    assert_eq!(lines.iter().map(|(_, line)| line.len()).sum::<usize>(), 10_000_000);
    assert!(lines.iter().all(|(_, line)| line.len() < 20_000));
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_nothing() {
    let (stop, program) = (Stop::new(), sh("echo $$; sleep 1000"));
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let running = run(&program, GRACE, &stop, |_, line, _| drop(tell.send(line)));
    let pid = tokio::select! {
        _ = running => panic!("it does not end by itself"),
        line = heard.recv() => line.expect("its id"),
    };
    for _ in 0..100 {
        if !runs(&pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("process {pid} still runs");
}

#[tokio::test]
async fn what_a_trap_starts_when_it_is_stopped_is_not_stopped_with_it() {
    // a second signal would come a moment after the first: not each time before the trap has begun
    for _ in 0..20 {
        let stop = Stop::new();
        let mut lines = Vec::new();
        // its child says that it is up: before, bash may not wait yet, and would do so behind the signal
        let script = "trap 'sh -c \"sleep 0.05; echo cleaned\"' EXIT; sh -c 'echo up; exec sleep 1000'";
        let program = Program { program: "bash".into(), args: vec!["-c".into(), script.into()], ..Program::default() };
        let running = run(&program, LONG, &stop, |_, line, _| {
            lines.push(line);
            stop.soft.cancel();
        });
        tokio::time::timeout(LONG, running).await.expect("it ends");
        assert!(lines.contains(&"cleaned".to_owned()), "{lines:?}");
    }
}
