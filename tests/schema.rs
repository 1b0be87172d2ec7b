//! The JSON Schema of workflows: as committed, and as a stock validator reads it.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Where the schema is committed, below the root.
const SCHEMA: &str = "schema/workflow.v2.json";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn workflows() -> Vec<PathBuf> {
    let mut open = vec![root().join("workflows")];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        for path in std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path()) {
            // those are in kinder's own language
            if path.ends_with("workflows/kinder") {
                continue;
            }
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found
}

fn yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("read");
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&joinder::spec::schema_text()).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test is told by its environment to write")]
fn the_committed_schema_is_the_one_of_the_types() {
    let path = root().join(SCHEMA);
    let new = joinder::spec::schema_text();
    if std::env::var_os("JOINDER_UPDATE").is_some() {
        std::fs::write(&path, &new).expect("written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == new, "{SCHEMA} is out of date: JOINDER_UPDATE=1 cargo test --test schema");
}

#[test]
fn every_shipped_workflow_is_valid_and_names_the_schema_for_editors() {
    let validator = validator();
    for path in workflows() {
        let errors: Vec<String> = validator.iter_errors(&yaml(&path)).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        let text = std::fs::read_to_string(&path).expect("read");
        let named = text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
        let target =
            path.parent().expect("a folder").join(named.unwrap_or_else(|| panic!("{}: no schema in its first line", path.display())));
        assert_eq!(target.canonicalize().expect("there"), root().join(SCHEMA).canonicalize().expect("there"), "{}", path.display());
    }
}

/// What the schema can know: keys, types, words, patterns, one step a task.
#[test]
fn files_that_the_schema_can_know_to_be_bad_are_refused_by_it() {
    let validator = validator();
    for name in [
        "unknown-key",
        "unknown-key-in-cluster",
        "unknown-order",
        "unknown-selector",
        "duration-without-unit",
        "size-without-unit",
        "two-steps",
        "no-step",
        "no-tasks",
        "wrong-type",
        "number-in-quotes",
        "value-missing",
        "no-version",
        "list-at-the-top",
        "step-of-a-later-version",
        "demand-that-is-none",
        "unknown-bound",
    ] {
        assert!(!validator.is_valid(&yaml(&root().join(format!("tests/bad/{name}.yaml")))), "{name}");
    }
}

#[test]
fn a_template_may_stand_wherever_a_value_is_typed() {
    let text = "version: 2\nmatrix: {n: [1, 3], order: [serial]}\ncluster: {controlPlanes: '{{ .vars.n }}', discovery: '{{ .vars.d }}'}\ntasks:\n- name: join\n  timeout: '{{ .vars.t }}'\n  force: '{{ .vars.f }}'\n  join: {nodes: '{{ .vars.s }}', order: '{{ .vars.order }}'}\n  expect: {members: {voters: '{{ .vars.n }}'}, nodes: {ready: {min: '{{ .vars.n }}'}}}\n";
    let workflow: Value = serde_saphyr::from_str(text).expect("YAML");
    let errors: Vec<String> = validator().iter_errors(&workflow).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
