//! What a program leaves running: found in `/proc` by its process group and by a mark in its environment.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable that marks all that a program starts, whatever it does to its group, session and parent.
pub(super) const MARK: &str = "JOINDER_TASK";
/// How much of a command line is shown.
const SHOWN: usize = 120;

/// Where to look for what belongs to one program.
#[derive(Clone, Debug)]
pub(super) struct Kin {
    /// The program's own id, and its group's.
    pub(super) leader: i32,
    /// The value of [`MARK`]; empty where only the group counts.
    pub(super) mark: String,
}

impl Kin {
    /// All that runs now and belongs to the program, the program itself left out. A zombie does not run: only its parent
    /// has not asked for it yet.
    pub(super) fn others(&self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| *pid != self.leader && self.owns(*pid)).collect()
    }

    /// Those of them that have left the group.
    pub(super) fn outside(&self) -> Vec<i32> {
        self.others().into_iter().filter(|pid| group_of(*pid) != Some(self.leader)).collect()
    }

    fn owns(&self, pid: i32) -> bool {
        group_of(pid).is_some_and(|group| group == self.leader || self.marked(pid))
    }

    /// Other users' processes cannot be read, and are none of ours.
    fn marked(&self, pid: i32) -> bool {
        if self.mark.is_empty() {
            return false;
        }
        let wanted = format!("{MARK}={}", self.mark);
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|all| all.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
    }
}

/// The group of a process that runs.
fn group_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses and may hold spaces and parentheses itself.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(group)
}

/// Sends a signal to processes that were found just before.
pub(super) fn signal(pids: &[i32], signal: Signal) {
    for pid in pids {
        let _ = kill(Pid::from_raw(*pid), signal);
    }
}

/// `4711 (sleep 100)`.
pub(super) fn named(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<String> =
        line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let mut text = words.join(" ");
    if let Some((at, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(at);
        text.push('…');
    }
    format!("{pid} ({text})")
}
