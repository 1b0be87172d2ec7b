//! Image layers: tar files with their digests, the same bytes for the same contents.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header, HeaderMode};

/// The bits of a mode that are not the kind of file.
const PERMISSIONS: u32 = 0o7777;

/// A finished layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// The file it is in.
    pub(crate) file: PathBuf,
    /// SHA-256 of the tar, before packing, in hexadecimal.
    pub(crate) diff: String,
}

/// How a layer lies on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// As a plain tar.
    Plain,
    /// Packed by gzip, for what stays packed: blobs in a node's store.
    Gzip,
}

/// A layer that grows.
pub(crate) struct LayerWriter {
    tar: Builder<Sink>,
    path: PathBuf,
    dirs: BTreeSet<String>,
}

impl LayerWriter {
    /// Starts a layer in a new file.
    pub(crate) fn create(path: &Path, packing: Packing) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let out = match packing {
            Packing::Plain => Out::Plain(file),
            Packing::Gzip => Out::Gzip(Box::new(GzEncoder::new(file, Compression::fast()))),
        };
        let mut tar = Builder::new(Sink { hash: Sha256::new(), out });
        tar.mode(HeaderMode::Deterministic);
        Ok(Self { tar, path: path.to_owned(), dirs: BTreeSet::new() })
    }

    /// Adds a folder, and those above it that are not there yet. Not for folders that a lower layer has with another mode.
    pub(crate) fn dir(&mut self, path: &str) -> io::Result<()> {
        let parts: Vec<&str> = path.split('/').collect();
        for end in 1..=parts.len() {
            self.only_dir(&parts[..end].join("/"))?;
        }
        Ok(())
    }

    /// Adds a folder, but none above it.
    pub(crate) fn only_dir(&mut self, path: &str) -> io::Result<()> {
        self.dir_with(path, 0o755)
    }

    /// The same with a mode.
    pub(crate) fn dir_with(&mut self, path: &str, mode: u32) -> io::Result<()> {
        if self.dirs.insert(path.to_owned()) {
            self.tar.append_data(&mut header(EntryType::Directory, mode, 0), format!("{path}/"), io::empty())?;
        }
        Ok(())
    }

    /// Adds a file with these contents.
    pub(crate) fn bytes(&mut self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.tar.append_data(&mut header(EntryType::Regular, mode, bytes.len() as u64), path, bytes)
    }

    /// Adds a copy of a file of this machine.
    pub(crate) fn copy(&mut self, path: &str, mode: u32, from: &Path) -> io::Result<()> {
        let file = File::open(from)?;
        let size = file.metadata()?.len();
        self.tar.append_data(&mut header(EntryType::Regular, mode, size), path, file.take(size))
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, path: &str, to: &str) -> io::Result<()> {
        self.tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, to)
    }

    /// Adds an entry of another archive under a new path.
    pub(crate) fn entry(&mut self, path: &Path, entry: &mut tar::Entry<'_, impl Read>) -> io::Result<()> {
        let mut header = entry.header().clone();
        match entry.link_name()? {
            Some(to) if header.entry_type().is_symlink() => self.tar.append_link(&mut header, path, to),
            _ => self.tar.append_data(&mut header, path, entry),
        }
    }

    /// Adds everything below a folder with owners, modes, times and hard links, in the order of names. What a folder
    /// named in `hollow` holds is left out. Devices and sockets are left out too.
    pub(crate) fn tree(&mut self, root: &Path, hollow: &[&str]) -> io::Result<()> {
        let mut links = HashMap::new();
        self.below(root, Path::new(""), hollow, &mut links)
    }

    fn below(&mut self, root: &Path, at: &Path, hollow: &[&str], links: &mut HashMap<(u64, u64), PathBuf>) -> io::Result<()> {
        let mut names: Vec<_> = std::fs::read_dir(root.join(at))?.map(|e| Ok(e?.file_name())).collect::<io::Result<_>>()?;
        names.sort();
        for name in names {
            let path = at.join(&name);
            let full = root.join(&path);
            let meta = full.symlink_metadata()?;
            let mut header = Header::new_gnu();
            header.set_metadata_in_mode(&meta, HeaderMode::Complete);
            header.set_mode(meta.mode() & PERMISSIONS);
            // owners by number: the names of this machine are not the image's
            header.set_username("")?;
            header.set_groupname("")?;
            if meta.is_dir() {
                self.dirs.insert(path.to_string_lossy().into_owned());
                self.tar.append_data(&mut header, path.join(""), io::empty())?;
                if !hollow.iter().any(|h| Path::new(h) == path) {
                    self.below(root, &path, hollow, links)?;
                }
            } else if meta.is_symlink() {
                header.set_size(0);
                self.tar.append_link(&mut header, &path, std::fs::read_link(&full)?)?;
            } else if meta.is_file() {
                self.regular(&full, &path, &meta, header, links)?;
            }
        }
        Ok(())
    }

    fn regular(
        &mut self,
        full: &Path,
        path: &Path,
        meta: &Metadata,
        mut header: Header,
        links: &mut HashMap<(u64, u64), PathBuf>,
    ) -> io::Result<()> {
        if meta.nlink() > 1 {
            if let Some(first) = links.get(&(meta.dev(), meta.ino())) {
                header.set_entry_type(EntryType::Link);
                header.set_size(0);
                return self.tar.append_link(&mut header, path, first);
            }
            links.insert((meta.dev(), meta.ino()), path.to_owned());
        }
        self.tar.append_data(&mut header, path, File::open(full)?.take(meta.len()))
    }

    /// Ends the layer.
    pub(crate) fn finish(self) -> io::Result<Layer> {
        let sink = self.tar.into_inner()?;
        sink.out.finish()?;
        Ok(Layer { file: self.path, diff: format!("{:x}", sink.hash.finalize()) })
    }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    // some programs take 0 for "no time"
    header.set_mtime(1);
    header
}

