//! The first process of a container without a system: waits, and takes up what others have left.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::sys::wait::{Look, Patience, wait};

/// How long the others may take to end; the engine kills after 10 s.
const GRACE: Duration = Duration::from_secs(8);
const GLANCE: Duration = Duration::from_millis(20);

/// Waits until it is asked to end, then asks all others to end too.
///
/// # Errors
/// When signals cannot be listened to.
pub async fn idle() -> std::io::Result<()> {
    let (mut child, mut end) = (signal(SignalKind::child())?, signal(SignalKind::terminate())?);
    loop {
        tokio::select! {
            _ = child.recv() => drop(reap()),
            _ = end.recv() => break,
        }
    }
    if std::process::id() == 1 {
        // all that this process can see, but not itself
        let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
    }
    let patience = Patience { limit: GRACE, every: GLANCE, stop: CancellationToken::new() };
    let _ = wait("end of all others", &patience, || async { if reap() { Look::NotYet(String::new()) } else { Look::Done(()) } }).await;
    Ok(())
}

/// Takes up all children that have ended; are there others?
fn reap() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Err(Errno::ECHILD) => return false,
            Ok(
                WaitStatus::Exited(..)
                | WaitStatus::Signaled(..)
                | WaitStatus::Stopped(..)
                | WaitStatus::PtraceEvent(..)
                | WaitStatus::PtraceSyscall(_)
                | WaitStatus::Continued(_),
            )
            | Err(_) => {}
        }
    }
}
