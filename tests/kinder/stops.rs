//! Signals: nothing is lost, cleanup runs, nothing is left running.

use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::support::{Ran, Rig, runs};

const TEXT: &str = "version: 1
tasks:
- {name: a, cmd: sh, args: [-c, 'echo $$; echo up; sleep 1000'], ignoreError: true}
- {name: b, cmd: 'true'}
- {name: c, cmd: sh, args: [-c, echo cleaned], force: true}
";

fn begun(rig: &Rig) -> Child {
    rig.command(&["test", "workflow", "w.yaml", "art"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

pub(super) fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).expect("an id")), signal).expect("sent");
}

#[test]
fn a_signal_ends_the_task_and_leaves_cleanup_its_turn() {
    for which in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let rig = Rig::with(TEXT);
        let child = begun(&rig);
        rig.wait_for("art/task-00-a-log.txt", "\nup\n");
        signal(&child, which);
        let ran = Ran::of(child.wait_with_output().expect("it ends")).ends(1);
        let junit = rig.junit();
        assert_eq!(junit[0].1, "<failure>task was canceled by the user</failure>", "{which}");
        assert_eq!(junit[1].1, "<skipped>skipping because task workflow was canceled by the user</skipped>");
        assert_eq!(junit[2].1, "");
        assert!(rig.read("art/task-02-c-log.txt").ends_with("\ncleaned\n"));
        assert!(ran.out.contains("FAIL! -- 1 tasks Passed | 1 Failed | 1 Skipped\n"), "{}", ran.out);
        let log = rig.read("art/task-00-a-log.txt");
        assert!(!runs(log.lines().rev().nth(1).expect("a process")), "{log}");
    }
}

#[test]
fn a_second_signal_ends_the_cleanup_that_runs_and_junit_is_there() {
    let rig = Rig::with(&format!(
        "{TEXT}- {{name: d, cmd: sh, args: [-c, 'echo $$; echo slow; trap : TERM; sleep 1000; sleep 1000'], force: true}}\n- {{name: e, cmd: 'true', force: true}}\n"
    ));
    let child = begun(&rig);
    rig.wait_for("art/task-00-a-log.txt", "\nup\n");
    signal(&child, Signal::SIGINT);
    rig.wait_for("art/task-03-d-log.txt", "\nslow\n");
    signal(&child, Signal::SIGINT);
    Ran::of(child.wait_with_output().expect("it ends")).ends(1);
    let junit = rig.junit();
    assert_eq!((junit[2].1.as_str(), junit[3].1.as_str()), ("", "<failure>task was canceled by the user</failure>"));
    assert!(junit[4].1.contains("canceled by the user twice"), "{junit:?}");
    assert!(!runs(rig.read("art/task-03-d-log.txt").lines().rev().nth(1).expect("a process")));
}

#[test]
fn a_second_signal_kills_a_task_that_still_ends_and_cleanup_has_its_turn() {
    let ends_late = "version: 1
tasks:
- {name: a, cmd: sh, args: [-c, 'trap \"echo ending\" TERM; echo up; while :; do sleep 0.1; done']}
- {name: b, cmd: sh, args: [-c, echo cleaned], force: true}
- {name: c, cmd: sh, args: [-c, 'echo slow; sleep 1000'], force: true}
- {name: d, cmd: 'true', force: true}
";
    let rig = Rig::with(ends_late);
    let child = begun(&rig);
    rig.wait_for("art/task-00-a-log.txt", "\nup\n");
    signal(&child, Signal::SIGINT);
    rig.wait_for("art/task-00-a-log.txt", "\nending\n");
    signal(&child, Signal::SIGTERM);
    rig.wait_for("art/task-02-c-log.txt", "\nslow\n");
    signal(&child, Signal::SIGTERM);
    Ran::of(child.wait_with_output().expect("it ends")).ends(1);
    let junit = rig.junit();
    assert!(rig.read("art/task-01-b-log.txt").ends_with("\ncleaned\n"));
    assert_eq!((junit[1].1.as_str(), junit[2].1.as_str()), ("", "<failure>task was canceled by the user</failure>"));
    assert!(junit[3].1.contains("canceled by the user twice"), "{junit:?}");
}

#[test]
fn a_closed_terminal_hangs_up_twice_and_cleanup_runs() {
    let rig = Rig::with(&TEXT.replace("echo cleaned", "'echo slow; sleep 0.5; echo cleaned'"));
    let child = begun(&rig);
    rig.wait_for("art/task-00-a-log.txt", "\nup\n");
    signal(&child, Signal::SIGHUP);
    rig.wait_for("art/task-02-c-log.txt", "\nslow\n");
    signal(&child, Signal::SIGHUP);
    Ran::of(child.wait_with_output().expect("it ends")).ends(1);
    assert!(rig.read("art/task-02-c-log.txt").ends_with("\ncleaned\n"));
}

#[test]
fn the_same_under_joinder_run_is_told_by_the_exit_code() {
    let rig = Rig::with(TEXT);
    let mut command = rig.command(&["run", "w.yaml", "--artifacts", "art"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    rig.wait_for("art/task-00-a-log.txt", "\nup\n");
    signal(&child, Signal::SIGTERM);
    Ran::of(child.wait_with_output().expect("it ends")).ends(143);
    assert!(rig.read("art/task-02-c-log.txt").ends_with("\ncleaned\n"));
}
