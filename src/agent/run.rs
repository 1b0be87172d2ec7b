//! One process in its own group: its lines, its end, and the end of all that it started.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::protocol::{Pipe, Said};
use super::serve::Answers;
use crate::sys::clock::Stamp;
use crate::sys::process::Lines;
use crate::sys::wait::{Look, Patience, wait};

/// How long output may go on after the process has ended: a child that it left behind may hold the pipe for ever.
const DRAIN: Duration = Duration::from_secs(1);
/// Between two looks at a group that was asked to end.
const GLANCE: Duration = Duration::from_millis(20);

pub(super) async fn run(
    argv: &[String],
    env: &BTreeMap<String, String>,
    answers: &Answers,
    stop: &CancellationToken,
    grace: Duration,
) -> Said {
    let Some((program, args)) = argv.split_first() else {
        return Said::Failed { why: "no program named".into() };
    };
    let mut command = Command::new(program);
    command.args(args).envs(env).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return Said::Failed { why: format!("cannot start {program}: {e}") },
    };
    let pid = child.id().unwrap_or(0);
    answers.say(Said::Started { pid });
    let mut readers = JoinSet::new();
    if let Some(out) = child.stdout.take() {
        readers.spawn(forward(out, Pipe::Out, answers.clone()));
    }
    if let Some(err) = child.stderr.take() {
        readers.spawn(forward(err, Pipe::Err, answers.clone()));
    }
    let status = tokio::select! {
        status = child.wait() => status,
        () = stop.cancelled() => end_group(&mut child, pid, grace).await,
    };
    let _ = timeout(DRAIN, async { while readers.join_next().await.is_some() {} }).await;
    match status {
        Ok(status) => Said::Exited { code: status.code(), signal: status.signal() },
        Err(e) => Said::Failed { why: format!("lost sight of {program}: {e}") },
    }
}

/// TERM to the whole group, and KILL to what is left of it after `grace`: also children that outlive the process.
async fn end_group(child: &mut Child, pid: u32, grace: Duration) -> std::io::Result<std::process::ExitStatus> {
    let group = Pid::from_raw(i32::try_from(pid).unwrap_or(0));
    // Group 0 would be the agent's own.
    if group.as_raw() > 0 {
        let end = Instant::now() + grace;
        let _ = killpg(group, Signal::SIGTERM);
        let ended = timeout_at(end, child.wait()).await;
        let patience = Patience { limit: end - Instant::now(), every: GLANCE, stop: CancellationToken::new() };
        let empty = wait("end of the process group", &patience, || async {
            match killpg(group, None) {
                Err(Errno::ESRCH) => Look::Done(()),
                Ok(()) | Err(_) => Look::NotYet(String::new()),
            }
        });
        if empty.await.is_err() {
            let _ = killpg(group, Signal::SIGKILL);
        }
        if let Ok(status) = ended {
            return status;
        }
    }
    child.wait().await
}

async fn forward(mut from: impl AsyncRead + Unpin, pipe: Pipe, answers: Answers) {
    let mut lines = Lines::default();
    let mut piece = vec![0; 16 * 1024];
    let say = |text, more| answers.say(Said::Line { pipe, seen: Stamp::now(), text, more });
    while let Ok(n) = from.read(&mut piece).await {
        if n == 0 {
            break;
        }
        lines.feed(&piece[..n], say);
    }
    lines.end(say);
}
