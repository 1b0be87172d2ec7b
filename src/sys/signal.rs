//! SIGINT, SIGTERM and SIGHUP become stops: the first is soft, the second hard. A SIGHUP is never the second: a terminal that is
//! closed sends it twice, once by its shell.

use tokio::signal::unix::{Signal, SignalKind, signal};
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

/// Handlers that are in place: from now on a signal ends the program only through [`Handlers::listen`].
pub struct Handlers {
    int: Signal,
    term: Signal,
    hup: Signal,
}

impl Handlers {
    /// Puts them in place, before anything is begun that a signal should end in order.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn install() -> std::io::Result<Self> {
        Ok(Self { int: signal(SignalKind::interrupt())?, term: signal(SignalKind::terminate())?, hup: signal(SignalKind::hangup())? })
    }

    /// Turns signals into stops for as long as it is polled. The first signal is kept in `caught`.
    pub async fn listen(self, stop: Stop, caught: watch::Sender<Option<Caught>>) {
        let Self { mut int, mut term, mut hup } = self;
        loop {
            let (which, again) = tokio::select! {
                _ = int.recv() => (Caught::Interrupt, true),
                _ = term.recv() => (Caught::Terminate, true),
                _ = hup.recv() => (Caught::Terminate, false),
            };
            caught.send_if_modified(|first| {
                let fresh = first.is_none();
                first.get_or_insert(which);
                fresh
            });
            if !stop.soft.is_cancelled() {
                stop.soft.cancel();
            } else if again && stop.hard.is_cancelled() {
                stop.last.cancel();
            } else if again {
                stop.hard.cancel();
            }
        }
    }
}
