//! `scripts/bench --kinder` with stand-ins: what it calls, and which ratios it prints.

use std::path::Path;
use std::process::Command;

use joinder::sys::env;

use super::support::{Ran, Rig};

/// Has what the script needs; in CI it must be there.
fn may_run() -> bool {
    let there = Command::new("jq").arg("--version").output().is_ok();
    assert!(there || !env::in_ci(), "did NOT run: jq is not there");
    there
}

/// A joinder whose runs are one that was recorded, and a kinder that writes down how it is called.
fn rig(kinder: &str) -> Rig {
    let rig = Rig::new();
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/joined/events.jsonl");
    rig.program(
        "joinder",
        &format!("grep -h discovery: \"$2\" >>\"$CALLS\"; while [ $# -gt 0 ]; do [ \"$1\" = --artifacts ] && at=$2; shift; done; mkdir -p \"$at\"; cp {} \"$at\"", events.display()),
    );
    rig.program("kinder", &format!("echo \"kinder $*\" >>\"$CALLS\"; {kinder}"));
    rig.program("docker", "exit 1");
    rig
}

fn bench(rig: &Rig, args: &[&str]) -> Ran {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/bench"));
    let path = env::var("PATH").expect("a path");
    command
        .args(args)
        .current_dir(rig.path("."))
        .env("PATH", format!("{}:{path}", rig.path("bin").display()))
        .env("CALLS", rig.path("calls"))
        .env("JOINDER", rig.path("bin/joinder"))
        .env("OUT", rig.path("out"))
        .env("NODES", "3")
        .env("ORDERS", "parallel")
        .env_remove("IMAGE")
        .env_remove("BY_HAND");
    Ran::of(command.output().expect("it starts"))
}

#[test]
fn kinder_is_measured_beside_joinder_on_the_same_image() {
    if !may_run() {
        return;
    }
    // some CPU time that is no rounding
    let rig = rig("n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done");
    let ran = bench(&rig, &["--kinder", "bin/kinder", "2"]).ends(0);
    let run = |n: u8| {
        let image = "joinder/node:v1.36.3-etcd3.6.16";
        format!(
            "  discovery: file\n  discovery: token\nkinder create cluster --image={image} --control-plane-nodes=3 --name=bench-3-{n}\nkinder do kubeadm-init --name=bench-3-{n}\nkinder do kubeadm-join --name=bench-3-{n}\nkinder delete cluster --name=bench-3-{n}\n"
        )
    };
    assert_eq!(rig.read("calls"), run(1) + &run(2));
    for part in [
        "Command: `NODES=\"3\" ORDERS=\"parallel\" scripts/bench --kinder … 2`",
        "| joinder | parallel | 3 | 2 |",
        "| joinder, token | parallel | 3 | 2 |",
        "| kinder | serial | 3 | 2 | – |",
        "- N=3, total, joinder over kinder: ",
        "- N=3, total, joinder by kinder's way of discovery over kinder: ",
        "- N=3, tool's CPU, kinder over joinder: ",
    ] {
        assert!(ran.out.contains(part), "{part} in\n{}\n{}", ran.out, ran.err);
    }
    let without = bench(&self::rig("exit 1"), &["1"]).ends(0).out;
    assert!(without.contains("kinder was not measured: --kinder was not given.") && !without.contains("over kinder"), "{without}");
}

#[test]
fn a_kinder_that_fails_has_its_cluster_removed_and_no_figure() {
    if !may_run() {
        return;
    }
    let rig = rig("case \"$*\" in *kubeadm-init*) exit 1 ;; esac");
    let ran = bench(&rig, &["--kinder=bin/kinder", "1"]).ends(1);
    let calls = rig.read("calls");
    assert!(!calls.contains("kubeadm-join") && calls.ends_with("kinder delete cluster --name=bench-3-1\n"), "{calls}");
    assert!(ran.out.contains("| kinder | serial | 3 | 0 of 1 |") && !ran.out.contains("over kinder"), "{}", ran.out);
    assert!(ran.err.contains("some runs failed"), "{}", ran.err);
    assert!(bench(&rig, &["--kinder", "none", "1"]).ends(1).err.contains("is no program"));
}
