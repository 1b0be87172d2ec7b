//! Files into a node and out of it, to any path: the engine's archives do not see what is mounted inside (`/tmp`, `/run`), so
//! files go by way of a folder that they see.

use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::boot::{Node, NodeError, Role};
use super::pack::{pack, unpack};
use super::path;
use crate::sys::random;

/// For moving files inside a node.
const LIMIT: Duration = Duration::from_mins(10);

/// Puts what was staged in its place, by the rules of `docker cp`: into a folder that is there, else as the path itself, whose
/// folder must be there.
const PLACE: &str = r#"set -eu
stage=$1 name=$2 to=$3
trap 'rm -rf -- "$stage"' EXIT
if [ ! -d "$to" ]; then
  case $to in */) [ -d "$stage/$name" ] || { echo "there is no folder $to"; exit 1; };; esac
  parent=$(dirname -- "$to")
  [ -d "$parent" ] || { echo "there is no folder $parent"; exit 1; }
fi
cp -RP --preserve=mode,timestamps,links -- "$stage/$name" "$to" 2>&1"#;

/// Says under which path the engine sees a file or folder; what it cannot see is staged.
const FETCH: &str = r#"set -eu
from=$1 stage=$2
[ -e "$from" ] || { echo "there is no $from"; exit 1; }
[ -f "$from" ] || [ -d "$from" ] || { echo "$from is neither a file nor a folder"; exit 1; }
real=$(readlink -f -- "$from")
case $(stat -f -c %T -- "$real") in
tmpfs | ramfs | proc | sysfs | cgroup*)
  mkdir -p -m 700 -- "$stage"
  cp -RP --preserve=mode,timestamps,links -- "$real" "$stage/" 2>&1 || { rm -rf -- "$stage"; exit 1; }
  echo "$stage/$(basename -- "$real")" ;;
*) echo "$real" ;;
esac"#;

impl Node {
    /// Copies a file or folder of this machine to an absolute path; modes are kept, the owner is root. A folder that is there
    /// takes it in; otherwise the path is its new name, in a folder that must be there. Returns what was left out, with the reason.
    ///
    /// # Errors
    /// [`NodeError::Here`] when it cannot be read or is neither a file nor a folder, [`NodeError::Agent`] with what is wrong in the node.
    pub async fn copy_in(&self, from: &Path, to: &str) -> Result<Vec<String>, NodeError> {
        let files = |source| NodeError::Files { node: self.name.clone(), source };
        let told = |source| NodeError::Here { file: from.display().to_string(), source };
        let whole = from.canonicalize().map_err(told)?;
        let name = file_name(from).or_else(|| file_name(&whole)).unwrap_or_else(|| "files".into());
        let stage = format!("{}/{}", path::COPY, random::word(8).map_err(files)?);
        let (tar, left_out) = {
            let (stage, name) = (stage.clone(), name.clone());
            aside(move || pack(&whole, &stage, &name)).await.map_err(told)?
        };
        self.runtime.put(&self.name, tar.into()).await?;
        self.script(PLACE, &[&stage, &name, to], LIMIT).await?;
        Ok(left_out)
    }

    /// Copies a file or folder of the node to a path of this machine, by the same rules; a link that is named is followed.
    /// Returns what was left out, with the reason.
    ///
    /// # Errors
    /// [`NodeError::Agent`] when it is not there or is neither a file nor a folder, [`NodeError::Here`] when it cannot be written.
    pub async fn copy_out(&self, from: &str, to: &Path) -> Result<Vec<String>, NodeError> {
        let files = |source| NodeError::Files { node: self.name.clone(), source };
        let told = |source| NodeError::Here { file: to.display().to_string(), source };
        let target = target(from, to).map_err(told)?;
        let stage = format!("{}/{}", path::COPY, random::word(8).map_err(files)?);
        let seen = match self.role {
            // no shell, and nothing is mounted where files are looked for
            Role::Etcd => from.to_owned(),
            Role::ControlPlane | Role::Worker => self.script(FETCH, &[from, &stage], LIMIT).await?,
        };
        let seen = seen.trim_end_matches('\n');
        let mut tar = tempfile::tempfile().map_err(files)?;
        let got = self.runtime.get(&self.name, seen, &mut tar).await;
        if seen.starts_with(&stage) {
            self.script("rm -rf -- \"$1\"", &[&stage], LIMIT).await?;
        }
        got?;
        tar.seek(SeekFrom::Start(0)).map_err(files)?;
        aside(move || unpack(tar, &target)).await.map_err(told)
    }
}

/// Works on files where it holds up nobody: a task's limit and signals count meanwhile.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

