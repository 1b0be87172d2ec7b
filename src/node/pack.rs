//! Files of this machine to an archive for a node, and an archive of a node to files of this machine.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use tar::{Builder, EntryType, Header};

/// What devices, FIFOs and sockets are not.
const NEITHER: &str = "neither a file nor a folder";

/// A file or folder as an archive that unpacks below `/` to `stage/name`; modes and links inside are kept. Returns also what
/// was left out, with the reason.
pub(super) fn pack(from: &Path, stage: &str, name: &str) -> io::Result<(Vec<u8>, Vec<String>)> {
    let mut tar = Builder::new(Vec::new());
    let stage = stage.trim_start_matches('/');
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o700);
    header.set_size(0);
    tar.append_data(&mut header, format!("{stage}/"), io::empty())?;
    let left_out = add(&mut tar, from, stage, name)?;
    Ok((tar.into_inner()?, left_out))
}

/// The same below a folder that is there, which stays as it is.
pub(super) fn pack_below(from: &Path, dir: &str, name: &str) -> io::Result<(Vec<u8>, Vec<String>)> {
    let mut tar = Builder::new(Vec::new());
    let left_out = add(&mut tar, from, dir.trim_start_matches('/'), name)?;
    Ok((tar.into_inner()?, left_out))
}

/// Root's, whoever owns it here.
fn header(found: &fs::Metadata, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_metadata(found);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header
}

fn add(tar: &mut Builder<Vec<u8>>, from: &Path, below: &str, name: &str) -> io::Result<Vec<String>> {
    // What is named is followed, what is found below is not.
    let named = fs::metadata(from)?;
    if !named.is_dir() && !named.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NEITHER));
    }
    let mut left_out = Vec::new();
    let mut open = vec![(from.to_owned(), PathBuf::from(name), named)];
    while let Some((path, shown, found)) = open.pop() {
        let to = Path::new(below).join(&shown);
        if found.is_dir() {
            tar.append_data(&mut header(&found, 0), to.join(""), io::empty())?;
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                open.push((entry.path(), shown.join(entry.file_name()), entry.metadata()?));
            }
        } else if found.is_file() {
            append_file(tar, &to, &path)?;
        } else if found.is_symlink() {
            tar.append_link(&mut header(&found, 0), to, fs::read_link(&path)?)?;
        } else {
            left_out.push(format!("{}: {NEITHER}", shown.display()));
        }
    }
    Ok(left_out)
}

/// A file that grows or shrinks meanwhile is packed as long as it was, or as it still is.
fn append_file(tar: &mut Builder<Vec<u8>>, to: &Path, path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(found.len()).read_to_end(&mut bytes)?;
    tar.append_data(&mut header(&found, bytes.len() as u64), to, &bytes[..])
}

/// Unpacks an archive whose first part is one file or folder, which becomes `to`. Names come from a node and may be hostile:
/// nothing is written outside of `to`. Returns what was left out, with the reason.
#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else tar knows is neither a file nor a folder")]
pub(super) fn unpack(tar: impl Read, to: &Path) -> io::Result<Vec<String>> {
    let (mut left_out, mut links, mut modes) = (Vec::new(), Vec::new(), Vec::new());
    let mut archive = tar::Archive::new(tar);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let shown = entry.path()?.display().to_string();
        let Some(inside) = below_first(&entry.path()?) else {
            left_out.push(format!("{shown}: its name leads out of the folder"));
            continue;
        };
        let path = if inside.as_os_str().is_empty() { to.to_owned() } else { to.join(&inside) };
        let mode = entry.header().mode()? & 0o777;
        match entry.header().entry_type() {
            EntryType::Directory => {
                fs::create_dir_all(&path)?;
                modes.push((path, mode));
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                io::copy(&mut entry, &mut fresh(&path)?)?;
                fs::set_permissions(&path, Permissions::from_mode(mode))?;
            }
            EntryType::Symlink => match entry.link_name()?.filter(|target| stays(&inside, target)) {
                Some(target) => links.push((path, target.into_owned())),
                None => left_out.push(format!("{shown}: a link that leads out of the folder")),
            },
            EntryType::Link => match entry.link_name()?.and_then(|target| below_first(&target)) {
                Some(first) if to.join(&first).symlink_metadata().is_ok_and(|m| m.is_file()) => {
                    io::copy(&mut File::open(to.join(&first))?, &mut fresh(&path)?)?;
                    fs::set_permissions(&path, Permissions::from_mode(mode))?;
                }
                Some(_) | None => left_out.push(format!("{shown}: a link to a file that is not in the folder")),
            },
            _ => left_out.push(format!("{shown}: {NEITHER}")),
        }
    }
    // After all files, so that none is written through a link; folders' modes last, so that a read-only one can be filled.
    for (path, target) in links {
        clear(&path)?;
        symlink(target, path)?;
    }
    for (path, mode) in modes.into_iter().rev() {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(left_out)
}

