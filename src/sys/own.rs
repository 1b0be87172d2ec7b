//! What this process itself has used.

use std::fmt;
use std::fs::read_to_string;
use std::time::Duration;

use super::clock::human;

/// Ticks of `/proc/self/stat`: Linux fixes `USER_HZ` at 100.
const TICK: Duration = Duration::from_millis(10);

/// Used since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// CPU time.
    pub cpu: Duration,
    /// The most memory that was resident, in bytes.
    pub memory: u64,
}

impl Cost {
    /// Until now; `None` where there is no `/proc`.
    pub fn until_now() -> Option<Self> {
        Self::read(&read_to_string("/proc/self/stat").ok()?, &read_to_string("/proc/self/status").ok()?)
    }

    fn read(stat: &str, status: &str) -> Option<Self> {
        // the name in brackets may hold spaces
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let memory = peak.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10;
        Some(Self { cpu: TICK * ticks, memory })
    }

    /// In words, over the time that it took.
    pub fn over(self, took: Duration) -> Shown {
        Shown { cost: self, took }
    }
}

/// A cost as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    cost: Cost,
    took: Duration,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cost, took } = self;
        let share = 100.0 * cost.cpu.as_secs_f64() / took.as_secs_f64().max(f64::MIN_POSITIVE);
        write!(f, "{} of CPU time, {share:.1} % of a core, and at most {} MiB of memory", human(cost.cpu), cost.memory >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_and_shown() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 8379 0 5 0 45 25 0 0 20 0 10 0 1595388 1 1";
        let cost = Cost::read(stat, "Name:\ta\nVmHWM:\t   31744 kB\n").expect("read");
        assert_eq!(cost, Cost { cpu: Duration::from_millis(700), memory: 31 << 20 });
        let shown = cost.over(Duration::from_secs(35)).to_string();
        assert_eq!(shown, "700ms of CPU time, 2.0 % of a core, and at most 31 MiB of memory");
        assert_eq!(Cost::read("", ""), None);
    }

    #[test]
    fn this_process_has_used_something() {
        assert!(Cost::until_now().is_some_and(|cost| cost.memory > 1 << 20));
    }
}
