//! The artifacts folder, and `events.jsonl` in it: every event, one JSON object a line.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::event::Told;
use crate::sys::file::{replaceable, write_atomic};

/// The folder cannot be used.
#[derive(Debug, Error)]
#[error("cannot write artifacts to {}: {source}", dir.display())]
pub struct ArtifactError {
    dir: PathBuf,
    source: std::io::Error,
}

/// A run's artifacts.
pub struct Artifacts {
    dir: PathBuf,
    events: BufWriter<File>,
    failed: Option<String>,
}

impl Artifacts {
    /// Makes the folder if need be and begins `events.jsonl` in it.
    ///
    /// # Errors
    /// When the folder or the file cannot be made, or something else has the file's name.
    pub fn create(dir: &Path) -> Result<Self, ArtifactError> {
        let failed = |source| ArtifactError { dir: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let events = dir.join("events.jsonl");
        replaceable(&events).map_err(failed)?;
        let file = File::create(events).map_err(failed)?;
        Ok(Self { dir: dir.to_owned(), events: BufWriter::new(file), failed: None })
    }

    pub(super) fn keep(&mut self, told: &Told) {
        let written = serde_json::to_writer(&mut self.events, told)
            .map_err(std::io::Error::from)
            .and_then(|()| self.events.write_all(b"\n"))
            .and_then(|()| self.events.flush());
        self.note(written);
    }

    /// Where they go.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a file of the folder whole, or leaves it as it was.
    pub(super) fn put(&mut self, name: &Path, bytes: io::Result<Vec<u8>>) {
        let written = bytes.and_then(|bytes| write_atomic(&self.dir.join(name), &bytes, 0o644));
        self.note(written);
    }

    /// Is the file that was written to still the one in the folder?
    fn is_there(&self) -> Result<(), String> {
        let path = self.dir.join("events.jsonl");
        let same =
            |there: fs::Metadata| self.events.get_ref().metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()));
        if fs::metadata(&path).is_ok_and(same) { Ok(()) } else { Err(format!("{} was taken away while it was written", path.display())) }
    }

    /// Keeps the first reason why something is missing.
    pub(super) fn note(&mut self, written: io::Result<()>) {
        if let Err(e) = written {
            self.failed.get_or_insert(e.to_string());
        }
    }

    /// Where all is, or why something is missing.
    pub(super) fn finish(&mut self) -> Result<PathBuf, String> {
        let flushed = self.events.flush().map_err(|e| e.to_string()).and_then(|()| self.is_there());
        match self.failed.take() {
            Some(why) => Err(format!("{}: {why}", self.dir.display())),
            None => flushed.map(|()| self.dir.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_go_to_a_regular_file_only() {
        let dir = tempfile::tempdir().expect("a folder");
        // a device: a FIFO would keep a test that fails waiting
        std::os::unix::fs::symlink("/dev/null", dir.path().join("events.jsonl")).expect("linked");
        let refused = Artifacts::create(dir.path()).err().expect("a device").to_string();
        assert!(refused.ends_with("events.jsonl is no regular file"), "{refused}");
    }
}
