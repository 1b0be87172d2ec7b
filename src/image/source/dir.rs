//! Binaries from a folder: what must be there, for which machine, of which version.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::super::error::ImageError;
use super::super::host;
use super::super::version::Version;

/// What a folder must hold to be a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Of what.
    pub(crate) what: &'static str,
    /// Binaries that must be there.
    pub(crate) needed: &'static [&'static str],
    /// Binaries that run alone in an image and so must be linked statically.
    pub(crate) alone: &'static [&'static str],
    /// Binaries that are taken when they are there.
    pub(crate) welcome: &'static [&'static str],
    /// Binary and arguments that say the version; the first is the one that counts.
    pub(crate) versions: &'static [(&'static str, &'static [&'static str])],
}

/// Kubernetes in a flat folder, as `make` leaves it in `_output/bin`.
pub(crate) const KUBERNETES: Wanted = Wanted {
    what: "Kubernetes",
    needed: &["kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubeadm", "kubectl", "kubelet"],
    alone: &["kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"],
    welcome: &[],
    versions: &[
        ("kubeadm", &["version", "-o", "short"]),
        ("kubelet", &["--version"]),
        ("kube-apiserver", &["--version"]),
        ("kube-controller-manager", &["--version"]),
        ("kube-scheduler", &["--version"]),
        ("kube-proxy", &["--version"]),
    ],
};

/// etcd in a flat folder, as its releases and `make` have it.
pub(crate) const ETCD: Wanted = Wanted {
    what: "etcd",
    needed: &["etcd", "etcdctl"],
    alone: &["etcd", "etcdctl"],
    welcome: &["etcdutl"],
    versions: &[("etcd", &["--version"]), ("etcdctl", &["version"])],
};

/// A folder that was looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The folder, absolute.
    pub(crate) path: PathBuf,
    /// What its binaries say they are.
    pub(crate) version: Version,
    /// Digest of each binary that is there, by name.
    pub(crate) digests: Vec<(String, String)>,
}

/// Looks through a folder and says everything that is wrong with it.
pub(crate) fn look(wanted: &Wanted, path: &Path) -> Result<Found, ImageError> {
    let mut problems = Vec::new();
    let folder = |problems| ImageError::Folder { what: wanted.what, path: path.to_owned(), problems };
    let path_given = path;
    let path = match path.canonicalize() {
        Ok(path) if path.is_dir() => path,
        Ok(_) => return Err(folder(vec!["it is a file; name the folder that holds the binaries".into()])),
        Err(e) => return Err(folder(vec![e.to_string()])),
    };
    let missing: Vec<&str> = wanted.needed.iter().filter(|name| !path.join(name).exists()).copied().collect();
    if !missing.is_empty() {
        problems.push(format!("missing: {}", missing.join(", ")));
        if wanted.alone.iter().any(|name| path.join(format!("{name}.tar")).exists()) {
            problems.push("it has component images (*.tar): the release layout is not read; put the plain binaries there".into());
        }
    }
    let there = || wanted.needed.iter().chain(wanted.welcome).filter(|name| path.join(name).exists());
    for name in there() {
        let file = path.join(name);
        match Elf::read(&file) {
            _ if !host::executable(&file) => problems.push(format!("{name} cannot be run: chmod +x {}", file.display())),
            Err(why) => problems.push(format!("{name} is not a Linux program: {why}")),
            Ok(elf) if elf.arch != host::arch() => problems.push(format!("{name} is for {}, this machine is {}", elf.arch, host::arch())),
            Ok(elf) if elf.dynamic && wanted.alone.contains(name) => {
                problems.push(format!("{name} needs shared libraries, which its image has not: build it with CGO_ENABLED=0"));
            }
            Ok(_) => {}
        }
    }
    if !problems.is_empty() {
        return Err(folder(problems));
    }
    let mut said: Vec<(&str, String)> = Vec::new();
    for (name, args) in wanted.versions {
        match version_of(&path.join(name), args) {
            Ok(version) => said.push((name, version)),
            Err(why) => problems.push(format!("{name} does not say its version: {why}")),
        }
    }
    if said.iter().any(|(_, version)| *version != said[0].1) {
        let all: Vec<String> = said.iter().map(|(name, version)| format!("{name} {version}")).collect();
        problems.push(format!("its binaries are of different versions: {}", all.join(", ")));
    }
    if !problems.is_empty() {
        return Err(folder(problems));
    }
    let version = Version::parse(wanted.what, &said[0].1, "v1.36.3")?;
    let digests = there()
        .map(|name| Ok(((*name).to_owned(), digest(&path.join(name)).map_err(ImageError::io("read", path_given))?)))
        .collect::<Result<_, ImageError>>()?;
    Ok(Found { path, version, digests })
}

