//! What the node and its components have used, from control groups of version 1 and 2 and from `/proc`.
//!
//! The files are described in the kernel's `admin-guide/cgroup-v2.rst`, `cgroup-v1/{memory,cpuacct,blkio-controller}.rst` and
//! `filesystems/proc.rst`.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use super::proc::{Component, Proc};
use crate::event::Usage;

/// The control groups as a node sees them: its own group is their root.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    root: PathBuf,
}

impl Groups {
    /// The node's own.
    pub(super) fn of_node() -> Self {
        Self::below("/sys/fs/cgroup")
    }

    fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// What all that runs in the node has used.
    pub(super) fn node(&self, proc: &Proc) -> Result<Usage, String> {
        let mut usage = if self.unified() { self.second(Path::new(""))? } else { self.first(|_| Some(PathBuf::new()))? };
        (usage.net_received, usage.net_sent) = proc.network();
        Ok(usage)
    }

    /// What a component has used. A controller for which it shares its group with others, or has none, says nothing of it: its
    /// process is asked then.
    pub(super) fn component(&self, proc: &Proc, of: &Component) -> Usage {
        let groups = proc.groups(of.pid);
        let own = groups.iter().find(|group| group.controllers.is_empty() || group.controllers == "name=systemd").map(|g| &g.path);
        let own = own.filter(|path| path.as_os_str() != "/").cloned();
        let below = |path: &Path| path.strip_prefix("/").unwrap_or(path).to_owned();
        let seen = match (&own, self.unified()) {
            (None, _) => Err(String::new()),
            (Some(own), true) => self.second(&below(own)),
            (Some(own), false) => self.first(|controller| {
                let group = groups.iter().find(|g| g.controllers.split(',').any(|c| c == controller))?;
                (&group.path == own).then(|| below(own))
            }),
        };
        let mut usage = seen.unwrap_or_default();
        let process = proc.usage(of.pid);
        if usage.cpu_us == 0 {
            usage.cpu_us = process.cpu_us;
        }
        if usage.memory == 0 {
            (usage.memory, usage.rss, usage.working_set) = (process.memory, process.rss, process.working_set);
        }
        if usage.memory_peak == 0 {
            usage.memory_peak = process.memory_peak;
        }
        if (usage.io_read, usage.io_write) == (0, 0) {
            (usage.io_read, usage.io_write) = (process.io_read, process.io_write);
        }
        usage
    }

    fn unified(&self) -> bool {
        self.root.join("cgroup.controllers").exists()
    }

    /// Version 2: all of a group is in one folder.
    fn second(&self, group: &Path) -> Result<Usage, String> {
        let dir = self.root.join(group);
        let cpu = text(&dir.join("cpu.stat"))?;
        let memory = number(&dir.join("memory.current"))?;
        let stat = text(&dir.join("memory.stat")).unwrap_or_default();
        let io = text(&dir.join("io.stat")).unwrap_or_default();
        Ok(Usage {
            cpu_us: field(&cpu, "usage_usec").ok_or("cpu.stat has no usage_usec")?,
            memory,
            memory_peak: number(&dir.join("memory.peak")).unwrap_or(0),
            rss: field(&stat, "anon").unwrap_or(0),
            working_set: field(&stat, "inactive_file").map_or(0, |idle| memory.saturating_sub(idle)),
            io_read: sum(&io, "rbytes="),
            io_write: sum(&io, "wbytes="),
            ..Usage::default()
        })
    }

