//! Faults on real clusters, by files that are shipped: a lost answer, a kubeadm that is killed while its call stands still, and etcd
//! whose log stands still. As in `real_cluster.rs`, `JOINDER_REAL=1` says that an engine and a node image are there.

#![expect(clippy::disallowed_methods, reason = "a test looks at the program from outside, by its environment")]

mod real;

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::real::{binary, may_run};
use joinder::event::{EtcdCall, Event, Told};
use joinder::sys::clock::Stamp;

/// Runs a shipped file, which must pass; kubeadm's calls to etcd.
fn calls_of(file: &str, args: &[&str]) -> Vec<EtcdCall> {
    let dir = tempfile::tempdir().expect("a folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows").join(file);
    let mut command = Command::new(binary());
    command.arg("run").arg(&file).args(args).args(["--name", "real-faults", "--artifacts"]).arg(dir.path());
    let output = command.output().expect("joinder starts");
    assert_eq!(output.status.code(), Some(0), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    let events = std::fs::read_to_string(dir.path().join("events.jsonl")).expect("events");
    let told = events.lines().filter_map(|line| serde_json::from_str::<Told>(line).ok());
    told.filter_map(|told| if let Event::Proxied { call, .. } = told.event { Some(call) } else { None }).collect()
}

/// The middle one of the calls of this name that nothing was done to.
fn median(calls: &[EtcdCall], method: &str) -> Duration {
    let mut took: Vec<Duration> =
        calls.iter().filter(|call| call.method == method && call.disturbed.is_none()).map(|call| call.ended.since(call.began)).collect();
    took.sort();
    took.get(took.len() / 2).copied().expect("a call")
}

#[test]
fn a_lost_answer_and_a_kubeadm_that_is_killed_between_two_calls() {
    if !may_run("an engine and a node image") {
        return;
    }
    let calls = calls_of("bugs/promote-answer-lost.yaml", &[]);
    let lost: Vec<&EtcdCall> = calls.iter().filter(|call| call.disturbed.is_some()).collect();
    assert!(matches!(lost[..], [call] if call.method == "MemberPromote" && call.answered == Some(0)), "{lost:?}");
    // how long kubeadm waits for what the proxy passes on, etcd's own time in it
    let _ = writeln!(std::io::stderr(), "a MemberList through the proxy takes {:?}", median(&calls, "MemberList"));
    let calls = calls_of("bugs/killed-at-boundary.yaml", &["--case", "boundary=added"]);
    let held = calls.iter().find(|call| call.disturbed.is_some()).expect("the call that was held");
    assert_eq!((held.method.as_str(), held.answered), ("MemberAdd", Some(0)));
}

/// What is frozen in a node does not end when the node is killed, and the engine would wait for it for minutes.
#[test]
fn a_node_with_a_frozen_group_is_removed_as_fast_as_any() {
    if !may_run("an engine and a node image") {
        return;
    }
    let joinder = |args: &[&str]| {
        let output = Command::new(binary()).args(args).output().expect("joinder starts");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let dir = tempfile::tempdir().expect("a folder");
    let artifacts = dir.path().display().to_string();
    joinder(&["create", "cluster", "--name", "real-thaw", "--nodes-only", "--artifacts", &artifacts]);
    let freeze = r#"set -e
if [ -d /sys/fs/cgroup/freezer ]; then group=/sys/fs/cgroup/freezer/still; else group=/sys/fs/cgroup/still; fi
mkdir "$group"
setsid sleep 600 >/dev/null 2>&1 &
echo $! >"$group/cgroup.procs"
if [ -e "$group/freezer.state" ]; then echo FROZEN >"$group/freezer.state"; else echo 1 >"$group/cgroup.freeze"; fi"#;
    joinder(&["exec", "--name", "real-thaw", "cp1", "--", "sh", "-c", freeze]);
    let began = Stamp::now();
    joinder(&["delete", "cluster", "--name", "real-thaw"]);
    let took = Stamp::now().since(began);
    let _ = writeln!(std::io::stderr(), "the removal of a node with a frozen group took {took:?}");
    assert!(took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn the_second_of_two_adds_in_one_instant_is_never_answered() {
    if may_run("an engine and a node image") {
        // what is wrong with it, the run itself says
        assert!(calls_of("bugs/two-adds.yaml", &[]).is_empty(), "etcd alone has no kubeadm");
    }
}
