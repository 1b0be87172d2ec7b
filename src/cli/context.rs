//! What every verb needs: the engine, and a stop that listens to signals.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::runtime::deadline::{Deadline, Limits};
use crate::runtime::docker::DockerEngine;
use crate::runtime::{Runtime, RuntimeError};
use crate::sys::signal::{Caught, listen};
use crate::sys::stop::Stop;

/// The engine, each call limited.
pub(super) async fn engine() -> Result<Arc<dyn Runtime>, RuntimeError> {
    let docker = Arc::new(DockerEngine::connect().await?);
    Ok(Arc::new(Deadline::new(docker, Limits::default())))
}

/// A stop that the first and second signal set.
pub(super) struct Signals {
    pub(super) stop: Stop,
    caught: watch::Receiver<Option<Caught>>,
    /// Ends with this.
    _listener: JoinSet<std::io::Result<()>>,
}

impl Signals {
    pub(super) fn listen() -> Self {
        let stop = Stop::new();
        let (tx, caught) = watch::channel(None);
        let mut listener = JoinSet::new();
        listener.spawn(listen(stop.clone(), tx));
        Self { stop, caught, _listener: listener }
    }

    /// The first signal.
    pub(super) fn caught(&self) -> Option<Caught> {
        *self.caught.borrow()
    }
}
