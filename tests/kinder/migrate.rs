//! `joinder migrate`: kinder's files in joinder's language.

use super::support::Rig;

/// Migrates a file, lints the result, and returns it.
fn migrated(rig: &Rig, file: &str) -> String {
    let ran = rig.joinder(&["migrate", file]).ends(0);
    rig.write("new.yaml", &ran.out);
    let lint = rig.joinder(&["lint", "new.yaml"]);
    assert_eq!(lint.code, Some(0), "{}\n{}", lint.err, ran.out);
    ran.out
}

#[test]
fn the_regular_workflow_becomes_steps_with_its_comments() {
    let rig = Rig::with_fixtures();
    insta::assert_snapshot!("migrated_regular", migrated(&rig, "regular-1.36.yaml"));
}

#[test]
fn what_no_step_can_do_keeps_all_commands_and_says_why() {
    let rig = Rig::with_fixtures();
    let ran = rig.joinder(&["migrate", "skew-1.36-on-latest.yaml"]).ends(0);
    assert!(ran.err.contains("has --ignore-preflight-errors"), "{}", ran.err);
    insta::assert_snapshot!("migrated_skew", migrated(&rig, "skew-1.36-on-latest.yaml"));
}

#[test]
fn what_yaml_1_2_or_version_2_reads_otherwise_is_written_so_that_it_stays_the_same() {
    let rig = Rig::with(include_str!("../data/kinder/odd.yaml"));
    let text = migrated(&rig, "w.yaml");
    insta::assert_snapshot!("migrated_odd", text);
    // both say the same
    let say = |file: &str, art: &str| {
        rig.joinder(&["test", "workflow", file, art]);
        let logs = rig.names(art).into_iter().filter(|name| name.starts_with("task-01"));
        let log: String = logs.map(|name| rig.read(&format!("{art}/{name}"))).collect();
        log.split(&"-".repeat(80)).nth(2).expect("a header").to_owned()
    };
    let old = say("w.yaml", "old");
    assert!(old.contains("1.3 8 true"), "{old}");
}

#[test]
fn a_file_of_version_2_is_left_as_it_is() {
    let rig = Rig::with("version: 2\ntasks: [{name: init, init: {}}]\n");
    let ran = rig.joinder(&["migrate", "w.yaml", "-o", "new.yaml"]).ends(0);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("w.yaml is of version 2 already"), "{}", ran.err);
    assert!(!rig.names(".").contains(&"new.yaml".to_owned()));
}

#[test]
fn what_is_wrong_is_told_and_no_file_is_written_over() {
    let rig = Rig::with("version: 1\ntasks: [{cmd: echo, nmae: x}]\n");
    let ran = rig.joinder(&["migrate", "w.yaml"]).ends(3);
    assert!(ran.err.contains("is `name` meant?"), "{}", ran.err);
    rig.write("w.yaml", "version: 1\nvars: &v {a: x}\nenv: {<<: *v}\ntasks: [{cmd: echo}]\n");
    let ran = rig.joinder(&["migrate", "w.yaml"]).ends(3);
    assert!(ran.err.contains("version 2 has no merge keys") && ran.err.contains("w.yaml:3:7"), "{}", ran.err);
    rig.write("w.yaml", "version: 1\ntasks: [{cmd: echo}]\n");
    let ran = rig.joinder(&["migrate", "w.yaml", "-o", "w.yaml"]).ends(4);
    assert!(ran.err.contains("cannot write w.yaml"), "{}", ran.err);
    assert_eq!(rig.read("w.yaml"), "version: 1\ntasks: [{cmd: echo}]\n");
    rig.joinder(&["migrate", "w.yaml", "--output", "new.yaml"]).ends(0);
    rig.joinder(&["lint", "new.yaml"]).ends(0);
}
