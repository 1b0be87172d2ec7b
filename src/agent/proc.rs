//! Processes of the node by name, and what `/proc` says of them.

use std::fs::{read_dir, read_to_string};
use std::path::PathBuf;
use std::time::Duration;

use crate::event::Usage;
use crate::sys::clock::Stamp;

/// Ticks of `/proc/PID/stat`: `USER_HZ`, which Linux fixes at 100 for all that it shows.
const TICK_US: u64 = 10_000;

/// A process that is looked at by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    /// The program's name.
    pub(super) name: String,
    /// Its process.
    pub(super) pid: u32,
    /// When it started, in ticks since boot: tells it from another process that got the same id.
    started: u64,
}

impl Component {
    /// When it started, to 10 ms.
    pub(super) fn started(&self) -> Stamp {
        let now = Stamp::now();
        let mono = self.started.saturating_mul(TICK_US * 1_000).min(now.mono);
        let ago = Duration::from_nanos(now.mono - mono);
        Stamp { mono, wall: now.wall.checked_sub(ago).unwrap_or(now.wall) }
    }
}

/// A line of `/proc/PID/cgroup`.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Controllers with commas between them; empty for version 2.
    pub(super) controllers: String,
    /// Below the root that the reader sees.
    pub(super) path: PathBuf,
}

/// The kernel's view of processes.
#[derive(Clone, Debug)]
pub(super) struct Proc {
    root: PathBuf,
}

impl Proc {
    /// The node's own.
    pub(super) fn of_node() -> Self {
        Self::below("/proc")
    }

    pub(super) fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The oldest process of each of these names.
    pub(super) fn find(&self, names: &[&str]) -> Vec<Component> {
        let mut found: Vec<Component> = Vec::new();
        let entries = read_dir(&self.root).into_iter().flatten().flatten();
        for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
            let Ok(name) = read_to_string(self.root.join(format!("{pid}/comm"))) else { continue };
            let name = name.trim_end();
            if !names.contains(&name) {
                continue;
            }
            let Some(started) = self.started(pid) else { continue };
            match found.iter_mut().find(|other| other.name == name) {
                Some(other) if other.started > started => (other.pid, other.started) = (pid, started),
                Some(_) => {}
                None => found.push(Component { name: name.to_owned(), pid, started }),
            }
        }
        found
    }

    /// Does it still run?
    pub(super) fn runs(&self, component: &Component) -> bool {
        self.started(component.pid) == Some(component.started)
    }

    /// When a process started, in the kernel's ticks; `None` once it has ended, also while nobody has asked for its exit code yet.
    fn started(&self, pid: u32) -> Option<u64> {
        let fields = self.stat(pid)?;
        (fields.first()? != "Z").then(|| fields.get(19)?.parse().ok())?
    }

    /// Its control groups.
    pub(super) fn groups(&self, pid: u32) -> Vec<Group> {
        let text = read_to_string(self.root.join(format!("{pid}/cgroup"))).unwrap_or_default();
        let group = |line: &str| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            Some(Group { controllers: controllers.to_owned(), path: path.into() })
        };
        text.lines().filter_map(group).collect()
    }

    /// What a process alone has used, of what the kernel counts for each.
    pub(super) fn usage(&self, pid: u32) -> Usage {
        let ticks = |at: usize, fields: &[String]| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let cpu_us = self.stat(pid).map_or(0, |fields| (ticks(11, &fields) + ticks(12, &fields)) * TICK_US);
        let number = |file: &str, name: &str| {
            let text = read_to_string(self.root.join(format!("{pid}/{file}"))).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
        };
        let resident = number("status", "VmRSS:") << 10;
        Usage {
            cpu_us,
            memory: resident,
            memory_peak: number("status", "VmHWM:") << 10,
            rss: number("status", "RssAnon:") << 10,
            working_set: resident,
            io_read: number("io", "read_bytes:"),
            io_write: number("io", "write_bytes:"),
            ..Usage::default()
        }
    }

    /// Bytes received and sent, the loopback's left out.
    pub(super) fn network(&self) -> (u64, u64) {
        let text = read_to_string(self.root.join("net/dev")).unwrap_or_default();
        let each = text.lines().skip(2).filter_map(|line| line.trim().split_once(':')).filter(|(name, _)| *name != "lo");
        each.fold((0, 0), |(received, sent), (_, numbers)| {
            let all: Vec<u64> = numbers.split_whitespace().map(|n| n.parse().unwrap_or(0)).collect();
            (received + all.first().unwrap_or(&0), sent + all.get(8).unwrap_or(&0))
        })
    }

    /// The fields of `/proc/PID/stat` behind the name, which may hold spaces and brackets.
    fn stat(&self, pid: u32) -> Option<Vec<String>> {
        let text = read_to_string(self.root.join(format!("{pid}/stat"))).ok()?;
        let (_, rest) = text.rsplit_once(") ")?;
        Some(rest.split_whitespace().map(str::to_owned).collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Files below a folder.
    pub(in super::super) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        dir
    }

    fn stat(started: u64) -> String {
        format!("1 (a) b) S 1 2 3 0 -1 4 5 6 7 8 9 10 11 12 13 14 15 16 {started} 18\n")
    }

    #[test]
    fn the_oldest_of_a_name_is_meant_and_its_end_is_noticed() {
        let dir = tree(&[
            ("10/comm", "etcd\n"),
            ("10/stat", &stat(700)),
            ("9/comm", "etcd\n"),
            ("9/stat", &stat(800)),
            ("11/comm", "etcdctl\n"),
            ("11/stat", &stat(1)),
            ("self/comm", "etcd\n"),
        ]);
        let proc = Proc::below(dir.path());
        let found = proc.find(&["etcd", "kubelet"]);
        assert_eq!(found, [Component { name: "etcd".into(), pid: 10, started: 700 }]);
        assert!(proc.runs(&found[0]));
        std::fs::write(dir.path().join("10/stat"), stat(900)).expect("written");
        assert!(!proc.runs(&found[0]), "another process with the same id");
        std::fs::write(dir.path().join("10/stat"), stat(700).replace(") S ", ") Z ")).expect("written");
        assert!(!proc.runs(&found[0]), "it has ended, and nobody has asked how");
        assert_eq!(proc.find(&["etcd"])[0].pid, 9);
    }

    #[test]
    fn our_own_process_can_be_read() {
        let proc = Proc::of_node();
        let pid = std::process::id();
        let usage = proc.usage(pid);
        assert!(usage.memory > 1 << 20 && usage.memory_peak >= usage.memory, "{usage:?}");
        assert!(!proc.groups(pid).is_empty());
        let name = read_to_string("/proc/self/comm").expect("a name");
        let found = proc.find(&[name.trim_end()]);
        let age = Stamp::now().since(found[0].started());
        assert!(age < Duration::from_hours(24), "{age:?}");
    }
}
