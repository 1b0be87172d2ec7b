//! What the tests of the real thing share: whether they may run, and the program under test.

use std::io::Write;
use std::path::PathBuf;

/// May they? `JOINDER_REAL=1` says that what is `needed` is there. In CI it has to be; elsewhere the test says that it did not run.
pub(crate) fn may_run(needed: &str) -> bool {
    let real = std::env::var("JOINDER_REAL").is_ok_and(|v| v == "1");
    let why = format!("did NOT run: JOINDER_REAL=1, which says that {needed} are there, is not set");
    assert!(real || !joinder::sys::env::in_ci(), "{why}");
    if !real {
        // past the test harness, which hides what passing tests print
        let line = format!("{}: {why}\n", std::thread::current().name().unwrap_or("a test"));
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    real
}

/// The program under test: a release build where `JOINDER_BIN` names one, since it is what is copied into nodes; else cargo's own.
pub(crate) fn binary() -> PathBuf {
    std::env::var("JOINDER_BIN").map_or_else(|_| env!("CARGO_BIN_EXE_joinder").into(), PathBuf::from)
}
