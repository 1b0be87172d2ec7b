//! Tells the program what it is built for and, in a release build, from which commit.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script through the environment")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// For the linker: tables for unwinding are not kept. A panic aborts a release build, so nothing reads them; without names
/// (`strip`) they would only number the frames of a backtrace. They were a seventh of the program, and each node holds a copy
/// (docs/performance.md). `-C force-unwind-tables=no` does the same, but flags cannot be given to one profile alone.
const NO_UNWINDING: &str = "SECTIONS { /DISCARD/ : { *(.eh_frame .gcc_except_table .gcc_except_table.*) } }\nINSERT AFTER .text;\n";

fn main() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=JOINDER_TARGET={}", var("TARGET"));
    // A debug build is not built anew for each commit.
    if var("PROFILE") != "release" {
        return;
    }
    // Only this target's linker is known: it comes with Rust (.cargo/config.toml).
    if var("TARGET") == "x86_64-unknown-linux-gnu" {
        let script = PathBuf::from(var("OUT_DIR")).join("no-unwinding.ld");
        match std::fs::write(&script, NO_UNWINDING) {
            Ok(()) => println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display()),
            Err(e) => println!("cargo::error=cannot write {}: {e}", script.display()),
        }
    }
    let git = |args: &[&str]| Command::new("git").args(args).output().ok().filter(|o| o.status.success());
    let line = |args: &[&str]| git(args).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).filter(|s| !s.is_empty());
    // The log of HEAD changes with each commit and each checkout.
    if let Some(log) = line(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = line(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=JOINDER_COMMIT={commit}");
    }
}
