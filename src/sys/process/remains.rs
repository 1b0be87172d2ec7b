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

    fn owns(&self, pid: i32) -> bool {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        // The second field is the command in parentheses and may hold spaces and parentheses itself.
        let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
        let mut fields = fields.split(' ');
        let (state, group) = (fields.next(), fields.nth(1).and_then(|group| group.parse::<i32>().ok()));
        !matches!(state, Some("Z" | "X")) && (group == Some(self.leader) || self.marked(pid))
    }

    /// Other users' processes cannot be read, and are none of ours.
    fn marked(&self, pid: i32) -> bool {
        if self.mark.is_empty() {
            return false;
        }
        let wanted = format!("{MARK}={}", self.mark);
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|all| all.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()))
    }

    /// Sends a signal to the others, each found just before.
    pub(super) fn signal(&self, signal: Signal) {
        for pid in self.others() {
            let _ = kill(Pid::from_raw(pid), signal);
        }
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
