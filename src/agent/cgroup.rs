//! What the node has used, from the root of its control group namespace.

use std::fs::read_to_string;
use std::path::Path;

use crate::event::Usage;

const ROOT: &str = "/sys/fs/cgroup";

/// Reads version 2 where it is, else version 1 (`Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`).
pub(super) fn usage() -> Result<Usage, String> {
    usage_below(Path::new(ROOT))
}

fn usage_below(root: &Path) -> Result<Usage, String> {
    let number = |file: &str| -> Result<u64, String> {
        let path = root.join(file);
        let text = read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        text.trim().parse().map_err(|e| format!("{}: {e}", path.display()))
    };
    if root.join("cgroup.controllers").exists() {
        let stat = read_to_string(root.join("cpu.stat")).map_err(|e| format!("cpu.stat: {e}"))?;
        let cpu_us = stat.lines().find_map(|l| l.strip_prefix("usage_usec ")).and_then(|v| v.parse().ok());
        return Ok(Usage {
            cpu_us: cpu_us.ok_or("cpu.stat has no usage_usec")?,
            memory: number("memory.current")?,
            memory_peak: number("memory.peak").unwrap_or(0),
            ..Usage::default()
        });
    }
    Ok(Usage {
        cpu_us: number("cpuacct/cpuacct.usage")? / 1_000,
        memory: number("memory/memory.usage_in_bytes")?,
        memory_peak: number("memory/memory.max_usage_in_bytes").unwrap_or(0),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        dir
    }

    #[test]
    fn both_versions_give_the_same_units() {
        let want = Usage { cpu_us: 1_500, memory: 4096, memory_peak: 8192, ..Usage::default() };
        let one = tree(&[
            ("cpuacct/cpuacct.usage", "1500000\n"),
            ("memory/memory.usage_in_bytes", "4096\n"),
            ("memory/memory.max_usage_in_bytes", "8192\n"),
        ]);
        let two = tree(&[
            ("cgroup.controllers", "cpu memory\n"),
            ("cpu.stat", "usage_usec 1500\nuser_usec 1000\n"),
            ("memory.current", "4096\n"),
            ("memory.peak", "8192\n"),
        ]);
        assert_eq!(usage_below(one.path()), Ok(want));
        assert_eq!(usage_below(two.path()), Ok(want));
        assert!(usage_below(tree(&[]).path()).is_err_and(|e| e.contains("cpuacct.usage")));
    }
}
