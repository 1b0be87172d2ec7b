//! Docker's API, scripted: what the engine says reaches the reader in the engine's own words, with what was tried on what.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use joinder::runtime::api::Subnet;
use joinder::runtime::docker::DockerEngine;
use joinder::runtime::label::Labels;
use joinder::runtime::{ContainerSpec, Fault, NetworkSpec, Runtime, RuntimeError};
use tempfile::TempDir;

/// Method, part of the path, status, body.
type Answer = (&'static str, &'static str, u16, &'static str);

/// What an engine says that has nothing and is asked nothing hard.
const EMPTY: &[Answer] = &[
    ("GET", "/version", 200, r#"{"Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12","Arch":"amd64"}"#),
    ("GET", "/info", 200, r#"{"CgroupVersion":"1","CgroupDriver":"cgroupfs","KernelVersion":"0.0","DockerRootDir":"/nowhere"}"#),
    ("GET", "/containers/json", 200, "[]"),
    ("GET", "/networks", 200, "[]"),
    ("GET", "/volumes", 200, r#"{"Volumes":[],"Warnings":[]}"#),
    ("GET", "/images/json", 200, "[]"),
    ("GET", "/images/mine/json", 200, r#"{"Id":"sha256:1","RepoTags":["mine:1"],"Config":{"Labels":{}}}"#),
    ("POST", "/networks/create", 201, r#"{"Id":"1","Warning":""}"#),
];

/// An engine that answers by its script, first fit; it ends with the test's process.
struct Scripted {
    dir: TempDir,
    host: String,
}

impl Scripted {
    fn new(script: &[Answer]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("engine.sock");
        let listener = UnixListener::bind(&path).expect("bound");
        let script: Arc<[Answer]> = script.iter().chain(EMPTY).copied().collect();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = script.clone();
                thread::spawn(move || answer(&stream, &script));
            }
        });
        Self { host: format!("unix://{}", path.display()), dir }
    }

    fn joinder(&self, args: &[&str]) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_joinder"))
            .args(args)
            .current_dir(self.dir.path())
            .env("DOCKER_HOST", &self.host)
            .env("HOME", self.dir.path())
            .env_remove("ARTIFACTS")
            .env_remove("KUBECONFIG")
            .output();
        output.expect("joinder starts")
    }
}

/// One request and its answer; the connection is not used again.
fn answer(stream: &UnixStream, script: &[Answer]) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).is_err() {
        return;
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let found = script.iter().find(|(m, part, ..)| *m == method && path.split('?').next().is_some_and(|path| path.ends_with(part)));
    let (status, body) = found.map_or((404, r#"{"message":"page not found"}"#), |(_, _, status, body)| (*status, *body));
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut stream = stream;
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

async fn called<T>(script: &[Answer], call: impl AsyncFnOnce(DockerEngine) -> Result<T, RuntimeError>) -> RuntimeError {
    let scripted = Scripted::new(script);
    match call(DockerEngine::at(&scripted.host).await.expect("it answers")).await {
        Ok(_) => panic!("the engine refused it"),
        Err(e) => e,
    }
}

fn spec() -> ContainerSpec {
    ContainerSpec { name: "x".into(), image: "none:1".into(), ..ContainerSpec::default() }
}

#[tokio::test]
async fn an_error_has_the_engines_own_words() {
    const NO_IMAGE: &str = r#"{"message":"No such image: none:1"}"#;
    const PORT: &str = r#"{"message":"driver failed programming external connectivity on endpoint x: Bind for 127.0.0.1:80 failed: port is already allocated"}"#;
    const SPACE: &str = r#"{"message":"mkdir /var/lib/docker/overlay2/ab: no space left on device"}"#;
    const POOL: &str = r#"{"message":"Pool overlaps with other one on this address space"}"#;
    const RUNTIME: &str = r#"{"message":"OCI runtime create failed: unable to apply caps: operation not permitted"}"#;
    let network = NetworkSpec { name: "n".into(), subnet: Subnet([10, 213, 0]), labels: Labels::new() };
    let cases = [
        (
            called(&[("POST", "/containers/create", 404, NO_IMAGE)], async |e| e.create(&spec()).await).await,
            Fault::NotFound,
            "cannot create container x: No such image: none:1",
        ),
        (
            called(&[("POST", "/containers/x/start", 500, PORT)], async |e| e.start("x").await).await,
            Fault::PortTaken,
            "cannot start container x: driver failed programming external connectivity on endpoint x: Bind for 127.0.0.1:80 failed: port is already allocated",
        ),
        (
            called(&[("POST", "/containers/create", 500, SPACE)], async |e| e.create(&spec()).await).await,
            Fault::Other,
            "cannot create container x: mkdir /var/lib/docker/overlay2/ab: no space left on device",
        ),
        (
            called(&[("POST", "/networks/create", 403, POOL)], async |e| e.create_network(&network).await).await,
            Fault::SubnetTaken,
            "cannot create network n: Pool overlaps with other one on this address space",
        ),
        (
            called(&[("POST", "/containers/x/start", 400, RUNTIME)], async |e| e.start("x").await).await,
            Fault::Other,
            "cannot start container x: OCI runtime create failed: unable to apply caps: operation not permitted",
        ),
        (
            called(&[("GET", "/containers/x/json", 500, "<html>no JSON</html>")], async |e| e.container("x").await).await,
            Fault::Other,
            "cannot inspect container x: <html>no JSON</html>",
        ),
    ];
    for (error, fault, words) in cases {
        assert_eq!((error.to_string().as_str(), error.fault), (words, fault));
    }
}

#[tokio::test]
async fn an_engine_that_is_too_old_is_told_so() {
    let old = Scripted::new(&[("GET", "/version", 200, r#"{"Version":"19.03","ApiVersion":"1.40","MinAPIVersion":"1.12"}"#)]);
    let error = DockerEngine::at(&old.host).await.err().expect("too old");
    assert!(error.is(Fault::TooOld) && error.to_string().contains("it speaks API 1.40\nhint: joinder needs Docker 20.10"), "{error}");
    let output = old.joinder(&["doctor", "-o", "json"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output).contains("it speaks API 1.40") && text(&output).contains("joinder needs Docker 20.10"), "{}", text(&output));
}

#[test]
fn an_image_that_is_not_there_is_exit_4_with_the_command_that_builds_it() {
    let engine = Scripted::new(&[]);
    for (args, hint) in [
        (&["create", "cluster"][..], "hint: build it: joinder build node-image"),
        (
            &["create", "cluster", "--image", "none:1"],
            "hint: `docker pull none:1` first, or take a node image that is there: there is none yet",
        ),
    ] {
        let output = engine.joinder(args);
        assert_eq!(output.status.code(), Some(4), "{}", text(&output));
        assert!(text(&output).contains(hint), "{}", text(&output));
    }
    assert!(!engine.dir.path().join("_artifacts").exists(), "nothing is made for a cluster that cannot be");
    let output = engine.joinder(&["doctor"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    assert!(text(&output).contains("fix: joinder build node-image --kubernetes"), "{}", text(&output));
}

#[test]
fn a_full_disk_fails_the_creation_in_the_engines_words_and_leaves_nothing() {
    let engine = Scripted::new(&[(
        "POST",
        "/containers/create",
        500,
        r#"{"message":"mkdir /var/lib/docker/overlay2/ab: no space left on device"}"#,
    )]);
    let output = engine.joinder(&["create", "cluster", "--image", "mine", "--nodes-only", "--kubernetes", "v1.36.3"]);
    assert_eq!(output.status.code(), Some(100), "{}", text(&output));
    let said = "cannot create container joinder-control-plane-1: mkdir /var/lib/docker/overlay2/ab: no space left on device";
    assert!(text(&output).contains(said), "{}", text(&output));
}

#[test]
fn lists_of_nothing_are_data_too() {
    let engine = Scripted::new(&[]);
    for (args, want) in [
        (&["get", "clusters", "-o", "json"][..], "[]\n"),
        (&["get", "clusters", "-o", "yaml"], "[]\n"),
        (&["get", "clusters"], ""),
        (&["get", "artifacts", "-o", "json"], "[]\n"),
        (&["get", "artifacts", "-o", "name"], ""),
    ] {
        let output = engine.joinder(args);
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
            (Some(0), want),
            "{args:?}: {}",
            text(&output)
        );
    }
    let output = engine.joinder(&["get", "nodes"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output).contains("no cluster \"joinder\"; there is none at all"), "{}", text(&output));
    assert_eq!(engine.joinder(&["delete", "cluster"]).status.code(), Some(0));
}

#[test]
fn only_a_run_that_began_is_the_latest_one() {
    let scripted = Scripted::new(&[]);
    let base = scripted.dir.path().join("_artifacts");
    std::fs::create_dir(&base).expect("made");
    std::os::unix::fs::symlink("before", base.join("latest")).expect("linked");
    let latest = || std::fs::read_link(base.join("latest")).expect("a link");
    let v2 = "version: 2\ncluster: {kubernetes: v1.36.3}\ntasks:\n- {name: init, init: {}}\n";
    let v1 = "version: 1\ntasks:\n- {name: fine, cmd: 'true'}\n";
    for (file, text, code, moves) in [("v2.yaml", v2, 4, false), ("bad.yaml", "version: 2\n", 3, false), ("v1.yaml", v1, 0, true)] {
        std::fs::write(scripted.dir.path().join(file), text).expect("written");
        let output = scripted.joinder(&["run", file]);
        assert_eq!(output.status.code(), Some(code), "{file}: {}", self::text(&output));
        assert_eq!(latest() != Path::new("before"), moves, "{file}: {}", self::text(&output));
    }
}
