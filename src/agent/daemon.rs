//! Processes that outlive the agent: started and left to the container's first process, found again by their name.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::proc::{Component, Proc};
use crate::sys::wait::{Look, Patience, wait};

/// etcd hands its leadership over before it ends, which may take some seconds.
const END: Duration = Duration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(10);

/// Starts a process in a group of its own, with both its outputs behind the end of `log`.
pub(super) fn spawn(argv: &[String], env: &BTreeMap<String, String>, log: &str) -> Result<(), String> {
    let (program, args) = argv.split_first().ok_or("no program named")?;
    let told = |e: std::io::Error| format!("{log}: {e}");
    if let Some(dir) = Path::new(log).parent() {
        fs::create_dir_all(dir).map_err(told)?;
    }
    let out = OpenOptions::new().create(true).append(true).open(log).map_err(told)?;
    let err = out.try_clone().map_err(told)?;
    let mut command = Command::new(program);
    command.args(args).envs(env).process_group(0).stdin(Stdio::null()).stdout(out).stderr(err).kill_on_drop(false);
    // whoever looks for it finds it by its name; its end is waited for by the runtime, or by the first process
    command.spawn().map(drop).map_err(|e| format!("cannot start {program}: {e}"))
}

/// The oldest process of a name that has not ended.
pub(super) fn find(program: &str) -> Result<Component, String> {
    let found = Proc::of_node().find(&[program]).into_iter().next();
    found.ok_or_else(|| format!("{program} does not run"))
}

/// Ends the oldest process of a name, and waits until it is gone.
pub(super) async fn end(program: &str, by_kill: bool, stop: &CancellationToken) -> Result<(), String> {
    let (proc, component) = (Proc::of_node(), find(program)?);
    let signal = if by_kill { Signal::SIGKILL } else { Signal::SIGTERM };
    let pid = Pid::from_raw(i32::try_from(component.pid).map_err(|e| e.to_string())?);
    kill(pid, signal).map_err(|e| format!("{program}: {e}"))?;
    let patience = Patience { limit: END, every: GLANCE, stop: stop.clone() };
    let gone = wait(format!("end of {program}"), &patience, || async {
        if proc.runs(&component) { Look::NotYet("it still runs".into()) } else { Look::Done(()) }
    });
    gone.await.map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_is_started_found_and_ended() {
        let dir = tempfile::tempdir().expect("a folder");
        // a name that no other process has
        let name = format!("jd{}", std::process::id());
        std::os::unix::fs::symlink("/bin/sleep", dir.path().join(&name)).expect("linked");
        let log = dir.path().join("logs/x.log").display().to_string();
        assert_eq!(find(&name).err(), Some(format!("{name} does not run")));
        spawn(&[dir.path().join(&name).display().to_string(), "100".into()], &BTreeMap::new(), &log).expect("started");
        // the kernel lets a spawn return before it gives the new process its name
        let patience = Patience { limit: Duration::from_secs(20), every: GLANCE, stop: CancellationToken::new() };
        wait("its name", &patience, || async { find(&name).map_or_else(Look::NotYet, Look::Done) }).await.expect("in time");
        end(&name, false, &CancellationToken::new()).await.expect("ended");
        assert!(find(&name).is_err());
        let no = spawn(&["/no/such/program".into()], &BTreeMap::new(), &log).expect_err("not there");
        assert!(no.starts_with("cannot start /no/such/program"), "{no}");
    }

    #[tokio::test]
    async fn what_it_writes_is_behind_the_end_of_the_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("x.log");
        std::fs::write(&log, "before\n").expect("written");
        let argv = ["sh", "-c", "echo $WORD; echo err >&2"].map(str::to_owned);
        spawn(&argv, &BTreeMap::from([("WORD".into(), "out".into())]), &log.display().to_string()).expect("started");
        let patience = Patience { limit: Duration::from_secs(20), every: GLANCE, stop: CancellationToken::new() };
        let all = wait("both lines", &patience, || async {
            match std::fs::read_to_string(&log).expect("there") {
                text if text.ends_with("err\n") => Look::Done(text),
                text => Look::NotYet(text),
            }
        });
        assert_eq!(all.await.expect("in time"), "before\nout\nerr\n");
    }
}
