//! A workflow of kinder's shape on a real cluster, by the program under the name `kinder`. As in `real_cluster.rs`, `JOINDER_REAL=1` says
//! that an engine and a node image are there.

#![expect(clippy::disallowed_methods, reason = "a test looks at the program from outside, by its environment")]

mod real;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::real::{binary, may_run};
use joinder::runtime::Runtime;
use joinder::runtime::docker::DockerEngine;
use joinder::runtime::label;

/// Names of what the engine has of a cluster.
fn left(cluster: &str) -> Vec<String> {
    let labels = [format!("{}={cluster}", label::CLUSTER)];
    let work = async {
        let engine = DockerEngine::connect().await.expect("an engine");
        let containers = engine.containers(&labels).await.expect("listed").into_iter().map(|c| c.name);
        let networks = engine.networks(&labels).await.expect("listed").into_iter().map(|n| n.name);
        containers.chain(networks).collect()
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

#[test]
fn kinders_regular_shape_passes_and_leaves_nothing() {
    if !may_run("an engine and a node image") {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    symlink(std::path::absolute(binary()).expect("a path"), dir.path().join("kinder")).expect("linked");
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").expect("a path"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/kinder/regular.yaml");
    let artifacts = dir.path().join("artifacts");
    let mut command = Command::new(dir.path().join("kinder"));
    command.args(["test", "workflow"]).arg(file).arg(&artifacts).env("PATH", path).env("HOME", dir.path());
    let output = command.output().expect("it starts");
    let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let junit = std::fs::read_to_string(artifacts.join("junit_runner.xml")).expect("there");
    assert!(junit.contains("failures=\"0\"") && junit.contains("smoke-test"), "{junit}");
    assert_eq!(left("kinder-regular"), [""; 0]);
    assert!(!dir.path().join(".kube/kind-config-kinder-regular").exists(), "the kubeconfig goes with the cluster");
}
