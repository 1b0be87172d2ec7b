//! Programs with the shared libraries that they need, taken out of a root file system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::command::{Task, World, run};
use super::super::error::ImageError;
use crate::sys::stop::Stop;

/// Copies programs and loadable objects of the root file system `root`, and the libraries that the loader finds for them,
/// into `to`.
pub(crate) async fn copy(root: &Path, programs: &[&str], to: &Path, stop: &Stop) -> Result<(), ImageError> {
    let mut paths: BTreeSet<String> = programs.iter().map(|p| (*p).to_owned()).collect();
    let argv: Vec<&str> = ["ldd"].into_iter().chain(programs.iter().copied()).collect();
    let op = format!("find the libraries of {}", programs.first().copied().unwrap_or_default());
    paths.extend(libraries(&run(&inside(root, op, &argv), stop).await?));
    for path in paths {
        file(root, &path, to)?;
    }
    Ok(())
}

/// A command in the root file system `root`.
pub(crate) fn inside(root: &Path, op: impl Into<String>, argv: &[&str]) -> Task {
    let root = root.display().to_string();
    let mut task = Task::new(op, &["chroot", &root]);
    task.argv.extend(argv.iter().map(|a| (*a).to_owned()));
    task.env = vec![("LC_ALL", "C".into()), ("DEBIAN_FRONTEND", "noninteractive".into()), ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin".into())];
    task.world = World::Own;
    task
}

/// Copies one file to the same place under another root.
pub(crate) fn file(root: &Path, path: &str, to: &Path) -> Result<(), ImageError> {
    let from = below(root, path);
    let target = below(to, path);
    if let Some(dir) = target.parent() {
        std::fs::create_dir_all(dir).map_err(ImageError::io("make the folder", dir))?;
    }
    std::fs::copy(&from, &target).map_err(ImageError::io("copy", &from))?;
    Ok(())
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The absolute paths in what `ldd` wrote. The kernel's own library has none; with several programs, the line that names each
/// ends with a colon.
pub(in crate::image) fn libraries(said: &str) -> Vec<String> {
    let lines = said.lines().filter(|line| !line.ends_with(':'));
    lines.filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/'))).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn libraries_and_the_loader_are_read_from_ldd() {
        let said = "/usr/sbin/nft:\n\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmnl.so.0 => /lib/x86_64-linux-gnu/libmnl.so.0 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(super::libraries(said), ["/lib/x86_64-linux-gnu/libmnl.so.0", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(super::libraries("\tnot a dynamic executable\n").is_empty());
    }
}
