//! Files into a container that has neither an agent nor a shell, and out of it, by the rules of `docker cp`: the engine's archives alone.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::boot::NodeError;
use super::copy::{aside, file_name, target};
use super::pack::{pack_below, unpack};
use crate::runtime::{Fault, Runtime};

/// Copies a file or folder of this machine to a path of a container. Returns what was left out, with the reason.
///
/// # Errors
/// [`NodeError::Here`] when it cannot be read, or when there is no folder that takes it in.
pub async fn put_beside(runtime: &dyn Runtime, container: &str, from: &Path, to: &str) -> Result<Vec<String>, NodeError> {
    let told = |source| NodeError::Here { file: from.display().to_string(), source };
    let whole = from.canonicalize().map_err(told)?;
    let path = format!("/{}", to.trim_matches('/'));
    let path = path.trim_end_matches('/');
    let (dir, name) = if is_folder(runtime, container, path).await? {
        (path.to_owned(), file_name(from).or_else(|| file_name(&whole)).unwrap_or_else(|| "files".into()))
    } else {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let missing = if to.ends_with('/') && !whole.is_dir() { path } else { dir };
        if missing == path || !is_folder(runtime, container, dir).await? {
            let source = io::Error::new(io::ErrorKind::NotFound, format!("there is no folder {missing}"));
            return Err(NodeError::Here { file: container.to_owned(), source });
        }
        (dir.to_owned(), name.to_owned())
    };
    let (tar, left_out) = aside(move || pack_below(&whole, &dir, &name)).await.map_err(told)?;
    runtime.put(container, tar.into()).await?;
    Ok(left_out)
}

/// Copies a file or folder of a container, running or not, to a path of this machine. Returns what was left out, with the reason.
///
/// # Errors
/// [`NodeError::Engine`] when it is not there, [`NodeError::Here`] when it cannot be written.
pub async fn get_beside(runtime: &dyn Runtime, container: &str, from: &str, to: &Path) -> Result<Vec<String>, NodeError> {
    let told = |source| NodeError::Here { file: to.display().to_string(), source };
    let target = target(from, to).map_err(told)?;
    let mut tar = tempfile::tempfile().map_err(told)?;
    runtime.get(container, from, &mut tar).await?;
    tar.seek(SeekFrom::Start(0)).map_err(told)?;
    aside(move || unpack(tar, &target)).await.map_err(told)
}

/// Is there a folder, or a link to one? The engine gives the contents of one only.
async fn is_folder(runtime: &dyn Runtime, container: &str, path: &str) -> Result<bool, NodeError> {
    let mut first = First(false);
    match runtime.get(container, &format!("{path}/."), &mut first).await {
        Ok(_) => Ok(true),
        Err(_) if first.0 => Ok(true),
        // "not a directory" is no fault with a name
        Err(e) if e.is(Fault::NotFound) || e.is(Fault::Other) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Takes the first bytes, and has seen enough.
struct First(bool);

impl Write for First {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.0 = true;
        Err(io::Error::other("that is enough"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::runtime::ContainerSpec;
    use crate::runtime::fake::FakeEngine;
    use crate::runtime::label::Labels;

    async fn engine() -> FakeEngine {
        let engine = FakeEngine::new(std::sync::Arc::new(()));
        engine.add_image("lb", Labels::new(), [("/etc/haproxy/haproxy.cfg".to_owned(), b"old".to_vec())]);
        engine.create(&ContainerSpec { name: "a-lb".into(), image: "lb".into(), ..ContainerSpec::default() }).await.expect("made");
        engine
    }

    #[tokio::test]
    async fn files_go_beside_an_agent_as_docker_cp_places_them() {
        let engine = engine().await;
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("new");
        fs::write(&file, "new").expect("written");
        fs::create_dir(dir.path().join("folder")).expect("made");
        fs::write(dir.path().join("folder/a"), "a").expect("written");
        for (from, to, there) in [
            ("new", "/etc/haproxy", "/etc/haproxy/new"),
            ("new", "/etc/haproxy/", "/etc/haproxy/new"),
            ("new", "/etc/haproxy/haproxy.cfg", "/etc/haproxy/haproxy.cfg"),
            ("new", "etc/other", "/etc/other"),
            ("new", "/top", "/top"),
            ("folder", "/etc/haproxy", "/etc/haproxy/folder/a"),
            ("folder", "/etc/made/", "/etc/made/a"),
        ] {
            put_beside(&engine, "a-lb", &dir.path().join(from), to).await.unwrap_or_else(|e| panic!("{from} to {to}: {e}"));
            let found = engine.file("a-lb", there).unwrap_or_else(|| panic!("{from} to {to}"));
            assert_eq!(found, if from == "new" { b"new".to_vec() } else { b"a".to_vec() }, "{from} to {to}");
        }
        for (to, says) in [("/no/such", "a-lb: there is no folder /no"), ("/etc/none/", "a-lb: there is no folder /etc/none")] {
            let why = put_beside(&engine, "a-lb", &file, to).await.expect_err(to).to_string();
            assert_eq!(why, says);
        }
    }

    #[tokio::test]
    async fn files_come_out_without_an_agent() {
        let engine = engine().await;
        let dir = tempfile::tempdir().expect("a folder");
        let got: PathBuf = dir.path().join("haproxy.cfg");
        assert_eq!(get_beside(&engine, "a-lb", "/etc/haproxy/haproxy.cfg", dir.path()).await.expect("there"), [""; 0]);
        assert_eq!(fs::read_to_string(got).expect("there"), "old");
        assert!(get_beside(&engine, "a-lb", "/no/such", dir.path()).await.is_err());
    }
}