struct Sink {
    hash: Sha256,
    out: Out,
}

enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Out {
    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(gzip) => gzip.finish()?.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = match &mut self.out {
            Out::Plain(file) => file.write(bytes)?,
            Out::Gzip(gzip) => gzip.write(bytes)?,
        };
        self.hash.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut archive = tar::Archive::new(File::open(path).expect("there"));
        let entries = archive.entries().expect("a tar");
        entries
            .map(|e| {
                let e = e.expect("an entry");
                let link = e.link_name().expect("readable").map(|l| format!(" -> {}", l.display())).unwrap_or_default();
                format!(
                    "{:?} {:o} {}{link}",
                    e.header().entry_type(),
                    e.header().mode().expect("a mode"),
                    e.path().expect("a path").display()
                )
            })
            .collect()
    }

    #[test]
    fn a_tree_keeps_modes_links_and_order_and_leaves_out_what_it_should() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("root");
        for d in ["etc", "proc/1", "usr/bin"] {
            std::fs::create_dir_all(root.join(d)).expect("made");
        }
        for (path, mode) in [("usr/bin/b", 0o4755), ("etc/shadow", 0o640), ("proc/1/stat", 0o644)] {
            std::fs::write(root.join(path), path).expect("written");
            std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(mode)).expect("set");
        }
        std::fs::hard_link(root.join("usr/bin/b"), root.join("usr/bin/c")).expect("linked");
        symlink("usr/bin", root.join("bin")).expect("linked");
        let mut layer = LayerWriter::create(&dir.path().join("a.tar"), Packing::Plain).expect("created");
        layer.tree(&root, &["proc"]).expect("added");
        let layer = layer.finish().expect("finished");
        let want = [
            "Symlink 777 bin -> usr/bin",
            "Directory 755 etc/",
            "Regular 640 etc/shadow",
            "Directory 755 proc/",
            "Directory 755 usr/",
            "Directory 755 usr/bin/",
            "Regular 4755 usr/bin/b",
            "Link 4755 usr/bin/c -> usr/bin/b",
        ];
        assert_eq!(names(&layer.file), want);
        assert_eq!(layer.diff, super::super::super::source::dir::digest(&layer.file).expect("read"));
    }

    #[test]
    fn the_same_contents_give_the_same_bytes_packed_or_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let make = |name: &str, packing| {
            let mut layer = LayerWriter::create(&dir.path().join(name), packing).expect("created");
            layer.dir("kind/bin").expect("added");
            layer.dir("kind/images").expect("added");
            layer.bytes("kind/version", 0o644, b"v1.36.3\n").expect("added");
            layer.link("kind/bin/kubeadm", "/usr/bin/kubeadm").expect("added");
            layer.finish().expect("finished")
        };
        let (a, b, packed) = (make("a", Packing::Plain), make("b", Packing::Plain), make("c", Packing::Gzip));
        assert_eq!((&a.diff, std::fs::read(&a.file).expect("read")), (&b.diff, std::fs::read(&b.file).expect("read")));
        assert_eq!(a.diff, packed.diff, "the digest is of what is inside");
        assert_eq!(std::fs::read(&packed.file).expect("read")[..2], [0x1f, 0x8b]);
        let want = ["Directory 755 kind/", "Directory 755 kind/bin/", "Directory 755 kind/images/", "Regular 644 kind/version"];
        assert_eq!(names(&a.file)[..4], want);
    }
}
