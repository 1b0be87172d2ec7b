//! An engine that is only read: whatever would change something is told instead, and looks as if it had been done.
//!
//! What uses it cannot touch anything, whatever it does: commands in nodes reach an agent that runs none, files that are written are
//! kept here, for who reads them later.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncBufReadExt, BufReader, duplex};
use tokio::task::JoinSet;

use crate::agent;
use crate::runtime::api::Pipe;
use crate::runtime::{
    Archive, Container, ContainerSpec, Engine, Exec, Fault, Image, Network, NetworkSpec, Runtime, RuntimeError, Tar, Volume,
};

type Result<T> = std::result::Result<T, RuntimeError>;

/// Hears what would be done.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Between host and agent.
const PIPE: usize = 64 * 1024;

/// Wraps an engine.
pub struct Pretend {
    real: Arc<dyn Runtime>,
    tell: Tell,
    /// By container and path.
    written: Mutex<BTreeMap<(String, String), Vec<u8>>>,
    agents: Mutex<JoinSet<()>>,
}

impl Pretend {
    /// `real`, which is only read.
    pub fn new(real: Arc<dyn Runtime>, tell: Tell) -> Self {
        Self { real, tell, written: Mutex::default(), agents: Mutex::default() }
    }

    fn would(&self, what: &str) {
        (self.tell)(what);
    }
}

/// The regular files of an archive.
fn files(tar: &[u8]) -> Vec<(String, Vec<u8>)> {
    use std::io::Read;
    let mut archive = tar::Archive::new(tar);
    let Ok(entries) = archive.entries() else { return Vec::new() };
    let mut files = Vec::new();
    for mut entry in entries.flatten().filter(|entry| entry.header().entry_type().is_file()) {
        let mut bytes = Vec::new();
        let path = entry.path().map(|path| format!("/{}", path.display())).unwrap_or_default();
        if entry.read_to_end(&mut bytes).is_ok() {
            files.push((path, bytes));
        }
    }
    files
}

fn unread(target: &str, error: &std::io::Error) -> RuntimeError {
    RuntimeError { op: "read", target: target.to_owned(), said: error.to_string(), fault: Fault::Other }
}

/// What is shown of a file: kubeadm's documents whole, of others how long they are.
fn shown(path: &str, bytes: &[u8]) -> String {
    if path == super::path::KUBEADM_CONFIG {
        let text = String::from_utf8_lossy(bytes);
        return format!("\n    {}", text.trim_end().replace('\n', "\n    "));
    }
    format!(" ({} bytes)", bytes.len())
}

#[async_trait]
impl Runtime for Pretend {
    async fn engine(&self) -> Result<Engine> {
        self.real.engine().await
    }

    async fn containers(&self, labels: &[String]) -> Result<Vec<Container>> {
        self.real.containers(labels).await
    }