/// A file that is written anew; one that is there, or a link in its place, is replaced and not followed.
fn fresh(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    clear(path)?;
    File::create(path)
}

/// Takes away a file or link; a device, FIFO or socket is somebody's, and a folder is not taken for a file.
fn clear(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() || found.is_symlink() => fs::remove_file(path),
        Ok(found) if !found.is_dir() => Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is no regular file", path.display()))),
        // What cannot be looked at cannot be written either, which says why.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A name without its first part; `None` when it does not stay below that.
fn below_first(name: &Path) -> Option<PathBuf> {
    let mut parts = name.components().filter(|part| *part != Component::CurDir);
    let all_plain = name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    parts.next();
    all_plain.then(|| parts.collect())
}

/// Does a link at `inside` the folder lead to something in it?
fn stays(inside: &Path, target: &Path) -> bool {
    let mut depth = inside.components().count().saturating_sub(1);
    target.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir if depth > 0 => {
            depth -= 1;
            true
        }
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_comes_back_as_it_went() {
        let dir = tempfile::tempdir().expect("a folder");
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("sub")).expect("made");
        fs::write(from.join("sub/run.sh"), "#!/bin/sh").expect("written");
        fs::set_permissions(from.join("sub/run.sh"), Permissions::from_mode(0o751)).expect("set");
        fs::set_permissions(from.join("sub"), Permissions::from_mode(0o555)).expect("set");
        symlink("sub/run.sh", from.join("link")).expect("linked");
        let tar = pack(&from, "/kind/copy/x", "from").expect("packed").0;
        // as the engine gives it: without the folders above
        let mut again = Builder::new(Vec::new());
        for entry in tar::Archive::new(&tar[..]).entries().expect("a tar") {
            let mut entry = entry.expect("an entry");
            let path: PathBuf = entry.path().expect("a path").components().skip(3).collect();
            let mut header = entry.header().clone();
            match (path.as_os_str().is_empty(), entry.link_name().expect("read").map(std::borrow::Cow::into_owned)) {
                (true, _) => {}
                (false, Some(target)) => again.append_link(&mut header, path, target).expect("added"),
                (false, None) => again.append_data(&mut header, path, &mut entry).expect("added"),
            }
        }
        let to = dir.path().join("to");
        assert_eq!(unpack(&again.into_inner().expect("a tar")[..], &to).expect("unpacked"), [""; 0]);
        assert_eq!(fs::read_to_string(to.join("link")).expect("through the link"), "#!/bin/sh");
        assert_eq!((mode(&to.join("sub/run.sh")), mode(&to.join("sub"))), (0o751, 0o555));
    }

    #[test]
    fn what_is_neither_a_file_nor_a_folder_is_not_read() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("sub")).expect("made");
        fs::write(dir.path().join("sub/file"), "text").expect("written");
        let pipe = dir.path().join("sub/pipe");
        mkfifo(&pipe, Mode::S_IRWXU).expect("made");
        let (tar, left_out) = pack(dir.path(), "/stage", "top").expect("packed");
        assert_eq!(left_out, ["top/sub/pipe: neither a file nor a folder"]);
        let mut archive = tar::Archive::new(&tar[..]);
        let packed = archive.entries().expect("a tar").map(|e| e.expect("one").path().expect("a path").into_owned());
        assert_eq!(packed.collect::<Vec<_>>(), ["stage", "stage/top", "stage/top/sub", "stage/top/sub/file"].map(PathBuf::from));
        for named in [&*pipe, Path::new("/dev/null")] {
            assert_eq!(pack(named, "/stage", "top").expect_err("no file").to_string(), NEITHER);
        }
    }

    #[test]
    fn a_file_is_read_as_far_as_it_is_long() {
        // one that says it is empty and has no end in sight: a header that is too small would spoil all behind it
        let (tar, _) = pack(Path::new("/proc/self/status"), "/stage", "status").expect("packed");
        let sizes = tar::Archive::new(&tar[..]).entries().expect("a tar").map(|e| e.expect("one").size()).collect::<Vec<_>>();
        assert_eq!(sizes, [0, 0]);
    }

    #[test]
    fn what_is_neither_a_file_nor_a_link_is_not_replaced() {
        let dir = tempfile::tempdir().expect("a folder");
        let there = dir.path().join("there");
        let _bound = UnixListener::bind(&there).expect("bound");
        for (kind, name, to) in [(EntryType::Regular, "top", &*there), (EntryType::Symlink, "top/there", dir.path())] {
            let mut tar = Builder::new(Vec::new());
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(0o644);
            header.set_size(0);
            if kind == EntryType::Symlink {
                tar.append_link(&mut header, name, "a").expect("added");
            } else {
                tar.append_data(&mut header, name, io::empty()).expect("added");
            }
            let refused = unpack(&tar.into_inner().expect("a tar")[..], to).expect_err("a socket").to_string();
            assert_eq!(refused, format!("{} is no regular file", there.display()));
            assert!(there.symlink_metadata().expect("there").file_type().is_socket());
        }
    }

    #[test]
    fn nothing_is_written_outside_of_the_target() {
        let dir = tempfile::tempdir().expect("a folder");
        let outside = dir.path().join("outside");
        fs::write(&outside, "mine").expect("written");
        let mut tar = Builder::new(Vec::new());
        let mut add = |name: &str, kind: EntryType, link: Option<&str>| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(0o644);
            header.set_size(if link.is_none() { 4 } else { 0 });
            // set by hand: the crate refuses such names
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            if let Some(link) = link {
                header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
            }
            header.set_cksum();
            tar.append(&header, if link.is_none() { &b"evil"[..] } else { &b""[..] }).expect("added");
        };
        add("top/../../outside", EntryType::Regular, None);
        add("/outside", EntryType::Regular, None);
        add("top/up", EntryType::Symlink, Some("../outside"));
        add("top/root", EntryType::Symlink, Some("/etc"));
        add("top/hard", EntryType::Link, Some("../outside"));
        add("top/pipe", EntryType::Fifo, Some(""));
        add("top/there", EntryType::Symlink, Some("sub/fine"));
        add("top/there", EntryType::Regular, None);
        add("top/sub/fine", EntryType::Regular, None);
        let to = dir.path().join("to");
        fs::create_dir(&to).expect("made");
        symlink(&outside, to.join("there")).expect("linked");
        let left_out = unpack(&tar.into_inner().expect("a tar")[..], &to).expect("unpacked");
        assert_eq!(left_out.len(), 6, "{left_out:#?}");
        assert_eq!(fs::read_to_string(&outside).expect("there"), "mine");
        assert_eq!(fs::read_to_string(to.join("sub/fine")).expect("there"), "evil");
        assert!(!to.join("up").exists() && !to.join("root").exists());
        assert!(!Path::new("/outside").exists());
    }
}
