//! What the tests that need a real engine share.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use joinder::sys::env;

/// May `test` use a real engine with a node image in it? `scripts/test` says so by `JOINDER_REAL=1`.
/// A test that may not says that it did not run, and in CI it fails.
pub(crate) fn may_run(test: &str) -> bool {
    if env::var("JOINDER_REAL").as_deref() == Some("1") {
        return true;
    }
    let why = format!("{test} did NOT run: it needs an engine and a node image, and JOINDER_REAL=1 to say that they are there");
    assert!(!env::in_ci(), "{why}");
    // not println!, which cargo hides when the test passes
    let _ = writeln!(std::io::stderr().lock(), "{why}");
    false
}

/// Runs a workflow file and returns what came of it, its messages shown too.
pub(crate) fn run(file: &Path, artifacts: &Path) -> Output {
    // the release build where scripts/test made one: it is copied into every node, and the debug build is large
    let program = env::var("JOINDER_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_joinder").to_owned());
    let output = Command::new(program).arg("run").arg(file).arg("--artifacts").arg(artifacts).output().expect("joinder starts");
    let _ = std::io::stderr().lock().write_all(&output.stderr);
    output
}
