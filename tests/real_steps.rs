//! Every step of the language on one real cluster, which grows, loses a member, gets it back and shrinks. As in `real_cluster.rs`,
//! `JOINDER_REAL=1` says that an engine and a node image are there.

#![expect(clippy::disallowed_methods, reason = "a test looks at the program from outside, by its environment")]

mod real;

use std::path::Path;
use std::process::{Command, Output};

use crate::real::{binary, may_run};
use joinder::runtime::Runtime;
use joinder::runtime::docker::DockerEngine;
use joinder::runtime::label;

const NAME: &str = "real-steps";

/// `DIR` is a folder of the test's own.
const WORKFLOW: &str = r#"
version: 2
cluster: {controlPlanes: 1, workers: 1, loadBalancer: true}
tasks:
- {name: init, timeout: 5m, init: {}}
- name: side by side
  timeout: 5m
  group:
    tasks:
    - {name: worker, join: {nodes: workers}}
    - {name: here, cmd: sh, args: [-c, 'echo "artifacts: $ARTIFACTS"; sleep 1000 & exit 0']}
    - {name: there, exec: {nodes: all, parallel: true, script: 'hostname; echo "$WORD"', env: {WORD: sesame}, output: {contains: [real-steps-, sesame]}}}
- name: grow
  timeout: 8m
  scale: {controlPlanes: 3, order: staged}
  expect:
    members: {voters: 3, learners: 0, started: 3}
    promotion: {max: 30s}
    nodes: {ready: 4, within: 2m}
- {name: in, copy: {from: DIR/tree, to: 'all:/tmp/tree'}}
- {name: seen, exec: {nodes: all, command: [sh, /tmp/tree/link], output: {contains: [it runs]}}}
- {name: out, copy: {from: 'worker1:/tmp/tree', to: DIR/back}}
- {name: wrong, ignoreError: true, copy: {from: DIR/tree, to: 'cp1:/no/such/place'}}
- {name: fails, ignoreError: true, exec: {nodes: all, script: 'echo oops >&2; exit 4'}}
- {name: ends, ignoreError: true, timeout: 2s, exec: {nodes: cp1, command: [sleep, '4321']}}
- {name: ended, exec: {nodes: cp1, command: [pgrep, -f, 'sleep 4321'], exitCode: 1}}
- {name: etcd, timeout: 3m, restart: {nodes: leader, what: etcd, how: kill}, expect: {members: {voters: 3, started: 3, within: 30s}}}
- {name: kubelets, timeout: 3m, restart: {nodes: all, what: kubelet, parallel: true}}
- {name: machine, timeout: 3m, restart: {nodes: cp2, how: kill}}
- {name: votes, timeout: 3m, wait: {until: voter}}
- {name: serves, timeout: 3m, wait: {until: api-server}}
- {name: reset, timeout: 3m, reset: {nodes: cp3}, expect: {members: {voters: 2, learners: 0, started: 2}}}
- name: again
  timeout: 5m
  join: {nodes: cp3}
  expect:
    members: {voters: 3, learners: 0, started: 3}
    promotion: {max: 30s}
    nodes: {ready: 4, within: 2m}
- {name: shrink, timeout: 3m, scale: {controlPlanes: 1, workers: 0}, expect: {members: {voters: 1, started: 1}, nodes: {ready: 1}}}
- {name: logs, export: {to: DIR/logs}}
- {name: delete, force: true, delete: {}}
"#;

fn run(file: &Path, artifacts: &Path) -> Output {
    let mut command = Command::new(binary());
    command.arg("run").arg(file).args(["--name", NAME, "--artifacts"]).arg(artifacts);
    command.output().expect("joinder starts")
}

/// Names of what the engine has of this test's cluster.
fn left() -> Vec<String> {
    let labels = [format!("{}={NAME}", label::CLUSTER)];
    let work = async {
        let engine = DockerEngine::connect().await.expect("an engine");
        let containers = engine.containers(&labels).await.expect("listed").into_iter().map(|c| c.name);
        let volumes = engine.volumes(&labels).await.expect("listed").into_iter().map(|v| v.name);
        let networks = engine.networks(&labels).await.expect("listed").into_iter().map(|n| n.name);
        containers.chain(volumes).chain(networks).collect()
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

#[test]
fn every_step_does_what_it_says_on_a_real_cluster() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    if !may_run("an engine and a node image") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let tree = dir.path().join("tree");
    std::fs::create_dir(&tree).expect("made");
    std::fs::write(tree.join("run.sh"), "#!/bin/sh\necho it runs\n").expect("written");
    std::fs::set_permissions(tree.join("run.sh"), std::fs::Permissions::from_mode(0o751)).expect("set");
    symlink("run.sh", tree.join("link")).expect("linked");
    let file = dir.path().join("steps.yaml");
    std::fs::write(&file, WORKFLOW.replace("DIR", &dir.path().display().to_string())).expect("written");

    let output = run(&file, &dir.path().join("artifacts"));
    let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Twenty steps on one disk: a promotion behind them may be undecided for its noise, and for nothing else.
    let doubts: Vec<&str> = said.lines().filter(|line| line.starts_with("UNDECIDED")).collect();
    let noise = |line: &&str| line.contains("the disk was slow before anything was done") || line.contains("could not be made in time");
    assert!(doubts.iter().all(noise), "{said}");
    assert_eq!(output.status.code(), Some(if doubts.is_empty() { 0 } else { 102 }), "{said}");
    assert_eq!(left(), [""; 0]);
    for words in [
        "sh left processes running, which were ended",
        "there is no folder /no/such",
        "the script on real-steps-control-plane-1: exit code 4",
        "etcd of real-steps-control-plane-",
        "container real-steps-control-plane-2 has exited with code 137, and runs again",
        "real-steps-worker-1 has left, and its container is removed",
    ] {
        assert!(said.contains(words), "{words}:\n{said}");
    }
    let back = dir.path().join("back");
    assert_eq!(std::fs::metadata(back.join("run.sh")).expect("copied").permissions().mode() & 0o777, 0o751);
    assert_eq!(std::fs::read_link(back.join("link")).expect("a link"), Path::new("run.sh"));
    assert!(dir.path().join("logs/real-steps-control-plane-1/kubelet.log").exists());
    assert!(!dir.path().join("logs/real-steps-control-plane-2").exists(), "it has left");
}
