//! `do ACTION` and the other verbs of a cluster, as far as they come without an engine.

use super::support::Rig;

const ACTIONS: [&str; 10] = [
    "cluster-info",
    "copy-certs",
    "kubeadm-config",
    "kubeadm-init",
    "kubeadm-join",
    "kubeadm-reset",
    "kubeadm-upgrade",
    "loadbalancer",
    "setup-external-ca",
    "smoke-test",
];

#[test]
fn each_action_takes_all_flags_before_and_behind_its_name() {
    let rig = Rig::new();
    let flags = "--name=x --only-node=x-worker-1 --dry-run --use-phases --upgrade-version=v1.37.2 --copy-certs=auto --discovery-mode=file \
        --wait=5m0s -v 6 --patches= --ignore-preflight-errors=Swap --kubeadm-config-version=v1beta4 --kubeadm-feature-gate=A=true \
        --kubeadm-encryption-algorithm=ECDSA-P384 --loglevel=debug";
    for action in ACTIONS {
        let words: Vec<&str> =
            ["--loglevel=debug", "do", action].into_iter().chain(flags.split_whitespace().filter(|f| *f != "--loglevel=debug")).collect();
        let ran = rig.kinder(&words).ends(1);
        assert!(ran.err.contains("the container engine"), "{action}: {}", ran.err);
        assert_eq!(ran.out, "", "{action}");
    }
    let ran = rig.kinder(&["do", "manual-copy-certs"]).ends(1);
    assert!(ran.err.contains("unrecognized subcommand"), "{}", ran.err);
}

#[test]
fn every_call_of_kinders_ci_is_understood() {
    let rig = Rig::new();
    let ignored = "Swap,SystemVerification,FileContent--proc-sys-net-bridge-bridge-nf-call-iptables";
    for call in [
        "create cluster --name=c --image=kindest/node:test --control-plane-nodes=3 --worker-nodes=2 --loglevel=debug",
        "create cluster --name=c --image=i --control-plane-nodes=3 --worker-nodes=2 --external-etcd --loglevel=debug",
        "do kubeadm-init --name=c --loglevel=debug --kubeadm-verbosity=6",
        "do kubeadm-init --name=c --copy-certs=auto --kubeadm-feature-gate=\"RootlessControlPlane=true\" --loglevel=debug --kubeadm-verbosity=6",
        "do kubeadm-init --name=c --copy-certs=auto --kubeadm-encryption-algorithm=ECDSA-P384 --kubeadm-verbosity=6",
        &format!("do kubeadm-init --name=c --copy-certs=auto --kubeadm-verbosity=6 --ignore-preflight-errors={ignored},KubeletVersion"),
        "do kubeadm-join --name=c --copy-certs=none --kubeadm-verbosity=6",
        "do kubeadm-join --name=c --only-node=c-worker-4 --discovery-mode=file-with-external-client-certificates --kubeadm-verbosity=6",
        "do kubeadm-upgrade --name=c --upgrade-version=v1.36.0 --kubeadm-verbosity=6",
        "do --name=c --loglevel=debug setup-external-ca",
        "do cluster-info --name=c --loglevel=debug",
        "do kubeadm-reset --name=c --loglevel=debug --kubeadm-verbosity=6",
        "exec --name=c @cp* /kinder/verify-patches.sh --loglevel=debug",
        "cp --name=c Cargo.toml @cp*:/kinder/verify-patches.sh --loglevel=debug",
        "cp Cargo.toml @lb:/tmp/x",
        "export logs --loglevel=debug --name=c artifacts",
        "delete cluster --name=c --loglevel=debug",
        "delete cluster --name=c --kubeconfig=",
        "test e2e-kubeadm --test-flags=--report-dir=/a --name=c --loglevel=debug",
        "test e2e --test-flags=--report-dir=/a --parallel --ginkgo-flags= --name=c --loglevel=debug",
    ] {
        let words: Vec<&str> = call.split(' ').collect();
        let ran = rig.kinder(&words).ends(1);
        assert!(ran.err.contains("the container engine"), "{call}: {}", ran.err);
    }
}

#[test]
fn what_an_action_does_not_read_is_warned_of() {
    let rig = Rig::new();
    let ran = rig.kinder(&["do", "cluster-info", "--wait", "1m", "--use-phases"]).ends(1);
    for flag in ["--wait", "--use-phases"] {
        assert!(ran.err.contains(&format!("warning: this action does not read {flag}\n")), "{}", ran.err);
    }
    assert!(!rig.kinder(&["do", "kubeadm-join", "--wait", "1m", "--use-phases"]).ends(1).err.contains("warning"));
}

#[test]
fn words_and_values_that_are_none_are_a_bad_command_line() {
    let rig = Rig::new();
    for (flag, says) in [
        ("--copy-certs=yes", "auto, manual or none"),
        ("--discovery-mode=bogus", "file-with-token"),
        ("--wait=90", "no unit"),
        ("--wait=-1s", "cannot be negative"),
        ("--order=bogus", "possible values"),
        ("--kubeadm-feature-gate=A", "NAME=true"),
        ("--patches=/nonexistent", "cannot read /nonexistent"),
    ] {
        let ran = rig.joinder(&["do", "kubeadm-join", flag]).ends(2);
        assert!(ran.err.contains(says), "{flag}: {}", ran.err);
    }
    rig.write("patch.yaml", "kind: Pod\n");
    let ran = rig.joinder(&["do", "kubeadm-join", "--config-patch", "patch.yaml"]).ends(2);
    assert!(ran.err.contains("Pod is none of kubeadm's documents"), "{}", ran.err);
}

#[test]
fn clusters_are_made_and_removed_with_kinders_and_kinds_flags() {
    let rig = Rig::new();
    for args in [
        &["create", "cluster", "--external-etcd", "--external-load-balancer", "--volume", "/a:/b,/c:/d:ro", "--volume=/e:/f", "--retain"][..],
        &["create", "cluster", "--name=x", "--image=i", "--control-plane-nodes=3", "--worker-nodes", "2"],
        &["delete", "cluster", "-n", "x"],
        &["delete", "clusters", "a", "b"],
        &["delete", "clusters", "-A"],
        &["export", "logs", "-n", "x", "dir"],
        &["get", "nodes", "--name", "x"],
        &["exec", "@lb", "ls"],
        &["exec", "control-plane-1", "ls", "--name=x"],
    ] {
        let ran = rig.kinder(args).ends(1);
        assert!(ran.err.contains("the container engine"), "{args:?}: {}", ran.err);
    }
    let ran = rig.joinder(&["create", "cluster", "--external-etcd"]).ends(2);
    assert!(ran.err.contains("--nodes-only"), "{}", ran.err);
    assert!(rig.joinder(&["delete", "clusters"]).ends(2).err.contains("required"));
}
