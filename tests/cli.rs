//! The binary from outside: help, bad files, exit codes. Needs no engine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn joinder(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_joinder"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // nothing here may reach an engine
        .env("DOCKER_HOST", "unix:///nonexistent/engine.sock")
        .env("COLUMNS", "100")
        .output()
        .expect("joinder starts")
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(dir: &str) -> Vec<PathBuf> {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        for path in std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path()) {
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn every_bad_file_is_refused_with_one_clear_text() {
    let (parts, bad): (Vec<PathBuf>, Vec<PathBuf>) =
        files("tests/bad").into_iter().partition(|file| file.parent().is_some_and(|p| p.ends_with("parts")));
    assert!(!parts.is_empty() && bad.len() >= 40, "{} bad files", bad.len());
    for file in bad {
        let shown = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("below the root").display().to_string();
        // those in kinder's language are in a folder of their own
        let name = shown.trim_start_matches("tests/bad/").trim_end_matches(".yaml").replace('/', "_");
        let output = joinder(&["lint", &shown]);
        assert_eq!(output.status.code(), Some(3), "{name}: {}", error(&output));
        insta::assert_snapshot!(format!("bad__{name}"), error(&output));
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    for (path, want) in [("no/such.yaml", "No such file"), (dir.path().to_str().expect("a path"), "has no *.yaml file")] {
        let output = joinder(&["run", path]);
        assert_eq!(output.status.code(), Some(3));
        assert!(error(&output).contains(want), "{}", error(&output));
    }
}

#[test]
fn what_failed_is_run_again_from_its_events() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = dir.path().to_str().expect("a path");
    let rerun = || joinder(&["run", "--list", "--rerun-failed", at]);
    assert_eq!(rerun().status.code(), Some(3));
    assert!(error(&rerun()).contains("name a folder that a run has left"), "{}", error(&rerun()));

    let stamp = r#""mono_ns":1,"wall":"2030-01-01T00:00:00Z""#;
    let case = |index: usize, order: &str| {
        format!(
            r#"{{"seq":{index},{stamp},"type":"case-started","index":{index},"of":2,"case":"matrix","choice":[["order","{order}"],["controlPlanes","2"],["discovery","file"],["workers","0"]],"repeat":"","folder":"{index}","file":"workflows/join/matrix.yaml","summary":"","tasks":[],"round":1,"rounds":1,"seed":41,"image":"","kubernetes":"","etcd":""}}"#
        )
    };
    let passed = format!(
        r#"{{"seq":3,{stamp},"type":"case-finished","index":1,"failed":null,"undecided":false,"left":false,"took":{{"secs":1,"nanos":0}}}}"#
    );
    std::fs::write(dir.path().join("events.jsonl"), [case(1, "serial"), case(2, "staged"), passed].join("\n") + "\n").expect("written");
    let output = rerun();
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(listed.contains("order=staged") && listed.lines().count() == 1, "{listed}");
}

#[test]
fn every_shipped_workflow_plans_and_touches_nothing() {
    for file in files("workflows") {
        let output = joinder(&["run", "--dry-run", &file.display().to_string()]);
        assert_eq!(output.status.code(), Some(0), "{}: {}", file.display(), error(&output));
    }
}

/// A file with a matrix of 60 cases.
const MATRIX: &str = "workflows/join/matrix.yaml";

fn listed(args: &[&str]) -> serde_json::Value {
    let output = joinder(&[&["run", "--list", "-o", "json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", error(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn cases_are_listed_and_chosen() {
    let count = |args: &[&str]| listed(&[&[MATRIX], args].concat()).as_array().expect("a list").len();
    assert_eq!(count(&[]), 60);
    assert_eq!(count(&["--case", "order=parallel"]), 20);
    assert_eq!(count(&["--case", "order=parallel,controlPlanes=3"]), 4);
    assert_eq!(count(&["--case", "order=parallel,controlPlanes=3", "--case", "order=serial,controlPlanes=3"]), 8);
    assert_eq!(count(&["--var", "order=serial"]), 20, "an axis that a var sets is none");
    let parts: Vec<usize> = (1..=7).map(|part| count(&["--partition", &format!("{part}/7")])).collect();
    assert_eq!((parts.iter().sum::<usize>(), parts[0]), (60, 9), "{parts:?}");
    let one = listed(&[MATRIX, "--case", "order=serial,controlPlanes=3,discovery=file,workers=0"]);
    assert_eq!(one[0]["case"], "matrix order=serial controlPlanes=3 discovery=file workers=0");
    assert_eq!(one[0]["choice"]["controlPlanes"], "3");
    assert_eq!(one[0]["tasks"][0]["step"], "init");
    assert!(listed(&["workflows"]).as_array().expect("a list").len() > 60, "all files of a folder");
}

#[test]
fn choosing_what_is_not_there_is_a_bad_command_line() {
    for (args, says) in [
        (&["--var", "ordr=serial"][..], "is \"order\" meant?"),
        (&["--case", "ordr=serial"], "is \"order\" meant?"),
        (&["--case", "order=random"], "order can be parallel, serial, staged"),
        (&["--case", "order=serial,controlPlanes=3", "--var", "order=parallel"], "no matrix has the axis \"order\""),
        (&["--case", "serial"], "write it as in order=parallel"),
        (&["--var", "x"], "write it as NAME=VALUE"),
        (&["--partition", "3/2"], "write it as PART/PARTS"),
    ] {
        let output = joinder(&[&["run", "--list", MATRIX], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", error(&output));
        assert!(error(&output).contains(says), "{args:?}: {}", error(&output));
    }
}

#[test]
fn faults_are_shown_with_the_plan() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("fault.yaml");
    let text = "version: 2\ncluster: {controlPlanes: 2}\ntasks:\n- {name: init, init: {}}\n- name: join\n  join: {}\n  faults:\n  - {id: lost, on: {call: MemberPromote, node: cp2}, do: {dropAnswer: {times: 1}}}\n";
    std::fs::write(&file, text).expect("written");
    let file = file.to_str().expect("a path");
    assert_eq!(joinder(&["lint", file]).status.code(), Some(0));
    let plan = joinder(&["run", "--dry-run", file]);
    let shown = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert!(shown.contains("fault lost: on call MemberPromote, node cp2: dropAnswer times 1, until step-end"), "{shown}");
}

#[test]
fn lint_says_what_is_fine_on_standard_output() {
    let output = joinder(&["lint", MATRIX]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{MATRIX}: 60 cases, 3 tasks\n"));
    let committed = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/workflow.v2.json")).expect("read");
    assert!(joinder(&["schema"]).stdout == committed, "joinder schema prints what is committed");
}

#[test]
fn help_is_as_documented() {
    for (name, args) in [
        ("joinder", &["--help"][..]),
        ("run", &["run", "--help"]),
        ("create_cluster", &["create", "cluster", "--help"]),
        ("build_node_image", &["build", "node-image", "--help"]),
        ("exec", &["exec", "--help"]),
    ] {
        let output = joinder(args);
        assert_eq!(output.status.code(), Some(0));
        insta::assert_snapshot!(format!("help__{name}"), String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn no_engine_is_exit_4_with_a_remedy_and_leaves_no_files() {
    let dir = tempfile::tempdir().expect("a folder");
    let artifacts = dir.path().join("a");
    let output = joinder(&["run", "workflows/join/single.yaml", "--artifacts", artifacts.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(4));
    insta::assert_snapshot!("no_engine", error(&output));
    assert!(!artifacts.exists(), "nothing is made before the engine answers");
    for args in [&["get", "clusters"][..], &["delete", "cluster"], &["gc"], &["create", "cluster"], &["exec", "x", "--", "true"]] {
        let output = joinder(args);
        assert_eq!(output.status.code(), Some(4), "{args:?}");
        assert!(error(&output).contains("hint: is the engine running?"), "{args:?}: {}", error(&output));
    }
}

#[test]
fn a_bad_command_line_is_exit_2() {
    for args in [
        &["run"][..],
        &["frobnicate"],
        &["run", "x.yaml", "--frobnicate"],
        &["create", "cluster", "--control-plane-nodes", "0"],
        &["create", "cluster", "--name", "A_b"],
        &["exec", "node"],
    ] {
        let output = joinder(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", error(&output));
        assert!(error(&output).starts_with("error: "), "{args:?}: {}", error(&output));
    }
}

/// An engine that accepts and never answers.
#[test]
fn a_signal_ends_the_wait_for_a_mute_engine() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    let dir = tempfile::tempdir().expect("a folder");
    let socket = dir.path().join("engine.sock");
    let engine = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let child = Command::new(env!("CARGO_BIN_EXE_joinder"))
            .args(["run", "workflows/join/single.yaml"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("DOCKER_HOST", format!("unix://{}", socket.display()))
            .env("ARTIFACTS", dir.path().join("a"))
            .stderr(std::process::Stdio::null())
            .spawn();
        let mut child = child.expect("joinder starts");
        // It has connected, so it listens to signals by now.
        let _both = [accept(&engine, &mut child), accept(&engine, &mut child)];
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), signal).expect("sent");
        assert_eq!(child.wait().expect("ended").code(), Some(code));
    }
}

/// The next connection; a child that ends without one fails the test, which would wait for ever.
fn accept(engine: &std::os::unix::net::UnixListener, child: &mut std::process::Child) -> std::os::unix::net::UnixStream {
    engine.set_nonblocking(true).expect("set");
    loop {
        match engine.accept() {
            Ok((stream, _)) => return stream,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                assert_eq!(child.try_wait().expect("asked"), None, "joinder ended before it connected");
                std::thread::yield_now();
            }
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn folders_that_link_to_themselves_are_read_once() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/join/single.yaml"), dir.path().join("one.yaml")).expect("copied");
    for link in ["a", "b"] {
        std::os::unix::fs::symlink(".", dir.path().join(link)).expect("linked");
    }
    let output = joinder(&["run", "--dry-run", dir.path().to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("one.yaml").count(), 1);
}

#[test]
fn what_could_command_a_terminal_is_made_visible() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("hostile.yaml");
    std::fs::write(&file, "version: 2\nsummary: \"a\\e[31mred\"\ncluster: {}\ntasks: [{name: init, init: {}}]\n").expect("written");
    let output = joinder(&["run", "--dry-run", file.to_str().expect("a path")]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("a\\u{1b}[31mred"), "{shown}");
}

#[test]
fn the_plan_of_a_dry_run_is_shown() {
    let output = joinder(&["run", "--dry-run", "workflows/join/five-parallel.yaml"]);
    insta::assert_snapshot!("dry_run", String::from_utf8_lossy(&output.stdout));
}