    /// Version 1: a folder for each controller, of which `group` says where the one that is meant is, if there is one.
    fn first(&self, group: impl Fn(&str) -> Option<PathBuf>) -> Result<Usage, String> {
        let at = |controller: &str, file: &str| group(controller).map(|group| self.root.join(controller).join(group).join(file));
        let cpu = at("cpuacct", "cpuacct.usage").map(|path| number(&path)).transpose()?;
        let memory = at("memory", "memory.usage_in_bytes").map(|path| number(&path)).transpose()?.unwrap_or(0);
        let peak = at("memory", "memory.max_usage_in_bytes").and_then(|path| number(&path).ok());
        let stat = at("memory", "memory.stat").and_then(|path| text(&path).ok()).unwrap_or_default();
        let io = |file| at("blkio", file).and_then(|path| text(&path).ok()).filter(|text| text.trim() != "Total 0");
        let io = io("blkio.throttle.io_service_bytes_recursive").or_else(|| io("blkio.throttle.io_service_bytes")).unwrap_or_default();
        Ok(Usage {
            cpu_us: cpu.unwrap_or(0) / 1_000,
            memory,
            memory_peak: peak.unwrap_or(0),
            // with hierarchy: the plain fields are about the group without those below it
            rss: field(&stat, "total_rss").unwrap_or(0),
            working_set: field(&stat, "total_inactive_file").map_or(0, |idle| memory.saturating_sub(idle)),
            io_read: operations(&io, "Read"),
            io_write: operations(&io, "Write"),
            ..Usage::default()
        })
    }
}

fn text(path: &Path) -> Result<String, String> {
    read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn number(path: &Path) -> Result<u64, String> {
    text(path)?.trim().parse().map_err(|e| format!("{}: {e}", path.display()))
}

/// The number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// `8:0 rbytes=1 wbytes=2 …`, one line a disk.
fn sum(text: &str, name: &str) -> u64 {
    text.split_whitespace().filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok()).sum()
}

