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

/// The program under the name `kinder`, in a home of its own.
struct Kinder {
    dir: tempfile::TempDir,
}

impl Kinder {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        symlink(std::path::absolute(binary()).expect("a path"), dir.path().join("kinder")).expect("linked");
        Self { dir }
    }

    /// What it wrote to standard output, and to both.
    fn does(&self, args: &[&str]) -> (String, String) {
        let path = format!("{}:{}", self.dir.path().display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new(self.dir.path().join("kinder"));
        let output = command.args(args).env("PATH", path).env("HOME", self.dir.path()).output().expect("it starts");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = format!("{out}\n{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        (out, said)
    }

    /// Runs a shape, with all of its tasks passing and nothing left.
    fn passes(&self, shape: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/kinder").join(format!("{shape}.yaml"));
        let artifacts = self.dir.path().join("artifacts");
        self.does(&["test", "workflow", &file.display().to_string(), &artifacts.display().to_string()]);
        let junit = std::fs::read_to_string(artifacts.join("junit_runner.xml")).expect("there");
        assert!(junit.contains("failures=\"0\"") && junit.contains("check-cluster"), "{junit}");
        assert_eq!(left(&format!("kinder-{shape}")), [""; 0]);
        let kubeconfig = self.dir.path().join(format!(".kube/kind-config-kinder-{shape}"));
        assert!(!kubeconfig.exists(), "the kubeconfig goes with the cluster");
    }
}

#[test]
fn kinders_regular_shape_passes_and_leaves_nothing() {
    if may_run("an engine and a node image") {
        Kinder::new().passes("regular");
    }
}

#[test]
fn workers_find_the_cluster_in_each_of_kinders_ways() {
    if may_run("an engine and a node image") {
        Kinder::new().passes("discovery");
    }
}

#[test]
fn pause_ends_when_it_is_asked_for_its_version() {
    if !may_run("an engine and a node image") {
        return;
    }
    let kinder = Kinder::new();
    kinder.does(&["create", "cluster", "--name=kinder-pause"]);
    let script = "exec ctr -n k8s.io run --rm \"$(ctr -n k8s.io images ls -q | grep /pause:)\" version /pause -v";
    let (version, said) = kinder.does(&["exec", "--name=kinder-pause", "@cp1", "--", "timeout", "20", "sh", "-c", script]);
    kinder.does(&["delete", "cluster", "--name=kinder-pause"]);
    assert!(version.contains("catatonit"), "{said}");
}
