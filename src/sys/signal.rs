//! SIGINT, SIGTERM and SIGHUP become stops: the first is soft, the second hard.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::stop::Stop;

/// Which signal stopped the program first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// SIGINT: exit code 130.
    Interrupt,
    /// SIGTERM or SIGHUP: exit code 143.
    Terminate,
}

/// Turns signals into stops for as long as it is polled. The first signal is kept in `caught`.
///
/// # Errors
/// When the handlers cannot be installed.
pub async fn listen(stop: Stop, caught: watch::Sender<Option<Caught>>) -> std::io::Result<()> {
    let mut int = signal(SignalKind::interrupt())?;
    let mut term = signal(SignalKind::terminate())?;
    let mut hup = signal(SignalKind::hangup())?;
    loop {
        let which = tokio::select! {
            _ = int.recv() => Caught::Interrupt,
            _ = term.recv() => Caught::Terminate,
            _ = hup.recv() => Caught::Terminate,
        };
        caught.send_if_modified(|first| {
            let fresh = first.is_none();
            first.get_or_insert(which);
            fresh
        });
        if stop.soft.is_cancelled() {
            stop.hard.cancel();
        } else {
            stop.soft.cancel();
        }
    }
}