    async fn container(&self, name: &str) -> Result<Container> {
        self.real.container(name).await
    }

    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        self.would(&format!("make container {}", spec.name));
        Ok(())
    }

    async fn start(&self, name: &str) -> Result<()> {
        self.would(&format!("start container {name}"));
        Ok(())
    }

    async fn signal(&self, name: &str, signal: &str) -> Result<()> {
        self.would(&format!("{name}: send {signal} to its first process"));
        Ok(())
    }

    async fn stop(&self, name: &str, _: Duration) -> Result<()> {
        self.would(&format!("stop container {name}"));
        Ok(())
    }

    async fn pause(&self, name: &str) -> Result<()> {
        self.would(&format!("pause container {name}"));
        Ok(())
    }

    async fn resume(&self, name: &str) -> Result<()> {
        self.would(&format!("resume container {name}"));
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<()> {
        self.would(&format!("remove container {name}"));
        Ok(())
    }

    async fn logs(&self, name: &str, lines: usize) -> Result<String> {
        self.real.logs(name, lines).await
    }

    async fn put(&self, name: &str, tar: Tar) -> Result<()> {
        let tar = tar.read().map_err(|e| unread(name, &e))?;
        for (path, bytes) in files(&tar) {
            self.would(&format!("{name}: write {path}{}", shown(&path, &bytes)));
            self.written.lock().unwrap_or_else(PoisonError::into_inner).insert((name.to_owned(), path), bytes);
        }
        Ok(())
    }

    async fn get(&self, name: &str, path: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        let kept = self.written.lock().unwrap_or_else(PoisonError::into_inner).get(&(name.to_owned(), path.to_owned())).cloned();
        let Some(bytes) = kept else { return self.real.get(name, path, to).await };
        let mut archive = Archive::default();
        let packed = archive.file(path, 0o600, &bytes).map(drop).and_then(|()| archive.finish());
        let written = packed.and_then(Tar::read).and_then(|tar| to.write_all(&tar).map(|()| tar.len() as u64));
        written.map_err(|e| unread(&format!("{name}:{path}"), &e))
    }

    /// Only agents are started: they are the way to run something in a node.
    async fn exec(&self, name: &str, argv: &[String]) -> Result<Exec> {
        if argv.first().is_none_or(|program| program != agent::PATH) {
            self.would(&format!("{name}: run {}", argv.join(" ")));
            return Ok(Exec { id: name.to_owned(), input: Box::pin(tokio::io::sink()), output: stream::empty().boxed() });
        }
        let ((input, requests), (replies, output)) = (duplex(PIPE), duplex(PIPE));
        let (tell, name) = (self.tell.clone(), name.to_owned());
        let id = name.clone();
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).spawn(async move {
            let told = |argv: &[String]| tell(&format!("{name}: run {}", crate::sys::shell::line(argv)));
            // it ends with the connection
            let _ = agent::pretend(requests, replies, told).await;
        });
        let pieces = stream::unfold(BufReader::new(output).split(b'\n'), async |mut lines| {
            let mut line = lines.next_segment().await.ok()??;
            line.push(b'\n');
            Some((Ok((Pipe::Out, Bytes::from(line))), lines))
        });
        Ok(Exec { id, input: Box::pin(input), output: pieces.boxed() })
    }

    async fn exec_code(&self, _: &str) -> Result<Option<i64>> {
        Ok(Some(0))
    }

    async fn networks(&self, labels: &[String]) -> Result<Vec<Network>> {
        self.real.networks(labels).await
    }

    async fn create_network(&self, spec: &NetworkSpec) -> Result<()> {
        self.would(&format!("make network {}", spec.name));
        Ok(())
    }

    async fn remove_network(&self, name: &str) -> Result<()> {
        self.would(&format!("remove network {name}"));
        Ok(())
    }

    async fn volumes(&self, labels: &[String]) -> Result<Vec<Volume>> {
        self.real.volumes(labels).await
    }

    async fn remove_volume(&self, name: &str) -> Result<()> {
        self.would(&format!("remove volume {name}"));
        Ok(())
    }

    async fn images(&self, labels: &[String]) -> Result<Vec<Image>> {
        self.real.images(labels).await
    }

    async fn image(&self, name: &str) -> Result<Option<Image>> {
        self.real.image(name).await
    }

    async fn load(&self, archive: &Path) -> Result<String> {
        self.would(&format!("load {}", archive.display()));
        Ok(String::new())
    }

    async fn build(&self, name: &str, _context: Tar) -> Result<()> {
        self.would(&format!("build image {name}"));
        Ok(())
    }

    async fn pull(&self, name: &str) -> Result<()> {
        self.would(&format!("pull image {name}"));
        Ok(())
    }

    async fn save(&self, name: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        self.real.save(name, to).await
    }

    async fn remove_image(&self, name: &str) -> Result<()> {
        self.would(&format!("remove image {name}"));
        Ok(())
    }
}
