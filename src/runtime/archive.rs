//! Tar archives for [`super::Runtime::put`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tar::{Builder, EntryType, Header};
use tokio_util::io::ReaderStream;

/// Of a file, read at a time.
const CHUNK: usize = 256 << 10;
/// A file fills up whole blocks of these many bytes.
const BLOCK: u64 = 512;

/// A tar archive that grows: root-owned files with a fixed time, folders made as needed.
pub struct Archive {
    sealed: Vec<Part>,
    tar: Builder<Vec<u8>>,
    dirs: BTreeSet<String>,
}

/// A finished archive. What is large in it, joinder itself above all, stays on disk until it is sent: many nodes at once must not
/// cost many copies in memory.
pub struct Tar(Vec<Part>);

enum Part {
    Bytes(Bytes),
    /// So many bytes of a file that is open already, so that it stays what it was.
    File(File, u64),
}

impl Default for Archive {
    fn default() -> Self {
        Self { sealed: Vec::new(), tar: Builder::new(Vec::new()), dirs: BTreeSet::new() }
    }
}

impl Archive {
    /// Adds a file at an absolute path.
    ///
    /// # Errors
    /// When the path does not fit into a tar header.
    pub fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<&mut Self> {
        let path = self.parents(path)?;
        let mut header = header(EntryType::Regular, mode);
        header.set_size(bytes.len() as u64);
        self.tar.append_data(&mut header, path, bytes)?;
        Ok(self)
    }

    /// Adds a copy of a file of this machine at an absolute path.
    ///
    /// # Errors
    /// When it cannot be opened, or the path does not fit into a tar header.
    pub fn copy(&mut self, path: &str, mode: u32, from: &Path) -> io::Result<&mut Self> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", from.display()));
        let file = File::open(from).map_err(named)?;
        let size = file.metadata().map_err(named)?.len();
        let path = self.parents(path)?;
        let mut header = header(EntryType::Regular, mode);
        header.set_size(size);
        self.tar.append_data(&mut header, path, io::empty())?;
        self.sealed.push(Part::Bytes(std::mem::take(self.tar.get_mut()).into()));
        self.sealed.push(Part::File(file, size));
        self.tar.get_mut().extend((size..size.next_multiple_of(BLOCK)).map(|_| 0));
        Ok(self)
    }

    /// Adds a symbolic link at an absolute path.
    ///
    /// # Errors
    /// When a path does not fit into a tar header.
    pub fn link(&mut self, path: &str, to: &str) -> io::Result<&mut Self> {
        let path = self.parents(path)?;
        let mut header = header(EntryType::Symlink, 0o777);
        header.set_size(0);
        self.tar.append_link(&mut header, path, to)?;
        Ok(self)
    }

    /// The finished archive.
    ///
    /// # Errors
    /// None in practice: it is written to memory.
    pub fn finish(self) -> io::Result<Tar> {
        let mut parts = self.sealed;
        parts.push(Part::Bytes(self.tar.into_inner()?.into()));
        Ok(Tar(parts))
    }

    /// Only the folders that no image is known to have are listed: an entry for `/etc` would reset its mode.
    fn parents(&mut self, path: &str) -> io::Result<String> {
        let path = path.trim_start_matches('/').to_owned();
        let mut above: Vec<String> = Path::new(&path)
            .ancestors()
            .skip(1)
            .map(|p| p.to_string_lossy().into_owned())
            .filter(|p| p.contains('/') || p == "kind")
            .collect();
        above.reverse();
        for dir in above {
            if self.dirs.insert(dir.clone()) {
                let mut header = header(EntryType::Directory, 0o755);
                header.set_size(0);
                self.tar.append_data(&mut header, format!("{dir}/"), io::empty())?;
            }
        }
        Ok(path)
    }
}

impl From<Vec<u8>> for Tar {
    fn from(tar: Vec<u8>) -> Self {
        Self(vec![Part::Bytes(tar.into())])
    }
}

impl Tar {
    /// The archive's bytes, piece by piece.
    pub fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::iter(self.0).flat_map(|part| match part {
            Part::Bytes(bytes) => stream::iter([Ok(bytes)]).left_stream(),
            Part::File(file, size) => {
                use tokio::io::AsyncReadExt;
                ReaderStream::with_capacity(tokio::fs::File::from_std(file).take(size), CHUNK).right_stream()
            }
        })
    }

    /// The archive's bytes as a whole.
    ///
    /// # Errors
    /// When a file of it cannot be read.
    pub fn read(self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        for part in self.0 {
            match part {
                Part::Bytes(bytes) => whole.extend(bytes),
                Part::File(file, size) => file.take(size).read_to_end(&mut whole).map(drop)?,
            }
        }
        Ok(whole)
    }
}

fn header(kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(1);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_the_folders_it_needs_once_and_no_top_folder() {
        let mut archive = Archive::default();
        archive.file("/etc/cni/net.d/10-pods.conflist", 0o644, b"{}").expect("added");
        archive.file("/etc/cni/net.d/20.conflist", 0o644, b"{}").expect("added");
        archive.link("/kind/a", "/usr/bin/a").expect("added");
        let bytes = archive.finish().expect("finished").read().expect("read");
        let names: Vec<String> = tar::Archive::new(&bytes[..])
            .entries()
            .expect("a tar")
            .map(|e| e.expect("an entry").path().expect("a path").display().to_string())
            .collect();
        assert_eq!(names, ["etc/cni/", "etc/cni/net.d/", "etc/cni/net.d/10-pods.conflist", "etc/cni/net.d/20.conflist", "kind/", "kind/a"]);
    }
    #[tokio::test]
    async fn a_file_of_this_machine_is_in_it_as_if_it_had_been_read_before() {
        let dir = tempfile::tempdir().expect("a folder");
        for size in [0, 1, 512, 700_000] {
            let from = dir.path().join("program");
            let bytes = vec![7; size];
            std::fs::write(&from, &bytes).expect("written");
            let copied = || {
                let mut archive = Archive::default();
                archive.file("/kind/a", 0o644, b"before").expect("added");
                archive.copy("/kind/program", 0o755, &from).expect("added");
                archive.file("/kind/b", 0o644, b"behind").expect("added");
                archive.finish().expect("finished")
            };
            let mut archive = Archive::default();
            archive.file("/kind/a", 0o644, b"before").expect("added");
            archive.file("/kind/program", 0o755, &bytes).expect("added");
            archive.file("/kind/b", 0o644, b"behind").expect("added");
            let whole = archive.finish().expect("finished").read().expect("read");

            assert!(copied().read().expect("read") == whole, "{size}");
            let pieces: Vec<Bytes> = copied().stream().map(|piece| piece.expect("a piece")).collect().await;
            assert!(pieces.concat() == whole, "{size}");
            assert!(pieces.iter().all(|piece| piece.len() <= CHUNK), "{size}");
        }
    }
}
