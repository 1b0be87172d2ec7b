//! Files that appear whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

use tempfile::NamedTempFile;

/// Writes `bytes` to `path` through a temporary file beside it and a rename, with the given Unix mode.
///
/// # Errors
/// Any of the file system, and whatever [`replaceable`] refuses; `path` is then as it was.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    replaceable(path)?;
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Opens a regular file to read. A FIFO would keep the reader until somebody writes, and a device may never end.
///
/// # Errors
/// For anything else that is there.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_regular(path)) }
}

fn no_regular(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is no regular file", path.display()))
}

/// Is this a regular file, or nothing yet? Links are followed. A rename would put a file where a device was, and a FIFO is
/// opened only when somebody is at its other end.
///
/// # Errors
/// For anything else that is there.
pub fn replaceable(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(no_regular(path)),
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_with_the_mode_and_leaves_no_temporary_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("sub/config");
        write_atomic(&path, b"one", 0o600).expect("written");
        write_atomic(&path, b"two", 0o600).expect("written again");
        assert_eq!(std::fs::read(&path).expect("read"), b"two");
        assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().expect("sub")).expect("listed").count(), 1);
    }

    #[test]
    fn only_a_regular_file_is_read_and_nobody_waits_at_a_fifo() {
        let dir = tempfile::tempdir().expect("a folder");
        let (fifo, own) = (dir.path().join("fifo"), dir.path().join("own"));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).expect("made");
        std::fs::write(&own, "one").expect("written");
        for path in [fifo.as_path(), dir.path(), Path::new("/dev/zero")] {
            let refused = open_regular(path).expect_err("no file").to_string();
            assert_eq!(refused, format!("{} is no regular file", path.display()));
        }
        assert_eq!(io::read_to_string(open_regular(&own).expect("a file")).expect("read"), "one");
    }

    #[test]
    fn only_a_regular_file_is_replaced() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let dir = tempfile::tempdir().expect("a folder");
        let [socket, null, own, link] = ["socket", "null", "own", "link"].map(|name| dir.path().join(name));
        let _bound = UnixListener::bind(&socket).expect("bound");
        symlink("/dev/null", &null).expect("linked");
        for path in [&socket, &null] {
            let before = std::fs::symlink_metadata(path).expect("there").file_type();
            let refused = write_atomic(path, b"one", 0o600).expect_err("no file").to_string();
            assert_eq!(refused, format!("{} is no regular file", path.display()));
            assert_eq!(std::fs::symlink_metadata(path).expect("there").file_type(), before);
        }
        std::fs::write(&own, "one").expect("written");
        symlink(&own, &link).expect("linked");
        write_atomic(&link, b"two", 0o600).expect("a link to a file is as good as one");
    }
}
