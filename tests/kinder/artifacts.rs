//! `get artifacts`, and what `build node-image-variant` refuses, under both names. Files come from a folder and from a server.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::support::{Ran, Rig};

const PROGRAMS: [&str; 3] = ["kubeadm", "kubectl", "kubelet"];
const IMAGES: [&str; 4] = ["kube-apiserver.tar", "kube-controller-manager.tar", "kube-proxy.tar", "kube-scheduler.tar"];

fn arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

impl Rig {
    /// A release in the layout that kinder reads, and a folder to put things.
    fn with_release(version: &str) -> Self {
        let rig = Self::new();
        for name in PROGRAMS.iter().chain(&IMAGES) {
            rig.write(&format!("labels/release/{version}/bin/linux/{}/{name}", arch()), name);
        }
        fs::create_dir(rig.path("to")).expect("made");
        rig
    }

    fn get(&self, args: &[&str]) -> Ran {
        self.joinder(&[&["get", "build-artifacts"], args].concat())
    }
}

#[test]
fn a_label_leads_to_all_files_and_the_version_and_what_came_is_a_source_again() {
    let rig = Rig::with_release("v1.37.2");
    let ran = rig.get(&["release/stable", "to"]).ends(0);
    assert!(ran.err.contains("labels/release/v1.37.2/bin/linux/") && ran.err.ends_with("in to\n"), "{}", ran.err);
    let mut all = [&PROGRAMS[..], &IMAGES, &["version"]].concat();
    all.sort_unstable();
    assert_eq!(rig.names("to"), all);
    assert_eq!(rig.read("to/version"), "v1.37.2", "as kinder writes it, without a line feed");
    fs::create_dir(rig.path("again")).expect("made");
    for source in ["./to", &format!("file://{}", rig.path("to").display())] {
        rig.get(&[source, "again"]).ends(0);
        assert_eq!(rig.names("again"), all, "{source}");
    }
}

#[test]
fn one_flag_takes_some_files_without_the_version_and_two_are_refused() {
    for (flag, want) in
        [("--only-kubeadm", &["kubeadm"][..]), ("--only-kubelet", &["kubelet"]), ("--only-binaries", &PROGRAMS), ("--only-images", &IMAGES)]
    {
        let rig = Rig::with_release("v1.37.2");
        rig.get(&["v1.37.2", "to", flag]).ends(0);
        assert_eq!(rig.names("to"), want, "{flag}");
    }
    let rig = Rig::with_release("v1.37.2");
    assert!(rig.get(&["v1.37.2", "to", "--only-kubeadm", "--only-images"]).ends(2).err.contains("cannot be used with"));
    assert_eq!(rig.names("to"), [""; 0]);
}

#[test]
fn kinders_artifacts_are_released_files_and_joinders_are_runs() {
    let rig = Rig::with_release("v1.37.2");
    for (verb, to) in [("artifacts", "to"), ("build-artifacts", "to/b"), ("release-artifacts", "to/c"), ("ci-artifacts", "to/d")] {
        fs::create_dir_all(rig.path(to)).expect("made");
        // where it is called, when nobody says
        rig.kinder_in(to, &["get", verb, "--only-kubeadm", "--loglevel=debug", "v1.37.2"]).ends(0);
        assert!(rig.names(to).contains(&"kubeadm".to_owned()), "{verb}");
    }
    assert!(rig.joinder(&["get", "artifacts", "to"]).ends(0).err.contains("there is no run in to"));
    rig.kinder(&["get", "runs"]).ends(1);
}

#[test]
fn what_is_wrong_with_a_source_is_told() {
    let rig = Rig::with_release("v1.37.2");
    rig.write("few/kubeadm", "x");
    rig.write("few/kubeadm.sha256", &"0".repeat(64));
    let dir = rig.path("").display().to_string();
    let mut told = String::new();
    for args in [
        &["v1.99.0", "to"][..],
        &["ci/none", "to"],
        &["./few", "to"],
        &["./few", "to", "--only-kubeadm"],
        &["./few/kubeadm", "to"],
        &["./nowhere", "to"],
        &["v1.37.2", "no/such/folder"],
        &["http://127.0.0.1:1/k8s", "to", "--only-kubelet"],
        &["", "to"],
    ] {
        let ran = rig.get(args);
        assert!(matches!(ran.code, Some(2 | 4)), "{args:?}: {}", ran.err);
        let _ = write!(told, "$ get build-artifacts {}\n{}\n", args.join(" "), ran.err.replace(&dir, "…/").replace(arch(), "ARCH"));
    }
    assert_eq!(rig.names("to"), [""; 0]);
    insta::assert_snapshot!("sources_that_are_none", told);
}

#[test]
fn what_is_wrong_with_a_variants_flags_is_told_before_anything_is_made() {
    let rig = Rig::new();
    let mut told = String::new();
    for args in [
        &["--with-path", "a"][..],
        &["--with-path", "a:b"],
        &["--with-path", "a:/b:c"],
        &["--with-path", "a:/b/../c"],
        &["--with-kubeadm", "image:"],
        &["--with-kubeadm-additional-images=maybe"],
        &["--with-everything"],
        &["more"],
    ] {
        let ran = rig.joinder(&[&["build", "node-image-variant"], args].concat()).ends(2);
        let _ = write!(told, "$ build node-image-variant {}\n{}\n", args.join(" "), ran.err);
    }
    insta::assert_snapshot!("flags_of_a_variant_that_are_none", told);
}

/// No engine, but nothing is wrong with the words.
#[test]
fn a_variant_takes_all_flags_of_kinders_under_each_of_its_names() {
    let rig = Rig::new();
    for verb in ["node-image-variant", "node-variant", "variant", "nv"] {
        let ran = rig.kinder(&[
            "build",
            verb,
            "--image=a/b:c",
            "--base-image=d",
            "--with-init-artifacts=ci/latest",
            "--with-upgrade-artifacts=",
            "--with-kubeadm=v1.37.2",
            "--with-kubelet=http://127.0.0.1:1/x",
            "--with-images=a.tar,./b",
            "--with-images=release/stable",
            "--image-name-prefix=x",
            "--with-kubeadm-additional-images=false",
            "--with-path=a:/b,c:/d",
            "--loglevel=debug",
        ]);
        assert!(ran.code == Some(1) && ran.err.contains("the container engine"), "{verb}: {}", ran.err);
    }
    let ran = rig.kinder(&["build", "nv", "--with-kubeadm-additional-images"]).ends(1);
    assert!(ran.err.contains("the container engine"), "{}", ran.err);
}

#[test]
fn a_signal_in_a_download_leaves_nothing() {
    let rig = Rig::with_release("v1.37.2");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // no checksums, and the half of a program
    let server = std::thread::spawn(move || {
        let mut open = Vec::new();
        for answer in
            ["HTTP/1.1 404 no\r\ncontent-length: 0\r\n\r\n"; 2].iter().chain(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"])
        {
            let (mut stream, _) = listener.accept().expect("a question");
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).expect("read") > 0);
            stream.write_all(answer.as_bytes()).expect("answered");
            open.push(stream);
        }
        open
    });
    let mut command = rig.command(&["get", "build-artifacts", "--only-kubeadm", &url, "to"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let _open = server.join().expect("asked three times");
    kill(Pid::from_raw(i32::try_from(child.id()).expect("an id")), Signal::SIGINT).expect("sent");
    Ran::of(child.wait_with_output().expect("it ends")).ends(130);
    assert_eq!(rig.names("to"), [""; 0]);
}