pub(super) fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Where a copy of `from` goes.
pub(super) fn target(from: &str, to: &Path) -> std::io::Result<PathBuf> {
    let missing = |what: &Path| std::io::Error::new(std::io::ErrorKind::NotFound, format!("there is no folder {} here", what.display()));
    let name = file_name(Path::new(from)).unwrap_or_else(|| "root".into());
    if to.is_dir() {
        return Ok(to.join(name));
    }
    if to.as_os_str().as_encoded_bytes().ends_with(b"/") {
        // Unlike `docker cp`: here a folder that is meant to be one costs nobody anything, and a run would end for want of it.
        std::fs::create_dir_all(to)?;
        return Ok(to.join(name));
    }
    match to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if !parent.is_dir() => Err(missing(parent)),
        Some(_) | None => Ok(to.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Output};

    use super::*;

    fn sh(script: &str, args: &[&Path]) -> Output {
        Command::new("sh").args(["-c", script, "joinder"]).args(args).output().expect("sh")
    }

    /// Stages a file or folder of this name and puts it at `to`; returns what it says where it fails.
    fn place(dir: &Path, name: &str, to: &str) -> Option<String> {
        let stage = dir.join("stage");
        fs::create_dir_all(if name == "folder" { stage.join("folder/sub") } else { stage.clone() }).expect("made");
        fs::write(if name == "folder" { stage.join("folder/sub/a") } else { stage.join(name) }, "new").expect("written");
        let output = sh(PLACE, &[&stage, Path::new(name), &dir.join(to)]);
        assert!(!stage.exists(), "nothing stays staged");
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stdout).replace(&dir.display().to_string(), ""))
    }

    #[test]
    fn files_are_placed_as_docker_cp_places_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        fs::create_dir(dir.join("there")).expect("made");
        for (name, to, result) in [
            ("file", "there", "there/file"),
            ("file", "there/", "there/file"),
            ("file", "there/other", "there/other"),
            ("folder", "there", "there/folder/sub/a"),
            ("folder", "there", "there/folder/sub/a"),
            ("folder", "new", "new/sub/a"),
            ("folder", "newer/", "newer/sub/a"),
        ] {
            assert_eq!(place(dir, name, to), None, "{name} to {to}");
            assert_eq!(fs::read_to_string(dir.join(result)).expect(result), "new");
        }
        assert_eq!(place(dir, "file", "no/such/file").as_deref(), Some("there is no folder /no/such\n"));
        assert_eq!(place(dir, "file", "no/").as_deref(), Some("there is no folder /no/\n"));
        let refused = place(dir, "folder", "there/file").expect("a file is no folder");
        assert!(refused.contains("cannot overwrite"), "{refused}");
    }

    #[test]
    fn what_the_engine_cannot_see_is_staged() {
        let dir = tempfile::tempdir().expect("a folder");
        let stage = dir.path().join("stage");
        let output = sh(FETCH, &[Path::new("/proc/version"), &stage]);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), stage.join("version").display().to_string());
        assert!(!fs::read(stage.join("version")).expect("staged").is_empty());
        let missing = sh(FETCH, &[Path::new("/no/such"), &stage]);
        assert_eq!((missing.status.code(), String::from_utf8_lossy(&missing.stdout).trim()), (Some(1), "there is no /no/such"));
        let device = sh(FETCH, &[Path::new("/dev/null"), &stage]);
        let said = String::from_utf8_lossy(&device.stdout);
        assert_eq!((device.status.code(), said.trim()), (Some(1), "/dev/null is neither a file nor a folder"));
    }

    #[tokio::test]
    async fn work_on_files_holds_up_nobody() {
        let (tell, told) = std::sync::mpsc::channel();
        let wait = aside(move || told.recv_timeout(Duration::from_secs(5)).map_err(io::Error::other));
        let (waited, sent) = tokio::join!(wait, async { tell.send(()) });
        sent.expect("somebody waits");
        waited.expect("told while it waited");
    }

    #[test]
    fn a_copy_out_goes_into_a_folder_or_gets_a_new_name() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        assert_eq!(target("/etc/hosts", dir).expect("fine"), dir.join("hosts"));
        assert_eq!(target("/etc/hosts", &dir.join("h")).expect("fine"), dir.join("h"));
        assert!(target("/etc/hosts", &dir.join("no/h")).is_err());
        assert_eq!(target("/etc/hosts", Path::new(&format!("{}/new/deep/", dir.display()))).expect("made"), dir.join("new/deep/hosts"));
        assert!(dir.join("new/deep").is_dir());
    }
}
