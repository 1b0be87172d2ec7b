//! Tar archives built in memory, for [`super::Runtime::put`].

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use tar::{Builder, EntryType, Header};

/// A tar archive that grows: root-owned files with a fixed time, folders made as needed.
pub struct Archive {
    tar: Builder<Vec<u8>>,
    dirs: BTreeSet<String>,
}

impl Default for Archive {
    fn default() -> Self {
        Self { tar: Builder::new(Vec::new()), dirs: BTreeSet::new() }
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
    pub fn finish(self) -> io::Result<Vec<u8>> {
        self.tar.into_inner()
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
        let bytes = archive.finish().expect("finished");
        let names: Vec<String> = tar::Archive::new(&bytes[..])
            .entries()
            .expect("a tar")
            .map(|e| e.expect("an entry").path().expect("a path").display().to_string())
            .collect();
        assert_eq!(names, ["etc/cni/", "etc/cni/net.d/", "etc/cni/net.d/10-pods.conflist", "etc/cni/net.d/20.conflist", "kind/", "kind/a"]);
    }
}
