//! `test e2e` and `test e2e-kubeadm` with stand-ins for ginkgo, make and go that write down how they are called.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use nix::sys::signal::Signal;

use super::stops::signal;
use super::support::{Ran, Rig, runs};

/// Writes down its arguments, one a line, and says something on each stream.
const RECORD: &str = "printf '%s\\n' \"$(basename \"$0\")\" \"$@\" >\"$0.called\"; env >\"$0.env\"; echo from ginkgo; echo to stderr >&2";

impl Rig {
    /// A program below a folder with sources.
    fn built(&self, name: &str, script: &str) {
        self.write(&format!("k8s/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(&format!("k8s/{name}")), fs::Permissions::from_mode(0o755)).expect("made executable");
    }

    /// Sources in which all is built.
    fn with_programs() -> Self {
        let rig = Self::new();
        rig.built("_output/bin/ginkgo", RECORD);
        rig.built("_output/bin/e2e.test", "exit 9");
        rig.built("_output/local/bin/e2e_kubeadm.test", "exit 9");
        rig
    }

    /// How ginkgo was called, without the folder.
    fn called(&self) -> Vec<String> {
        let dir = self.path("k8s").display().to_string();
        self.read("k8s/_output/bin/ginkgo.called").lines().skip(1).map(|line| line.replace(&dir, "K8S")).collect()
    }
}

#[test]
fn the_suite_of_kubernetes_gets_kinders_flags() {
    let rig = Rig::with_programs();
    let all = ["test", "e2e", "--kube-root=k8s", "--kubeconfig=kc"];
    let skip = r"--skip=Aggregator|Alpha|Kubectl|\[(Disruptive|Feature:[^\]]+|Flaky)\]";
    let suite = ["k8s/_output/bin/e2e.test", "--"];
    let end = ["--disable-log-dump=true", "--kubeconfig=kc"];
    for (more, ginkgo, test) in [
        (&[][..], vec!["--no-color=true", r"--focus=\[Conformance\]", skip], &end[..]),
        (&["--conformance=false", "--ginkgo-flags=", "--test-flags="], vec!["--no-color=true"], &end),
        (
            &["--parallel", r"--ginkgo-flags=--skip=\[(MinimumKubeletVersion:1\.37)\]"],
            vec![
                r"--skip=\[(MinimumKubeletVersion:1\.37)\]|Aggregator|Alpha|Kubectl|\[(Disruptive|Feature:[^\]]+|Flaky)\]|\[Serial\]",
                "--no-color=true",
                r"--focus=\[Conformance\]",
                "--nodes=16",
            ],
            &end,
        ),
        // pflag takes the next word whatever it begins with
        (
            &[
                "--conformance=F",
                "--parallel=true",
                "--ginkgo-flags",
                "--nodes=4 --focus=a --focus=b",
                "--test-flags",
                "--kubeconfig=own --report-dir=/a",
            ],
            vec!["--nodes=4", "--focus=b", "--no-color=true", r"--skip=\[Serial\]"],
            &["--kubeconfig=own", "--report-dir=/a", "--disable-log-dump=true"],
        ),
        (
            &["--conformance=0", "--parallel", "--ginkgo-flags=--procs=3 --no-color=false", "--test-flags=--disable-log-dump=false"],
            vec!["--procs=3", "--no-color=true", r"--skip=\[Serial\]"],
            &["--disable-log-dump=false", "--kubeconfig=kc"],
        ),
    ] {
        let ran = rig.kinder(&[&all[..], more].concat()).ends(0);
        assert_eq!((ran.out.as_str(), ran.err.ends_with("to stderr\n")), ("from ginkgo\n", true), "{}", ran.err);
        assert_eq!(rig.called(), [&ginkgo[..], &suite, test].concat(), "{more:?}");
    }
}

#[test]
fn the_suite_of_kubeadm_gets_kinders_flags() {
    let rig = Rig::with_programs();
    let all = ["test", "e2e-kubeadm", "--kube-root=k8s", "--kubeconfig=kc"];
    for (more, ginkgo) in [
        (&[][..], vec!["--no-color=true", r"--skip=\[copy-certs\]"]),
        (&["--single-node"], vec!["--no-color=true", r"--skip=\[multi-node\]|\[copy-certs\]"]),
        (&["--automatic-copy-certs", "--single-node=false"], vec!["--no-color=true"]),
    ] {
        rig.kinder(&[&all[..], more, &["--test-flags=--report-dir=/art --report-prefix=e2e-kubeadm"]].concat()).ends(0);
        let suite = ["k8s/_output/local/bin/e2e_kubeadm.test", "--", "--report-dir=/art", "--report-prefix=e2e-kubeadm", "--kubeconfig=kc"];
        assert_eq!(rig.called(), [&ginkgo[..], &suite].concat(), "{more:?}");
    }
    let env = rig.read("k8s/_output/bin/ginkgo.env");
    assert!(env.contains("\nHOME=/home/x\n") || env.starts_with("HOME=/home/x\n"), "its environment is ours: {env}");
}

#[test]
fn a_suite_that_fails_is_1_for_kinder_and_100_for_joinder() {
    let rig = Rig::with_programs();
    rig.built("_output/bin/ginkgo", "exit 197");
    let args = ["test", "e2e", "--kube-root=k8s", "--kubeconfig=kc"];
    assert!(rig.kinder(&args).ends(1).err.contains("ginkgo: exit code 197"));
    rig.joinder(&args).ends(100);
    for wrong in ["--ginkgo-flags=--v", "--test-flags=x", "--parallel=yes"] {
        rig.kinder(&[&args[..], &[wrong]].concat()).ends(1);
        rig.joinder(&[&args[..], &[wrong]].concat()).ends(2);
    }
    // the cluster is asked for where no file is named
    assert!(rig.joinder(&args[..3]).ends(4).err.contains("the container engine"));
}

#[test]
fn a_suite_that_is_not_there_is_built_or_said_to_be_missing() {
    let rig = Rig::new();
    let args = ["test", "e2e-kubeadm", "--kube-root=k8s", "--kubeconfig=kc"];
    let ran = rig.joinder(&args).ends(4);
    assert!(ran.err.contains("no ginkgo below k8s"), "{}", ran.err);
    rig.write("k8s/Makefile", "");
    let dry = rig.joinder(&[&args[..], &["--dry-run"]].concat()).ends(0);
    assert_eq!(
        dry.out,
        "make -C k8s WHAT=github.com/onsi/ginkgo/v2/ginkgo\nmake -C k8s WHAT=test/e2e_kubeadm/e2e_kubeadm.test\nginkgo --no-color=true '--skip=\\[copy-certs\\]' e2e_kubeadm.test -- --kubeconfig=kc\n"
    );
    rig.program("make", "exit 2");
    assert!(rig.joinder(&args).ends(100).err.contains("make: exit code 2"));
    rig.program("make", "mkdir -p k8s/_output/bin; for name in ginkgo e2e_kubeadm.test; do printf '#!/bin/sh\\necho \"$@\"\\n' >k8s/_output/bin/$name; chmod +x k8s/_output/bin/$name; done");
    let ran = rig.joinder(&args).ends(0);
    assert_eq!(ran.out, "--no-color=true --skip=\\[copy-certs\\] k8s/_output/bin/e2e_kubeadm.test -- --kubeconfig=kc\n");
    assert!(ran.err.contains("$ make -C k8s WHAT=github.com/onsi/ginkgo/v2/ginkgo\n") && !ran.err.contains("WHAT=test"), "{}", ran.err);
}

#[test]
fn sources_are_looked_for_where_go_has_them() {
    let rig = Rig::new();
    let args = ["test", "e2e", "--kubeconfig=kc", "--dry-run"];
    let run = |go: &str, path: Option<&str>| {
        rig.program("go", go);
        let mut command = rig.command(&args);
        command.env_remove("GOPATH").envs(path.map(|path| ("GOPATH", path)));
        Ran::of(command.output().expect("it starts"))
    };
    let there = rig.path("go/src/k8s.io/kubernetes");
    rig.write("go/src/k8s.io/kubernetes/Makefile", "");
    let root = rig.path("go").display().to_string();
    let wanted = format!("make -C {} ", there.display());
    assert!(run("exit 1", Some(&format!("/nowhere:{root}"))).ends(0).out.starts_with(&wanted));
    assert!(run(&format!("echo {root}"), None).ends(0).out.starts_with(&wanted));
    assert!(run("exit 1", None).ends(4).err.contains("by --kube-root"));
}

#[test]
fn a_signal_ends_ginkgo_and_what_it_started() {
    let rig = Rig::with_programs();
    rig.built("_output/bin/ginkgo", "echo $$ >pid; echo up; trap 'echo ended; exit 1' TERM; sleep 1000 & wait");
    let mut command = rig.command(&["test", "e2e", "--kube-root=k8s", "--kubeconfig=kc"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    rig.wait_for("pid", "\n");
    signal(&child, Signal::SIGTERM);
    let ran = Ran::of(child.wait_with_output().expect("it ends")).ends(143);
    assert_eq!(ran.out, "up\nended\n");
    assert!(!runs(&rig.read("pid")));
}