/// The first word of a program's answer that is a version.
fn version_of(program: &Path, args: &[&str]) -> Result<String, String> {
    let out = Command::new(program).args(args).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    text.split_whitespace()
        .find_map(|word| Version::parse("version", word, "v1.36.3").ok())
        .map(|v| v.tagged())
        .ok_or_else(|| format!("it said {:?}", text.lines().next().unwrap_or_default()))
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn digest(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

/// What we need of an ELF header.
#[derive(Debug, PartialEq, Eq)]
struct Elf {
    arch: &'static str,
    dynamic: bool,
}

impl Elf {
    fn read(path: &Path) -> Result<Self, String> {
        let mut head = Vec::new();
        let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
        file.take(4096).read_to_end(&mut head).map_err(|e| e.to_string())?;
        Self::parse(&head).ok_or_else(|| "no 64-bit little-endian ELF header".into())
    }

    /// Offsets as in `elf(5)`, 64-bit little-endian.
    fn parse(head: &[u8]) -> Option<Self> {
        const INTERPRETER: [u8; 4] = [3, 0, 0, 0];
        if head.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
            return None;
        }
        let short = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
        let arch = match short(18)? {
            62 => "amd64",
            183 => "arm64",
            243 => "riscv64",
            21 => "ppc64le",
            22 => "s390x",
            _ => "another architecture",
        };
        let table = usize::try_from(u64::from_le_bytes(head.get(32..40)?.try_into().ok()?)).ok()?;
        let (size, count) = (usize::from(short(54)?), usize::from(short(56)?));
        let dynamic =
            (0..count).any(|i| table.checked_add(i * size).and_then(|at| head.get(at..at.checked_add(4)?)) == Some(&INTERPRETER[..]));
        Some(Self { arch, dynamic })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
    }

    fn elf(machine: u8, interpreter: bool) -> Vec<u8> {
        let mut head = vec![0; 64 + 56];
        head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        head[18] = machine;
        head[32] = 64;
        head[54] = 56;
        head[56] = 1;
        head[64] = if interpreter { 3 } else { 1 };
        head
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        script(dir.path(), "kubeadm", "#!/bin/sh\n");
        std::fs::write(dir.path().join("kube-proxy.tar"), "").expect("written");
        let error = look(&KUBERNETES, dir.path()).expect_err("it lacks most").to_string();
        for part in [
            "missing: kube-apiserver, kube-controller-manager, kube-proxy, kube-scheduler, kubectl, kubelet",
            "release layout is not read",
            "kubeadm is not a Linux program",
        ] {
            assert!(error.contains(part), "{error}");
        }
        let error = look(&KUBERNETES, &dir.path().join("nowhere")).expect_err("no folder").to_string();
        assert!(error.contains("nowhere cannot be a source of Kubernetes") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn the_header_tells_architecture_and_linking() {
        assert_eq!(Elf::parse(&elf(62, false)), Some(Elf { arch: "amd64", dynamic: false }));
        assert_eq!(Elf::parse(&elf(183, true)), Some(Elf { arch: "arm64", dynamic: true }));
        assert_eq!(Elf::parse(b"#!/bin/sh\n"), None);
        assert_eq!(Elf::parse(&elf(62, false)[..20]), None);
    }

    #[test]
    fn a_wrong_architecture_and_a_missing_mode_are_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let other = if host::arch() == "amd64" { 183 } else { 62 };
        std::fs::write(dir.path().join("etcd"), elf(other, false)).expect("written");
        std::fs::set_permissions(dir.path().join("etcd"), std::fs::Permissions::from_mode(0o755)).expect("set");
        std::fs::write(dir.path().join("etcdctl"), elf(62, false)).expect("written");
        let error = look(&ETCD, dir.path()).expect_err("wrong").to_string();
        assert!(error.contains("etcd is for a") && error.contains("chmod +x"), "{error}");
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let dir = tempfile::tempdir().expect("a folder");
        for (text, want) in [
            ("Kubernetes v1.36.3", "v1.36.3"),
            ("etcd Version: 3.6.16\nGit SHA: x\nGo Version: go1.26.8", "v3.6.16"),
            ("v1.38.0-alpha.0+ab", "v1.38.0-alpha.0+ab"),
        ] {
            script(dir.path(), "p", &format!("#!/bin/sh\ncat <<'X'\n{text}\nX\n"));
            assert_eq!(version_of(&dir.path().join("p"), &[]).as_deref(), Ok(want));
        }
    }
}
