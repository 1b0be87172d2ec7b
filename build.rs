//! Tells the program what it is built for and, in a release build, from which commit; packs texts that it carries.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script through the environment")]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// What `src/sys/packed.rs` unpacks.
const PACKED: [&str; 9] = [
    "images/coredns/v1.14.2/go.mod",
    "images/coredns/v1.14.2/go.sum",
    "images/crictl/v1.37.0/go.mod",
    "images/crictl/v1.37.0/go.sum",
    "images/etcd/3.6.16/go.mod",
    "images/etcd/3.6.16/go.sum",
    "images/kubernetes/v1.36.3/go.mod",
    "images/kubernetes/v1.36.3/go.sum",
    "schema/workflow.v2.json",
];

fn main() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=JOINDER_TARGET={}", var("TARGET"));
    let out = PathBuf::from(var("OUT_DIR"));
    for file in PACKED {
        println!("cargo::rerun-if-changed={file}");
        if let Err(e) = pack(Path::new(file), &out.join(format!("{file}.z"))) {
            println!("cargo::error=cannot pack {file}: {e}");
        }
    }
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

fn pack(file: &Path, packed: &Path) -> io::Result<()> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&std::fs::read(file)?)?;
    std::fs::create_dir_all(packed.parent().unwrap_or(Path::new("/")))?;
    std::fs::write(packed, encoder.finish()?)
}
