//! The files that were read, each once, and how they are read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::problem::Problem;
use super::tree::{self, Dialect, Node};

/// Larger files are refused unread.
const MOST_BYTES: u64 = 10 * 1024 * 1024;

/// Files that a workflow may be made of, each counted as often as it is imported: eight that import eight each, six deep, are a
/// quarter of a million.
const MOST_FILES: usize = 1_000;

/// All files that places can point into.
#[derive(Clone, Debug, Default)]
pub(in crate::workflow) struct Sources {
    files: Vec<(PathBuf, String)>,
    next_id: usize,
    is_full: bool,
}

impl Sources {
    /// A file's name as the user wrote it, and its text.
    pub(in crate::workflow) fn get(&self, file: usize) -> (String, &str) {
        self.files.get(file).map_or_else(Default::default, |(path, text)| (path.display().to_string(), text.as_str()))
    }

    /// Is there no room for another import? Says so once.
    pub(in crate::workflow) fn full(&mut self, place: Place, problems: &mut Vec<Problem>) -> bool {
        if self.files.len() < MOST_FILES {
            return false;
        }
        if !std::mem::replace(&mut self.is_full, true) {
            problems.push(Problem::at(place, format!("there are more than {MOST_FILES} imports in all, repeated ones counted each time")));
        }
        true
    }

    /// Reads a file. What is wrong but can be read over goes to `problems`.
    ///
    /// # Errors
    /// What cannot be read over.
    pub(in crate::workflow) fn load(&mut self, path: &Path, dialect: Dialect, problems: &mut Vec<Problem>) -> Result<Node, Problem> {
        let text = read(path)?;
        self.add(path, text, dialect, problems)
    }

    /// Takes a text in as if it were read from `path`.
    pub(in crate::workflow) fn add(
        &mut self,
        path: &Path,
        text: String,
        dialect: Dialect,
        problems: &mut Vec<Problem>,
    ) -> Result<Node, Problem> {
        let file = self.files.len();
        self.files.push((path.to_owned(), text));
        let text = &self.files[file].1;
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Err(Problem::of(format!("{} is no workflow: it is empty", path.display())));
        }
        let root = tree::parse(file, text, dialect, self.next_id, problems)?;
        // ids of one file are below the number of its values, which is below that of its bytes
        self.next_id += text.len() + 1;
        Ok(root)
    }
}

/// A file's text.
pub(in crate::workflow) fn read(path: &Path) -> Result<String, Problem> {
    let file = path.display();
    let read = |e: std::io::Error| Problem::of(format!("cannot read workflow {file}: {e}"));
    let not_text = |why: &str| Problem::of(format!("{file} is no workflow: {why}"));
    let meta = std::fs::metadata(path).map_err(read)?;
    if meta.is_dir() {
        return Err(not_text("it is a folder"));
    }
    // A FIFO that nobody writes to would be waited for. What a shell puts for `<(command)` is written to.
    let of_the_shell = ["/dev/fd", "/proc/self/fd", "/dev/stdin"].iter().any(|dir| path.starts_with(dir));
    if !meta.is_file() && !of_the_shell {
        return Err(not_text("it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|f| f.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(read)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(not_text("it is larger than 10 MB"));
    }
    String::from_utf8(bytes).map_err(|e| not_text(&format!("it is not UTF-8 at byte {}", e.utf8_error().valid_up_to())))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.yaml");
        // a device: a FIFO would keep a test that fails waiting
        std::os::unix::fs::symlink("/dev/null", &path).expect("linked");
        let refused = read(&path).expect_err("a device");
        assert_eq!(refused.what, format!("{} is no workflow: it is no regular file", path.display()));
    }

    #[test]
    fn what_a_shell_hands_over_is_read() {
        for dir in ["/dev/fd", "/proc/self/fd"] {
            let (reader, mut writer) = std::io::pipe().expect("a pipe");
            writer.write_all(b"version: 2").expect("written");
            drop(writer);
            assert_eq!(read(Path::new(&format!("{dir}/{}", reader.as_raw_fd()))).expect("read"), "version: 2");
        }
    }
}
