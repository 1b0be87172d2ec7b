//! What every verb needs: the engine, and a stop that listens to signals.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::diag;
use super::exit::Exit;
use crate::runtime::deadline::{Deadline, Limits, limited};
use crate::runtime::docker::DockerEngine;
use crate::runtime::{Engine, Fault, Runtime, RuntimeError};
use crate::sys::signal::{Caught, Handlers};
use crate::sys::stop::Stop;

/// The engine, each call limited, the first one too.
pub(super) async fn engine() -> Result<Arc<dyn Runtime>, RuntimeError> {
    let limits = Limits::default();
    let docker = limited(limits.short, "reach", "the container engine", DockerEngine::connect()).await?;
    Ok(Arc::new(Deadline::new(Arc::new(docker), limits)))
}

/// A stop that the first and second signal set.
pub(super) struct Signals {
    pub(super) stop: Stop,
    caught: watch::Receiver<Option<Caught>>,
    /// Ends with this.
    _listener: JoinSet<()>,
}

impl Signals {
    pub(super) fn listen() -> Self {
        let stop = Stop::new();
        let (tx, caught) = watch::channel(None);
        let mut listener = JoinSet::new();
        match Handlers::install() {
            Ok(handlers) => drop(listener.spawn(handlers.listen(stop.clone(), tx))),
            Err(e) => diag::say(&format!("warning: signals cannot be listened to, Ctrl-C will leave things behind: {e}")),
        }
        Self { stop, caught, _listener: listener }
    }

    /// The engine and what it says of itself, unless a signal comes first.
    pub(super) async fn engine(&self) -> Result<(Arc<dyn Runtime>, Engine), RuntimeError> {
        let reach = async {
            let runtime = engine().await?;
            let about = runtime.engine().await?;
            Ok((runtime, about))
        };
        tokio::select! {
            biased;
            () = self.stop.soft.cancelled() => Err(RuntimeError {
                op: "reach",
                target: "the container engine".into(),
                said: "stopped".into(),
                fault: Fault::Other,
            }),
            reached = reach => reached,
        }
    }

    /// What an error comes to: a signal's code where one was caught, else `exit`.
    pub(super) fn or(&self, exit: Exit) -> Exit {
        self.caught().map_or(exit, Exit::Signal)
    }

    /// The first signal.
    pub(super) fn caught(&self) -> Option<Caught> {
        *self.caught.borrow()
    }
}
