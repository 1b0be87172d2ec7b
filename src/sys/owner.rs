//! Who made something: a process id with its start time, so that a recycled id is not taken for its owner.

use std::fmt;
use std::str::FromStr;

/// A process on this machine: `PID@STARTTIME`, the start time in clock ticks since boot (`/proc/PID/stat`, field 22),
/// followed by `@BOOT`, the first eight digits of the kernel's boot id, since both numbers start anew with a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pid: u32,
    start: u64,
    boot: String,
}

impl Owner {
    /// This process.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self { pid, start: start_time(pid).unwrap_or(0), boot: boot_id() }
    }

    /// Does that very process still run on this machine?
    pub fn is_alive(&self) -> bool {
        self.boot == boot_id() && start_time(self.pid) == Some(self.start)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}@{}", self.pid, self.start, self.boot)
    }
}

impl FromStr for Owner {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('@');
        let mut next = || parts.next().ok_or_else(|| format!("owner {text:?} is not PID@STARTTIME@BOOT"));
        let (pid, start, boot) = (next()?, next()?, next()?);
        let number = |part: &str| part.parse::<u64>().map_err(|e| format!("owner {text:?}: {part:?}: {e}"));
        let pid = u32::try_from(number(pid)?).map_err(|e| format!("owner {text:?}: {e}"))?;
        Ok(Self { pid, start: number(start)?, boot: boot.to_owned() })
    }
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().chars().take(8).collect()
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses and may hold spaces and parentheses itself.
    let after = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = after.split_whitespace().collect();
    // A zombie has ended; only its parent has not asked yet.
    (*fields.first()? != "Z").then(|| fields.get(19)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_a_recycled_id_does_not() {
        let me = Owner::current();
        assert!(me.is_alive());
        assert_eq!(me.to_string().parse::<Owner>(), Ok(me.clone()));
        assert!(!Owner { start: me.start + 1, ..me.clone() }.is_alive());
        assert!(!Owner { boot: "other".into(), ..me }.is_alive());
        assert!("12".parse::<Owner>().is_err());
    }
}
