//! The program under the name `kinder`.

use std::os::unix::fs::symlink;

use super::support::{Ran, Rig};

impl Rig {
    /// joinder, called by another name.
    pub(super) fn kinder(&self, args: &[&str]) -> Ran {
        self.kinder_in(".", args)
    }

    /// The same in a folder of its own.
    pub(super) fn kinder_in(&self, dir: &str, args: &[&str]) -> Ran {
        let link = self.path("kinder");
        if !link.exists() {
            symlink(env!("CARGO_BIN_EXE_joinder"), &link).expect("linked");
        }
        let mut command = std::process::Command::new(link);
        command.args(args).current_dir(self.path(dir)).env("DOCKER_HOST", "unix:///nonexistent/engine.sock").env("HOME", "/home/x");
        command.env_remove("ARTIFACTS").env("JOINDER_RELEASES", self.path("labels"));
        Ran::of(command.output().expect("it starts"))
    }
}

#[test]
fn versions_are_kinders() {
    let rig = Rig::new();
    assert_eq!(rig.kinder(&["version"]).ends(0).out, "v1.0.0\n");
    assert_eq!(rig.kinder(&["--version"]).ends(0).out, "kinder version 1.0.0\n");
    assert!(rig.joinder(&["version", "-o", "name"]).ends(0).out != "v1.0.0\n");
}

#[test]
fn every_failure_is_1() {
    let rig = Rig::with("version: 1\ntasks: [{cmd: 'false'}]\n");
    for args in [
        &["bogus"][..],
        &["test", "bogus"],
        &["test", "workflow", "--bogus", "w.yaml"],
        &["test", "workflow", "w.yaml", "art"],
        &["get", "clusters"],
    ] {
        rig.kinder(args).ends(1);
    }
    // what kinder has and this version has not
    for args in [&["build", "base-image"][..], &["test", "e2e"]] {
        let ran = rig.kinder(args).ends(1);
        assert!(ran.err.contains("unrecognized subcommand") || ran.err.contains("unexpected argument"), "{}", ran.err);
    }
    rig.kinder(&["test", "workflow", "none.yaml"]).ends(1);
    rig.kinder(&["--help"]).ends(0);
    rig.joinder(&["bogus"]).ends(2);
}

#[test]
fn levels_are_taken_anywhere_and_one_that_is_none_is_only_told() {
    let rig = Rig::with("version: 1\ntasks: [{cmd: 'true'}]\n");
    for args in [["--loglevel=debug", "test", "workflow", "w.yaml"], ["test", "workflow", "w.yaml", "--loglevel=debug"]] {
        let ran = rig.kinder(&args).ends(0);
        assert!(!ran.err.contains("log level"), "{}", ran.err);
    }
    let ran = rig.kinder(&["test", "workflow", "--loglevel", "loud", "w.yaml"]).ends(0);
    assert!(ran.err.contains("there is no log level \"loud\""), "{}", ran.err);
}

#[test]
fn clusters_are_called_kind_and_commands_need_no_dashes() {
    let rig = Rig::new();
    assert_eq!(rig.kinder(&["get", "kubeconfig-path"]).ends(0).out, "/home/x/.kube/kind-config-kind\n");
    assert_eq!(rig.kinder(&["get", "kubeconfig-path", "--name", "b"]).ends(0).out, "/home/x/.kube/kind-config-b\n");
    // no engine, but nothing is wrong with the words
    for args in [
        &["exec", "--name=x", "@cp*", "/script", "--loglevel=debug"][..],
        &["exec", "@cp1", "--", "ls", "-l"],
        &["cp", "a", "@cp*:/b", "--name", "x"],
    ] {
        let ran = rig.kinder(args).ends(1);
        assert!(ran.err.contains("the container engine"), "{args:?}: {}", ran.err);
    }
    assert!(rig.kinder(&["exec", "@cp1", "ls", "-l"]).ends(1).err.contains("unexpected argument '-l'"));
    assert!(rig.kinder(&["cp", "a", "b"]).ends(1).err.contains("names a node"));
}
