//! A limit on every engine call, so that a hanging engine is an error and not a hanging program.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use super::api::{Container, ContainerSpec, Engine, Exec, Image, Network, NetworkSpec, Runtime, Volume};
use super::archive::Tar;
use super::error::{Fault, Result, RuntimeError};
use crate::sys::clock::human;

/// Limits by what a call may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Questions and small changes.
    pub short: Duration,
    /// Making, starting and removing containers on a loaded machine.
    pub long: Duration,
    /// Moving archives and images.
    pub bulk: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { short: Duration::from_secs(30), long: Duration::from_mins(2), bulk: Duration::from_mins(30) }
    }
}

/// Wraps an engine.
pub struct Deadline {
    inner: Arc<dyn Runtime>,
    limits: Limits,
    /// Calls that make something and were not answered, or not yet.
    unanswered: AtomicUsize,
}

impl Deadline {
    /// `inner`, each call limited.
    pub fn new(inner: Arc<dyn Runtime>, limits: Limits) -> Self {
        Self { inner, limits, unanswered: AtomicUsize::new(0) }
    }

    /// A call that makes something. One that is given up on, here or by who asked, stays counted.
    async fn making(&self, op: &'static str, target: &str, call: impl Future<Output = Result<()>>) -> Result<()> {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        let made = limited(self.limits.long, op, target, call).await;
        if !made.as_ref().is_err_and(|e| e.is(Fault::Late)) {
            self.unanswered.fetch_sub(1, Ordering::Relaxed);
        }
        made
    }
}

/// `call`, cut off at `limit` as [`Fault::Late`].
///
/// # Errors
/// Those of the call, and that one.
pub async fn limited<T>(limit: Duration, op: &'static str, target: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, call).await.unwrap_or_else(|_| {
        Err(RuntimeError {
            op,
            target: target.to_owned(),
            said: format!("no answer from the engine in {}", human(limit)),
            fault: Fault::Late,
        })
    })
}

#[async_trait]
impl Runtime for Deadline {
    fn owes(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) > 0
    }

    async fn engine(&self) -> Result<Engine> {
        limited(self.limits.short, "reach", "the container engine", self.inner.engine()).await
    }
    async fn containers(&self, labels: &[String]) -> Result<Vec<Container>> {
        limited(self.limits.short, "list containers with", &labels.join(" "), self.inner.containers(labels)).await
    }
    async fn container(&self, name: &str) -> Result<Container> {
        limited(self.limits.short, "inspect container", name, self.inner.container(name)).await
    }
    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        self.making("create container", &spec.name, self.inner.create(spec)).await
    }
    async fn start(&self, name: &str) -> Result<()> {
        limited(self.limits.long, "start container", name, self.inner.start(name)).await
    }
    async fn signal(&self, name: &str, signal: &str) -> Result<()> {
        limited(self.limits.short, "signal container", name, self.inner.signal(name, signal)).await
    }
    async fn stop(&self, name: &str, grace: Duration) -> Result<()> {
        limited(self.limits.long + grace, "stop container", name, self.inner.stop(name, grace)).await
    }
    async fn pause(&self, name: &str) -> Result<()> {
        limited(self.limits.short, "pause container", name, self.inner.pause(name)).await
    }
    async fn resume(&self, name: &str) -> Result<()> {
        limited(self.limits.short, "resume container", name, self.inner.resume(name)).await
    }
    async fn remove(&self, name: &str) -> Result<()> {
        limited(self.limits.long, "remove container", name, self.inner.remove(name)).await
    }
    async fn logs(&self, name: &str, lines: usize) -> Result<String> {
        limited(self.limits.short, "read the log of container", name, self.inner.logs(name, lines)).await
    }
    async fn put(&self, name: &str, tar: Tar) -> Result<()> {
        limited(self.limits.bulk, "write files into container", name, self.inner.put(name, tar)).await
    }
    async fn get(&self, name: &str, path: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        limited(self.limits.bulk, "read files from container", name, self.inner.get(name, path, to)).await
    }
    async fn exec(&self, name: &str, argv: &[String]) -> Result<Exec> {
        limited(self.limits.short, "run a command in container", name, self.inner.exec(name, argv)).await
    }
    async fn exec_code(&self, id: &str) -> Result<Option<i64>> {
        limited(self.limits.short, "inspect exec", id, self.inner.exec_code(id)).await
    }
    async fn networks(&self, labels: &[String]) -> Result<Vec<Network>> {
        limited(self.limits.short, "list networks with", &labels.join(" "), self.inner.networks(labels)).await
    }
    async fn create_network(&self, spec: &NetworkSpec) -> Result<()> {
        self.making("create network", &spec.name, self.inner.create_network(spec)).await
    }
    async fn remove_network(&self, name: &str) -> Result<()> {
        limited(self.limits.long, "remove network", name, self.inner.remove_network(name)).await
    }
    async fn volumes(&self, labels: &[String]) -> Result<Vec<Volume>> {
        limited(self.limits.short, "list volumes with", &labels.join(" "), self.inner.volumes(labels)).await
    }
    async fn remove_volume(&self, name: &str) -> Result<()> {
        limited(self.limits.long, "remove volume", name, self.inner.remove_volume(name)).await
    }
    async fn images(&self, labels: &[String]) -> Result<Vec<Image>> {
        limited(self.limits.short, "list images with", &labels.join(" "), self.inner.images(labels)).await
    }
    async fn image(&self, name: &str) -> Result<Option<Image>> {
        limited(self.limits.short, "inspect image", name, self.inner.image(name)).await
    }
    async fn load(&self, archive: &Path) -> Result<String> {
        limited(self.limits.bulk, "load image archive", &archive.display().to_string(), self.inner.load(archive)).await
    }
    async fn build(&self, name: &str, context: Tar) -> Result<()> {
        limited(self.limits.bulk, "build image", name, self.inner.build(name, context)).await
    }
    async fn pull(&self, name: &str) -> Result<()> {
        limited(self.limits.bulk, "pull image", name, self.inner.pull(name)).await
    }
    async fn save(&self, name: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        limited(self.limits.bulk, "save image", name, self.inner.save(name, to)).await
    }
    async fn remove_image(&self, name: &str) -> Result<()> {
        limited(self.limits.long, "remove image", name, self.inner.remove_image(name)).await
    }
}
