//! A node that ends and starts again, as a machine does.

use std::time::Duration;

use super::boot::{BootLimits, Node, NodeError, Role};
use crate::sys::wait::{Look, Patience, wait};

impl Node {
    /// Ends the container, starts it again, and waits until containerd and the agent answer. With a `grace` it is asked to end
    /// and killed after it; without one it is killed at once. Returns how it ended, in words: `has exited with code 137`.
    ///
    /// # Errors
    /// The engine's, or [`NodeError::Boot`]; the container may then be down.
    pub async fn restart(&self, grace: Option<Duration>, limits: &BootLimits) -> Result<String, NodeError> {
        let how = self.end(grace, limits).await?;
        self.begin(limits).await?;
        Ok(how)
    }

    /// Ends the container as [`Node::restart`] does, and leaves it down.
    ///
    /// # Errors
    /// As [`Node::restart`].
    pub async fn end(&self, grace: Option<Duration>, limits: &BootLimits) -> Result<String, NodeError> {
        match grace {
            Some(grace) => self.runtime.stop(&self.name, grace).await?,
            None => self.runtime.signal(&self.name, "SIGKILL").await?,
        }
        // A start that comes before the end has been noticed is no start.
        let patience = Patience { limit: limits.containerd, every: Duration::from_millis(50), stop: limits.stop.clone() };
        let ended = wait(format!("end of container {}", self.name), &patience, || async {
            match self.trouble().await {
                Ok(Some(how)) => Look::Done(how),
                Ok(None) => Look::NotYet("it still runs".into()),
                Err(e) => Look::Never(e.to_string()),
            }
        });
        ended.await.map_err(|wait| NodeError::Boot { wait, log: String::new() })
    }

    /// Starts a container that has ended, and waits until containerd and the agent answer.
    ///
    /// # Errors
    /// As [`Node::restart`].
    pub async fn begin(&self, limits: &BootLimits) -> Result<(), NodeError> {
        self.runtime.start(&self.name).await?;
        self.renew(limits.containerd).await?;
        if self.role == Role::Etcd {
            return Ok(());
        }
        self.until_containerd(limits).await
    }

    /// Freezes all that runs in it.
    ///
    /// # Errors
    /// The engine's.
    pub async fn pause(&self) -> Result<(), NodeError> {
        Ok(self.runtime.pause(&self.name).await?)
    }

    /// Lets it run on.
    ///
    /// # Errors
    /// The engine's.
    pub async fn resume(&self) -> Result<(), NodeError> {
        Ok(self.runtime.resume(&self.name).await?)
    }
}
