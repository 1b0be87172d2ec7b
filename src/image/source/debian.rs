//! etcd from this machine's Debian packages, with the shared libraries that they need. The machine's own libraries are taken: they are
//! of the same release.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::command::{Task, run};
use super::super::error::ImageError;
use super::super::parts::closure;
use super::super::version::Version;
use crate::sys::stop::Stop;

/// Below a finished stage: the libraries, at their own paths.
pub(in crate::image) const LIBRARIES: &str = "libraries";
const PACKAGES: [&str; 2] = ["etcd-server", "etcd-client"];
const PROGRAMS: [&str; 3] = ["etcd", "etcdctl", "etcdutl"];

/// The version that apt would install: of etcd, and of the package.
pub(in crate::image) fn candidate() -> Result<(Version, String), ImageError> {
    let op = "ask apt for etcd-server";
    let out = Command::new("apt-cache").args(["policy", PACKAGES[0]]).env("LC_ALL", "C").output();
    let out = out.map_err(|e| ImageError::Unexpected { op, why: format!("apt-cache: {e}; --source debian is for Debian machines") })?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let package =
        candidate_in(&said).ok_or_else(|| ImageError::Unexpected { op, why: format!("it knows none: {said:?}; apt-get update?") })?;
    let bare = package.split(['-', '+', '~']).next().unwrap_or_default();
    Ok((Version::parse("etcd version", bare, "3.5.16")?, package))
}

fn candidate_in(said: &str) -> Option<String> {
    let line = said.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (line != "(none)").then(|| line.to_owned())
}

/// Downloads the packages, and puts programs into `dir/bin` and libraries below `dir/libraries`.
pub(in crate::image) async fn make(dir: &Path, stop: &Stop) -> Result<(), ImageError> {
    let mut task = Task::new("download etcd's packages", &["apt-get", "-q", "download"]);
    task.argv.extend(PACKAGES.map(str::to_owned));
    task.dir = Some(dir.to_owned());
    run(&task, stop).await?;
    let (unpacked, bin) = (dir.join("unpacked"), dir.join("bin"));
    fs::create_dir_all(&bin).map_err(ImageError::io("make the folder", &bin))?;
    let entries = fs::read_dir(dir).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(ImageError::io("list", dir))?;
    for package in entries.iter().map(fs::DirEntry::path).filter(|path| path.extension().is_some_and(|end| end == "deb")) {
        let argv = ["dpkg-deb", "-x", &package.display().to_string(), &unpacked.display().to_string()];
        run(&Task::new("unpack etcd's packages", &argv), stop).await?;
        fs::remove_file(&package).map_err(ImageError::io("remove", &package))?;
    }
    for name in PROGRAMS {
        let (from, to) = (unpacked.join("usr/bin").join(name), bin.join(name));
        if !from.exists() {
            continue;
        }
        fs::copy(&from, &to).map_err(ImageError::io("copy", &from))?;
        let said = run(&Task::new(format!("find the libraries of {name}"), &["ldd", &to.display().to_string()]), stop).await?;
        for library in closure::libraries(&said) {
            closure::file(Path::new("/"), &library, &dir.join(LIBRARIES))?;
        }
    }
    fs::remove_dir_all(&unpacked).map_err(ImageError::io("remove", &unpacked))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_candidate_is_what_apt_would_install() {
        let said = "etcd-server:\n  Installed: (none)\n  Candidate: 3.4.23-4+b4\n  Version table:\n";
        assert_eq!(super::candidate_in(said).as_deref(), Some("3.4.23-4+b4"));
        assert_eq!(super::candidate_in("etcd-server:\n  Installed: (none)\n  Candidate: (none)\n"), None);
        assert_eq!(super::candidate_in(""), None);
    }
}
