//! Programs on this machine: run in a process group of their own, ended with it when a stop comes.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::error::ImageError;
use super::host;
use crate::sys::stop::Stop;

/// Time between asking a program to end and killing it.
const GRACE: Duration = Duration::from_secs(5);
/// How much of what a program wrote an error shows.
const SHOWN_LINES: usize = 20;

/// Whether a program may see the machine's own processes and mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    /// As any program.
    Shared,
    /// Mount and process namespaces of its own: what it mounts and starts ends with it, whatever happens to joinder.
    Own,
}

/// A program to run.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// What for, as a verb phrase.
    pub(crate) op: String,
    /// Program and arguments.
    pub(crate) argv: Vec<String>,
    /// Working folder.
    pub(crate) dir: Option<PathBuf>,
    /// Variables beside the inherited ones.
    pub(crate) env: Vec<(&'static str, String)>,
    /// Its surroundings.
    pub(crate) world: World,
}

impl Task {
    /// A program without anything special.
    pub(crate) fn new(op: impl Into<String>, argv: &[&str]) -> Self {
        let argv = argv.iter().map(|a| (*a).to_owned()).collect();
        Self { op: op.into(), argv, dir: None, env: Vec::new(), world: World::Shared }
    }

    /// The command line with what ties its life to ours.
    fn full(&self) -> Vec<String> {
        let mut full = Vec::new();
        // joinder may be killed: nothing that it started goes on without it
        if host::which("setpriv").is_some() {
            full.extend(["setpriv", "--pdeathsig", "KILL", "--"]);
        }
        if self.world == World::Own && host::which("unshare").is_some() {
            full.extend(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--"]);
        }
        full.into_iter().map(ToOwned::to_owned).chain(self.argv.iter().cloned()).collect()
    }
}

/// Runs a program to its end and returns what it wrote to its standard output.
pub(crate) async fn run(task: &Task, stop: &Stop) -> Result<String, ImageError> {
    let failed = |status: String, said: &str| {
        let lines: Vec<&str> = said.trim_end().lines().collect();
        let said = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
        ImageError::Command { op: task.op.clone(), command: shown(&task.argv), status, said }
    };
    let full = task.full();
    let mut command = Command::new(&full[0]);
    command.args(&full[1..]).envs(task.env.iter().map(|(k, v)| (*k, v.as_str())));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    if let Some(dir) = &task.dir {
        command.current_dir(dir);
    }
    let mut child = command.spawn().map_err(|e| failed(format!("an error before it started: {e}"), ""))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let work = async { tokio::join!(all(out), all(err), child.wait()) };
    let ended = tokio::select! {
        biased;
        () = stop.soft.cancelled() => None,
        ended = work => Some(ended),
    };
    let Some((out, err, status)) = ended else {
        end(&mut child, stop).await;
        return Err(ImageError::Stopped { stage: task.op.clone() });
    };
    let status = status.map_err(|e| failed(format!("an unknown status: {e}"), ""))?;
    if status.success() {
        Ok(out)
    } else {
        // debootstrap and go write what went wrong to either stream
        Err(failed(status.to_string(), if err.trim().is_empty() { &out } else { &err }))
    }
}

/// Asks the whole group to end, then kills it.
async fn end(child: &mut Child, stop: &Stop) {
    let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw) else { return };
    let _ = killpg(group, Signal::SIGTERM);
    tokio::select! {
        () = stop.hard.cancelled() => {}
        _ = timeout(GRACE, child.wait()) => {}
    }
    // children that outlived their parent are still in the group
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait().await;
}

async fn all(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A command line as a person would type it, long arguments shortened.
fn shown(argv: &[String]) -> String {
    let one = |arg: &String| {
        let short: String = if arg.chars().count() > 60 { arg.chars().take(57).chain("...".chars()).collect() } else { arg.clone() };
        if short.contains(' ') { format!("'{short}'") } else { short }
    };
    argv.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_has_the_command_its_status_and_its_words() {
        let task = Task::new("try a thing", &["sh", "-c", "echo out; echo no space left on device >&2; exit 3"]);
        let error = run(&task, &Stop::new()).await.expect_err("it fails").to_string();
        for part in ["try a thing", "`sh -c", "exit status: 3", "no space left on device", "hint: the disk is full"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[tokio::test]
    async fn a_stop_ends_the_whole_group() {
        let stop = Stop::new();
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("pid");
        let script = format!("sleep 300 & echo $! > {}; wait", file.display());
        let task = Task::new("sleep", &["sh", "-c", &script]);
        let stopper = async {
            while std::fs::read_to_string(&file).map_or(true, |t| t.is_empty()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            stop.soft.cancel();
        };
        let (ended, ()) = tokio::join!(run(&task, &stop), stopper);
        assert!(ended.expect_err("stopped").is_stop());
        let pid: i32 = std::fs::read_to_string(&file).expect("written").trim().parse().expect("a number");
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let gone = || stat().is_empty() || stat().contains(") Z ");
        // the signal was sent; on a busy machine its process takes a moment to die of it
        for _ in 0..100 {
            if gone() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(gone(), "{}", stat());
    }
}