/// `8:0 Read 1`, one line a disk and operation.
fn operations(text: &str, name: &str) -> u64 {
    let number = |line: &str| {
        let mut words = line.split(' ').skip(1);
        (words.next()? == name).then(|| words.next()?.parse::<u64>().ok())?
    };
    text.lines().filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::super::proc::tests::tree;
    use super::*;

    /// Laid out as in a node of Docker 20.10 on Linux 6.18 with version 1: the kubelet shares its group for CPU time with all others.
    const FIRST: &[(&str, &str)] = &[
        ("cg/cpuacct/cpuacct.usage", "1500000\n"),
        ("cg/memory/memory.usage_in_bytes", "4096\n"),
        ("cg/memory/memory.max_usage_in_bytes", "8192\n"),
        ("cg/memory/memory.stat", "cache 1\nrss 1\ninactive_file 1\ntotal_rss 2048\ntotal_inactive_file 1024\n"),
        ("cg/blkio/blkio.throttle.io_service_bytes_recursive", "8:0 Read 10\n8:0 Write 20\n8:16 Read 1\n8:0 Total 30\nTotal 31\n"),
        ("cg/cpuacct/kubepods.slice/e.scope/cpuacct.usage", "500000\n"),
        ("cg/memory/kubepods.slice/e.scope/memory.usage_in_bytes", "1000\n"),
        ("cg/memory/kubepods.slice/e.scope/memory.stat", "total_rss 600\ntotal_inactive_file 300\n"),
        ("cg/blkio/kubepods.slice/e.scope/blkio.throttle.io_service_bytes_recursive", "Total 0\n"),
        ("cg/memory/system.slice/kubelet.service/memory.usage_in_bytes", "3000\n"),
        ("proc/379/comm", "etcd\n"),
        ("proc/379/stat", "379 (etcd) S 179 379 379 0 -1 4194560 8379 0 5 0 45 25 0 0 20 0 10 0 1595388 1 1 1\n"),
        (
            "proc/379/cgroup",
            "4:memory:/kubepods.slice/e.scope\n3:blkio:/kubepods.slice/e.scope\n2:cpuacct:/kubepods.slice/e.scope\n1:name=systemd:/kubepods.slice/e.scope\n0::/kubepods.slice/e.scope\n",
        ),
        ("proc/379/io", "rchar: 9\nread_bytes: 7\nwrite_bytes: 70\n"),
        ("proc/379/status", "VmHWM:\t    5 kB\nVmRSS:\t    4 kB\nRssAnon:\t    3 kB\n"),
        ("proc/526/comm", "kubelet\n"),
        ("proc/526/stat", "526 (kubelet) S 1 526 526 0 -1 4194560 7734 1899 0 0 9 7 1 0 20 0 11 0 1595882 1 1 1\n"),
        (
            "proc/526/cgroup",
            "4:memory:/system.slice/kubelet.service\n3:blkio:/system.slice\n2:cpuacct:/\n1:name=systemd:/system.slice/kubelet.service\n0::/system.slice/kubelet.service\n",
        ),
        (
            "proc/net/dev",
            "Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo: 3186299 12924 0 0 0 0 0 0 3186299 12924 0 0 0 0 0 0\n  eth0:    1112      12    0    0    0     0          0         0       34       0    0    0    0     0       0          0\n",
        ),
    ];

    /// The same amounts as version 2 has them by the kernel's documentation; no machine with it was at hand.
    const SECOND: &[(&str, &str)] = &[
        ("cg/cgroup.controllers", "cpuset cpu io memory pids\n"),
        ("cg/cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"),
        ("cg/memory.current", "4096\n"),
        ("cg/memory.peak", "8192\n"),
        ("cg/memory.stat", "anon 2048\nfile 2048\ninactive_anon 5\ninactive_file 1024\n"),
        ("cg/io.stat", "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n"),
        ("cg/kubelet.slice/kubepods.slice/e.scope/cpu.stat", "usage_usec 500\n"),
        ("cg/kubelet.slice/kubepods.slice/e.scope/memory.current", "1000\n"),
        ("cg/kubelet.slice/kubepods.slice/e.scope/memory.stat", "anon 600\ninactive_file 300\n"),
        ("proc/379/comm", "etcd\n"),
        ("proc/379/stat", "379 (etcd) S 179 379 379 0 -1 4194560 8379 0 5 0 45 25 0 0 20 0 10 0 1595388 1 1 1\n"),
        ("proc/379/cgroup", "0::/kubelet.slice/kubepods.slice/e.scope\n"),
        ("proc/379/io", "rchar: 9\nread_bytes: 7\nwrite_bytes: 70\n"),
        ("proc/379/status", "VmHWM:\t    5 kB\nVmRSS:\t    4 kB\nRssAnon:\t    3 kB\n"),
        ("proc/net/dev", "a\nb\n    lo: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n  eth0: 1112 1 0 0 0 0 0 0 34 0 0 0 0 0 0 0\n"),
    ];

    fn seen(files: &[(&str, &str)], name: &str) -> (Usage, Option<Usage>) {
        let dir = tree(files);
        let (groups, proc) = (Groups::below(dir.path().join("cg")), Proc::below(dir.path().join("proc")));
        let of = proc.find(&["etcd", "kubelet"]).into_iter().find(|component| component.name == name);
        (groups.node(&proc).expect("usage"), of.map(|of| groups.component(&proc, &of)))
    }

    #[test]
    fn both_versions_give_the_same_units() {
        let node = Usage {
            cpu_us: 1_500,
            memory: 4096,
            memory_peak: 8192,
            rss: 2048,
            working_set: 3072,
            io_read: 11,
            io_write: 20,
            net_received: 1112,
            net_sent: 34,
        };
        // neither has a peak of its own here, and the kernel of the first counts no bytes of disks: the process is asked
        let etcd = Usage {
            cpu_us: 500,
            memory: 1000,
            memory_peak: 5 << 10,
            rss: 600,
            working_set: 700,
            io_read: 7,
            io_write: 70,
            ..Usage::default()
        };
        assert_eq!(seen(FIRST, "etcd"), (node, Some(etcd)));
        assert_eq!(seen(SECOND, "etcd"), (node, Some(etcd)));
    }

    #[test]
    fn a_group_that_is_shared_says_nothing_of_one_component() {
        let kubelet = seen(FIRST, "kubelet").1.expect("it runs");
        assert_eq!(kubelet.cpu_us, 160_000, "by its process: 16 ticks of 10 ms; its group's are the whole node's");
        assert_eq!(kubelet.memory, 3000, "by its own group");
    }

    #[test]
    fn without_control_groups_the_reason_is_told() {
        let dir = tree(&[]);
        let (groups, proc) = (Groups::below(dir.path().join("cg")), Proc::below(dir.path().join("proc")));
        assert!(groups.node(&proc).is_err_and(|e| e.contains("cpuacct.usage")));
        assert_eq!(seen(SECOND, "kubelet").1, None, "what does not run is not found");
    }
}
