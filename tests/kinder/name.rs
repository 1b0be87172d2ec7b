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
fn what_is_to_be_typed_is_said_by_the_name_that_was_called() {
    let rig = Rig::with("version: 1\ntasks: [{name: a, cmd: 'false'}]\n");
    assert!(rig.kinder(&["test", "workflow", "w.yaml", "art"]).ends(1).err.contains("\nagain      kinder test workflow w.yaml "));
    assert!(rig.joinder(&["test", "workflow", "w.yaml", "art"]).ends(1).err.contains("\nagain      joinder test workflow w.yaml "));
    for words in [&["--help"][..], &["create", "cluster", "--help"], &["test", "workflow", "--help"], &["do", "kubeadm-join", "--help"]] {
        let help = rig.kinder(words).ends(0).out;
        assert!(!help.contains("joinder create") && !help.contains("  joinder ") && !help.contains("default: joinder"), "{help}");
        assert!(!help.contains("100 failed") && !help.contains("run kubeadm init, and join all"), "{help}");
    }
    assert!(rig.joinder(&["create", "cluster", "--help"]).ends(0).out.contains("default: joinder"));
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

#[test]
fn a_base_image_is_refused_with_what_is_there_in_its_place() {
    let rig = Rig::new();
    for args in
        [&["build", "base-image"][..], &["build", "base-image", "--source=/x", "--image", "b:1", "--cri=docker", "--loglevel=debug"]]
    {
        let ran = rig.kinder(args).ends(1);
        assert!(ran.err.starts_with("error: there is no base image to build: `kinder build node-image`"), "{}", ran.err);
        rig.joinder(args).ends(2);
    }
}

#[test]
fn flags_are_written_as_gos_are() {
    let rig = Rig::with("version: 1\ntasks: [{cmd: echo, args: [said]}]\n");
    let run = |flags: &[&str]| rig.kinder(&[&["test", "workflow", "w.yaml", "art"], flags].concat());
    for (flags, verbose) in [
        (&["--verbose=true"][..], true),
        (&["--verbose=1", "--dry-run=0"], true),
        (&["--verbose=F", "--exit-on-task-error=TRUE"], false),
        (&["--verbose", "--verbose=false"], false),
        (&["--verbose=false", "--verbose"], true),
        (&["--loglevel=debug", "--loglevel=info", "--verbose=t"], true),
    ] {
        let ran = run(flags).ends(0);
        assert_eq!(ran.err.contains("| said"), verbose, "{flags:?}: {}", ran.err);
    }
    assert!(run(&["--dry-run=T"]).ends(0).out.contains("echo said"));
    assert!(run(&["--verbose=yes"]).ends(1).err.contains("write true or false"));
    assert!(run(&["--verbose", "no"]).ends(1).err.contains("unexpected argument 'no'"));
    // texts: the last one counts; lists: all do
    assert_eq!(rig.kinder(&["get", "kubeconfig-path", "--name=a", "--name", "b"]).ends(0).out, "/home/x/.kube/kind-config-b\n");
    assert!(rig.joinder(&["get", "kubeconfig-path", "--name=a", "--name", "b"]).ends(2).err.contains("cannot be used multiple times"));
    assert!(
        !rig.kinder(&["--help"]).ends(0).out.contains("BOOL") && !rig.kinder(&["create", "cluster", "--help"]).ends(0).out.contains("BOOL")
    );
}
