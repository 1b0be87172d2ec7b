//! The verbs that tell of joinder and the machine, from outside. Needs no engine.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_joinder"));
    // nothing here may reach an engine
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).env("DOCKER_HOST", "unix:///nonexistent/engine.sock");
    command
}

fn joinder(args: &[&str]) -> Output {
    command(args).output().expect("joinder starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn output_that_cannot_be_written_is_exit_1() {
    for args in [
        &["version"][..],
        &["get", "artifacts", "-o", "json"],
        &["completion", "bash"],
        &["run", "--dry-run", "workflows/join/single.yaml"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("there");
        let output = command(args).stdout(full).output().expect("joinder starts");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", error(&output));
        assert!(error(&output).contains("No space left on device"), "{args:?}: {}", error(&output));
        let output = command(args).stdout(File::open("/dev/null").expect("there")).output().expect("joinder starts");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", error(&output));
        assert!(error(&output).contains("Bad file descriptor"), "{args:?}: {}", error(&output));
    }
}

#[test]
fn the_version_is_told_in_each_form_without_an_engine() {
    let number = env!("CARGO_PKG_VERSION");
    let told: Value = serde_json::from_str(&out(&joinder(&["version", "-o", "json"]))).expect("JSON");
    assert_eq!((&told["version"], &told["engine"]), (&number.into(), &Value::Null));
    assert!(told["events"].as_u64().is_some_and(|n| n > 0) && told["kubernetes"].as_str().is_some_and(|v| v.starts_with('v')), "{told}");
    let yaml: Value = serde_saphyr::from_str(&out(&joinder(&["version", "-o", "yaml"]))).expect("YAML");
    assert_eq!(yaml, told);
    assert_eq!(out(&joinder(&["version", "-o", "name"])), format!("{number}\n"));
    let output = joinder(&["version"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        out(&output).starts_with(&format!("joinder {number}, ")) && out(&output).ends_with("engine: not reached\n"),
        "{}",
        out(&output)
    );
}

#[test]
fn the_doctor_without_an_engine_fails_with_the_remedy_and_guesses_nothing() {
    let output = joinder(&["doctor", "--nodes", "5", "-o", "json"]);
    assert_eq!(output.status.code(), Some(4));
    let told: Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!((&told["nodes"], &told["ok"]), (&5.into(), &false.into()));
    let checks = told["checks"].as_array().expect("a list");
    let verdict = |name: &str| checks.iter().find(|c| c["name"] == name).map(|c| c["verdict"].clone());
    assert_eq!(verdict("engine"), Some("fail".into()));
    assert!(checks[0]["fix"].as_str().is_some_and(|fix| fix.contains("systemctl start docker")), "{checks:?}");
    for name in ["cgroups", "capabilities", "memory", "disk", "inotify instances", "subnets", "images"] {
        assert_eq!(verdict(name), Some("not-known".into()), "{name}");
    }
    let shown = joinder(&["doctor"]);
    assert_eq!(shown.status.code(), Some(4));
    assert!(out(&shown).lines().any(|l| l.starts_with("fail       engine ")) && out(&shown).contains("fix: "), "{}", out(&shown));
    assert!(out(&joinder(&["doctor", "-o", "name"])).starts_with("engine\n"));
    assert_eq!(joinder(&["doctor", "--nodes", "0"]).status.code(), Some(2));
}

#[test]
fn proxy_variables_that_would_catch_the_clusters_are_told() {
    let output = command(&["doctor", "-o", "json"]).env("https_proxy", "http://proxy:3128").env("NO_PROXY", "localhost").output();
    let told: Value = serde_json::from_str(&out(&output.expect("joinder starts"))).expect("JSON");
    let check = told["checks"].as_array().and_then(|all| all.iter().find(|c| c["name"] == "proxy variables")).expect("there");
    assert_eq!(check["verdict"], "warn");
    assert!(check["fix"].as_str().is_some_and(|fix| fix.contains("export NO_PROXY=localhost,")), "{check}");
    assert!(!check.to_string().contains("3128"), "a proxy's address may hold a password: {check}");
}

#[test]
fn completions_and_man_pages_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = out(&joinder(&["completion", shell]));
        for word in ["doctor", "kubeconfig", "node-image", "control-plane-nodes"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(joinder(&["completion", "tcsh"]).status.code(), Some(2));
    let dir = tempfile::tempdir().expect("a folder");
    let output = joinder(&["man", &dir.path().join("man1").display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    for page in ["joinder.1", "joinder-run.1", "joinder-create-cluster.1", "joinder-export-kubeconfig.1", "joinder-doctor.1"] {
        let text = fs::read_to_string(dir.path().join("man1").join(page)).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    assert_eq!(joinder(&["man", "/dev/null/man"]).status.code(), Some(4));
}

#[test]
fn a_verb_with_a_typo_gets_the_closest_one() {
    for (typo, verb) in [("doctr", "doctor"), ("compleiton", "completion")] {
        let output = joinder(&[typo]);
        assert_eq!(output.status.code(), Some(2));
        // more than one may be similar
        let said = error(&output);
        assert!(said.contains("similar subcommand") && said.contains(&format!("'{verb}'")), "{said}");
    }
}

#[test]
fn artifacts_are_listed_as_they_are() {
    let dir = tempfile::tempdir().expect("a folder");
    let run = |name: &str, lines: &[&str]| {
        fs::create_dir_all(dir.path().join(name)).expect("made");
        fs::write(dir.path().join(name).join("events.jsonl"), lines.join("\n")).expect("written");
    };
    let started = |wall: &str| format!(r#"{{"seq":1,"mono_ns":1,"wall":"{wall}","type":"run-started","run":"r"}}"#);
    let case = r#"{"seq":2,"mono_ns":1,"wall":"2026-12-01T00:00:00Z","type":"case-started","file":"a.yaml"}"#;
    run("later", &[&started("2026-12-02T10:00:00.5Z"), case, r#"{"type":"run-finished","exit":102}"#, ""]);
    run("sooner", &[&started("2026-12-01T10:00:00Z"), case, r#"{"type":"task-st"#]);
    fs::create_dir(dir.path().join("none")).expect("made");
    let path = dir.path().display().to_string();
    assert_eq!(out(&joinder(&["get", "artifacts", &path])), "sooner\nlater\n");
    let table = "NAME    BEGAN                 WORKFLOW  EXIT\nsooner  2026-12-01T10:00:00Z  a.yaml    unfinished\nlater   2026-12-02T10:00:00Z  a.yaml    102\n";
    assert_eq!(out(&joinder(&["get", "artifacts", &path, "-o", "wide"])), table);
    let told: Value = serde_json::from_str(&out(&joinder(&["get", "artifacts", &path, "-o", "json"]))).expect("JSON");
    assert_eq!((&told[1]["exit"], &told[0]["exit"]), (&102.into(), &Value::Null));
    assert_eq!(
        joinder(&["get", "artifacts", Path::new(&path).join("later/events.jsonl").to_str().expect("a path")]).status.code(),
        Some(4)
    );
}

#[test]
fn a_kubeconfig_of_a_cluster_needs_an_engine_and_touches_nothing_without() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("config");
    let output = joinder(&["export", "kubeconfig", "--kubeconfig", file.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(4));
    assert!(error(&output).contains("hint: is the engine running?"), "{}", error(&output));
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[test]
fn a_run_is_reported_from_its_events_and_what_is_torn_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = dir.path().to_str().expect("UTF-8");
    let missing = joinder(&["report", at]);
    assert_eq!(missing.status.code(), Some(4), "{}", error(&missing));
    assert!(error(&missing).contains("events.jsonl"), "{}", error(&missing));
    let events = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/failed/events.jsonl")).expect("recorded");
    let (path, page) = (dir.path().join("events.jsonl"), dir.path().join("report.html"));
    std::fs::write(&path, &events).expect("written");
    let whole = joinder(&["report", at]);
    assert_eq!((whole.status.code(), out(&whole).trim()), (Some(0), page.to_str().expect("UTF-8")), "{}", error(&whole));
    assert!(error(&whole).contains("exit code 100"), "{}", error(&whole));
    std::fs::write(&path, &events[..events.len() / 2]).expect("written");
    let torn = joinder(&["report", at]);
    assert_eq!(torn.status.code(), Some(0));
    assert!(error(&torn).contains("the last line is torn"), "{}", error(&torn));
    assert!(std::fs::read_to_string(&page).expect("a page").contains(">Stopped<"), "nothing is claimed of the rest");
}
