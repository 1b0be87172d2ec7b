//! A container of a node image in which nothing runs but containerd, with the image's own store.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::super::engine::{self, Litter};
use super::super::error::ImageError;
use super::super::parts::store::{self, IMPORT_CONFIG};
use crate::runtime::{Archive, Runtime};
use crate::sys::random;
use crate::sys::stop::Stop;

/// Where files wait in it: in its volume, since the engine's archives do not see what is below `/tmp`.
pub(super) const DIR: &str = "/var/lib/variant";
/// Where containerd has its store.
pub(super) const STORE: &str = "/var/lib/containerd";
/// Where joinder's images have it.
pub(super) const KEPT: &str = "/kind/store";

/// The entry point of joinder's images links the store before it starts what it is told to.
const START: &str = r#"if [ -d "$0" ]; then exec /usr/local/bin/entrypoint containerd --config "$1"; fi; exec containerd --config "$1""#;

/// An open one.
pub(super) struct Workshop<'a> {
    runtime: &'a dyn Runtime,
    stop: &'a Stop,
    name: String,
}

impl<'a> Workshop<'a> {
    /// Opens one; what it is in the engine is in `litter`.
    pub(super) async fn open(runtime: &'a dyn Runtime, image: &str, stop: &'a Stop, litter: &mut Litter) -> Result<Self, ImageError> {
        let word = random::word(8).map_err(ImageError::io("read", Path::new("/dev/urandom")))?;
        let name = format!("joinder-variant-{word}");
        store::start(runtime, stop, (&name, image), &["/bin/sh", "-c", START, KEPT, IMPORT_CONFIG], litter).await?;
        Ok(Self { runtime, stop, name })
    }

    /// Runs a script in it and returns what it wrote.
    pub(super) async fn script(&self, op: &str, script: &str, args: &[&str]) -> Result<String, ImageError> {
        let argv = [&["/bin/sh", "-c", script, "sh"], args].concat();
        // what goes on in the container ends with it
        let ended = tokio::select! {
            biased;
            () = self.stop.soft.cancelled() => return Err(ImageError::Stopped { stage: op.to_owned() }),
            ended = engine::exec(self.runtime, &self.name, &argv) => ended,
        };
        let (code, said) = ended.map_err(ImageError::engine("run a build script"))?;
        if code == 0 {
            return Ok(said);
        }
        let command = format!("a script in {} {}", self.name, args.join(" "));
        Err(ImageError::Command { op: op.to_owned(), command, status: format!("exit code {code}"), said: said.trim().to_owned() })
    }

    /// Copies a file of this machine into it.
    pub(super) async fn put(&self, to: &str, from: &Path) -> Result<(), ImageError> {
        let mut files = Archive::default();
        files.copy(to, 0o755, from).map_err(ImageError::io("read", from))?;
        let files = files.finish().map_err(ImageError::io("read", from))?;
        self.runtime.put(&self.name, files).await.map_err(ImageError::engine("write a file into the build container"))
    }

    /// Ends containerd by itself, so that its databases are whole. No script runs after it.
    pub(super) async fn close(&self) -> Result<(), ImageError> {
        store::end(self.runtime, self.stop, &self.name).await
    }

    /// Reads a folder out of it as a tar archive, named after `to`.
    pub(super) async fn get(&self, path: &str, to: &Path) -> Result<PathBuf, ImageError> {
        let op = "write what is read from the build container to";
        let tar = to.with_extension("tar");
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&tar).map_err(ImageError::io(op, &tar))?);
        tokio::select! {
            biased;
            () = self.stop.soft.cancelled() => return Err(ImageError::Stopped { stage: format!("read {path} of the build container") }),
            read = self.runtime.get(&self.name, path, &mut file) => read.map_err(ImageError::engine("read from the build container"))?,
        };
        file.flush().map_err(ImageError::io(op, &tar))?;
        Ok(tar)
    }
}
