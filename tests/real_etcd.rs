//! etcd alone on a real engine: grown, watched, spoken to from outside, and removed. As in `real_cluster.rs`, `JOINDER_REAL=1` says
//! that an engine and an etcd image are there.

#![expect(clippy::disallowed_methods, reason = "a test looks at the program from outside, by its environment")]

mod real;

use crate::real::{binary, may_run};
use std::path::Path;
use std::process::{Command, Output};

/// The cluster that is kept.
const NAME: &str = "real-etcd-kept";

fn joinder(args: &[&str], dir: &Path) -> Output {
    Command::new(binary()).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).env("ARTIFACTS", dir).output().expect("it starts")
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn passes(args: &[&str], dir: &Path) -> String {
    let output = joinder(args, dir);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", words(&output));
    words(&output)
}

/// The seconds of a table's row are not looked at: a busy machine is no failure. What is seen is.
#[test]
fn one_member_grows_to_three_by_way_of_learners() {
    if !may_run("an engine and an etcd image") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let said = words(&joinder(&["run", "workflows/etcd/grow.yaml", "--name", "real-etcd-grow"], dir.path()));
    // a time may be undecided on a busy machine, the members may not
    assert!(said.contains("result     tasks 9 passed") && !said.contains("FAIL "), "{said}");
    let events = std::fs::read_to_string(dir.path().join("events.jsonl")).expect("kept");
    for word in ["\"word\":\"published\"", "\"moment\":\"promoted\"", "\"type\":\"metrics\""] {
        assert!(events.contains(word), "{word} is in no event");
    }
}

/// A cluster that stays: other commands find it, and etcd goes on without the joinder that started it.
#[test]
fn a_cluster_that_is_kept_is_found_and_used_and_removed() {
    if !may_run("an engine and an etcd image") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("kept.yaml");
    std::fs::write(&file, "version: 2\ncluster: {etcd: {members: 3}}\ntasks:\n- {name: init, timeout: 2m, init: {}, expect: {members: {voters: 3, started: 3}}}\n")
        .expect("written");
    let file = file.to_str().expect("a path");
    passes(&["run", file, "--retain", "--name", NAME], dir.path());
    let members = passes(&["exec", "--name", NAME, "first", "--", "etcdctl", "member", "list"], dir.path());
    assert_eq!(members.lines().filter(|line| line.contains(", started, ")).count(), 3, "{members}");
    assert!(passes(&["get", "nodes", "--name", NAME, "-o", "wide"], dir.path()).contains("real-etcd-kept-etcd-3"));
    let logs = dir.path().join("logs");
    passes(&["export", "logs", "--name", NAME, logs.to_str().expect("a path")], dir.path());
    let log = std::fs::read_to_string(logs.join("real-etcd-kept-etcd-2/etcd/etcd.log")).expect("etcd's log");
    assert!(log.contains("ready to serve client requests"), "{log}");
    let none = joinder(&["get", "kubeconfig", "--name", NAME], dir.path());
    assert_eq!(none.status.code(), Some(4));
    assert!(words(&none).contains("etcd alone"), "{}", words(&none));
    passes(&["delete", "cluster", "--name", NAME], dir.path());
    assert!(!passes(&["get", "clusters"], dir.path()).contains(NAME));
}

/// Stopped or killed, etcd comes back with its data; a member that left comes back with none.
#[test]
fn members_end_and_come_back() {
    if !may_run("an engine and an etcd image") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("back.yaml");
    let text = r"
version: 2
cluster: {etcd: {members: 3}}
tasks:
- {name: init, timeout: 2m, init: {}}
- {name: put, member: {put: {entries: 100}}}
- {name: kill, member: {stop: {node: etcd3, how: kill}}}
- {name: back, timeout: 2m, member: {start: {node: etcd3, until: serving}}}
- {name: data, exec: {nodes: etcd3, command: [etcdctl, get, joinder/fill/00000099, --keys-only], output: {contains: [joinder/fill/00000099]}}}
- {name: machine, timeout: 2m, restart: {nodes: etcd2, how: stop}, expect: {members: {voters: 3, started: 3}}}
- {name: gone, timeout: 2m, member: {remove: {node: etcd3, within: 20s}}, expect: {members: {voters: 2}}}
- {name: anew, timeout: 2m, member: {add: {node: etcd3, within: 20s}}}
- {name: learns, timeout: 2m, member: {start: {node: etcd3}}}
- {name: votes, timeout: 2m, member: {promote: {node: etcd3, within: 20s}}, expect: {members: {voters: 3, learners: 0, started: 3}}}
- {name: delete, force: true, delete: {}}
";
    std::fs::write(&file, text).expect("written");
    let said = words(&joinder(&["run", file.to_str().expect("a path"), "--name", "real-etcd-back"], dir.path()));
    assert!(said.contains("result     tasks 11 passed"), "{said}");
}
