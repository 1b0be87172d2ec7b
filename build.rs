//! Tells the program what it is built for and, in a release build, from which commit.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script through the environment")]

use std::path::Path;
use std::process::Command;

fn main() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=JOINDER_TARGET={}", var("TARGET"));
    // A debug build is not built anew for each commit.
    if var("PROFILE") != "release" {
        return;
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
