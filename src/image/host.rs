//! What this machine has: programs, rights, room on the disk, Debian's mirror, its architecture.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use super::error::ImageError;
use crate::sys::env;

/// Where a program of this name is, if it is.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = env::var("PATH")?;
    path.split(':').map(|dir| Path::new(dir).join(program)).find(|p| executable(p))
}

/// Is this a file that may be run?
pub(crate) fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// This machine's architecture in Go's and Debian's words.
pub(crate) fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// What is still to be made, as far as the machine must be able to do it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Need {
    /// A root file system.
    pub(crate) rootfs: bool,
    /// Something from Go modules.
    pub(crate) go: bool,
    /// Bytes in the cache folder.
    pub(crate) bytes: u64,
}

/// Finds everything that is missing for it, before anything is made.
pub(crate) fn check(need: Need, cache: &Path, mirror: Option<&str>) -> Result<(), ImageError> {
    let mut missing = Vec::new();
    if need.go && which("go").is_none() {
        missing.push("no `go` in PATH, which builds Kubernetes, etcd, CoreDNS and crictl: install Go (Debian: golang-go), or take binaries from a folder".to_owned());
    }
    if need.rootfs {
        for (program, package) in [("debootstrap", "debootstrap"), ("chroot", "coreutils"), ("unshare", "util-linux")] {
            if which(program).is_none() {
                missing.push(format!("no `{program}` in PATH, which makes the root file system: apt-get install {package}"));
            }
        }
        if !nix::unistd::geteuid().is_root() {
            missing.push("the root file system can be made by root only: run this command as root (sudo)".to_owned());
        }
        if mirror.is_none() {
            missing.push("no Debian mirror in /etc/apt/sources.list.d or /etc/apt/sources.list: name one".to_owned());
        }
    }
    if let Ok(stat) = statvfs(cache) {
        let free = stat.fragment_size().saturating_mul(stat.blocks_available());
        if free < need.bytes {
            missing.push(format!(
                "{} has {} free and the build needs about {}: free some space, or name a cache folder on another disk in XDG_CACHE_HOME",
                cache.display(),
                mib(free),
                mib(need.bytes)
            ));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(ImageError::Host(missing)) }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// The Debian mirror in this machine's apt sources.
pub(crate) fn mirror() -> Option<String> {
    mirror_in(Path::new("/etc/apt"))
}

fn mirror_in(apt: &Path) -> Option<String> {
    let mut files = vec![apt.join("sources.list")];
    if let Ok(entries) = std::fs::read_dir(apt.join("sources.list.d")) {
        files.extend(entries.flatten().map(|e| e.path()));
    }
    files.sort();
    let found: Vec<String> = files.iter().filter_map(|f| std::fs::read_to_string(f).ok()).flat_map(|text| uris(&text)).collect();
    // third parties' archives stand in the same folder; a Debian mirror's path ends so
    found.iter().find(|u| u.trim_end_matches('/').ends_with("/debian")).cloned()
}

/// Addresses in either form of apt sources.
fn uris(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(uris) = line.strip_prefix("URIs:") {
            found.extend(uris.split_whitespace().map(ToOwned::to_owned));
        } else if line.starts_with("deb ") {
            found.extend(line.split_whitespace().find(|word| word.contains("://")).map(ToOwned::to_owned));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_read_from_both_forms_of_apt_sources() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("sources.list.d")).expect("made");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
        assert_eq!(mirror_in(dir.path()), None);
        write("sources.list", "# deb http://commented.example/debian x main\ndeb [arch=amd64] http://one.example/debian/ trixie main\n");
        assert_eq!(mirror_in(dir.path()).as_deref(), Some("http://one.example/debian/"));
        write("sources.list", "");
        write("sources.list.d/a.list", "deb http://third.example/apt stable main\n");
        write("sources.list.d/debian.sources", "Types: deb\nURIs: http://two.example/debian\nSuites: trixie\n");
        assert_eq!(mirror_in(dir.path()).as_deref(), Some("http://two.example/debian"));
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let need = Need { rootfs: true, go: false, bytes: u64::MAX };
        let error = check(need, dir.path(), None).expect_err("no room and no mirror").to_string();
        assert!(error.contains("mirror") && error.contains("MiB free") && error.contains("XDG_CACHE_HOME"), "{error}");
    }
}
