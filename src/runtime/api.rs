//! The engine calls that joinder needs, and the plain types they speak.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use tokio::io::AsyncWrite;

use super::archive::Tar;
use super::error::Result;
use super::label::Labels;

/// The engine, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Name and version, `Docker 20.10.24`.
    pub name: String,
    /// API version in use, `1.41`.
    pub api: String,
    /// `1` or `2`.
    pub cgroup_version: String,
    /// The architecture of its containers in Go's words, `amd64`.
    pub arch: String,
    /// The machine that it runs on.
    pub host: Host,
}

/// The machine that an engine runs on, as the engine tells it. Empty, or 0, where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The kernel's release.
    pub kernel: String,
    /// The folder that it stores images, containers and volumes in.
    pub store: String,
    /// `cgroupfs`, `systemd` or `none`.
    pub cgroup_driver: String,
    /// Does it run without root's rights?
    pub rootless: bool,
    /// The process that listens on its socket, where this machine has it.
    pub pid: Option<i32>,
}

impl Engine {
    /// In one line.
    pub fn describe(&self) -> String {
        format!("{} (API {}, cgroup v{})", self.name, self.api, self.cgroup_version)
    }
}

/// A container to make. Nothing is implied: what is not listed is the engine's default.
#[derive(Clone, Debug, Default)]
pub struct ContainerSpec {
    /// Name and host name.
    pub name: String,
    /// Image name or id.
    pub image: String,
    /// Replaces the image's entry point when not empty.
    pub entrypoint: Vec<String>,
    /// Arguments behind the entry point.
    pub cmd: Vec<String>,
    /// `NAME=value`.
    pub env: Vec<String>,
    /// Labels of the container and of its anonymous volumes.
    pub labels: Labels,
    /// Linux capabilities to add, without the `CAP_` prefix.
    pub capabilities: Vec<String>,
    /// Run without seccomp, `AppArmor`, masked and read-only paths, with all devices allowed and a private cgroup
    /// namespace. Still not `--privileged`.
    pub unconfined: bool,
    /// Device nodes to pass in, same path inside.
    pub devices: Vec<String>,
    /// Paths that get a tmpfs.
    pub tmpfs: Vec<String>,
    /// Paths that get an anonymous volume, which is removed with the container.
    pub volumes: Vec<String>,
    /// Folders of the engine's machine that are seen inside, `FROM:TO` or `FROM:TO:ro`.
    pub binds: Vec<String>,
    /// Signal that asks the first process to shut down.
    pub stop_signal: Option<String>,
    /// Network and fixed address.
    pub network: Option<(String, Ipv4Addr)>,
    /// Container port and the port on 127.0.0.1 that leads to it.
    pub ports: BTreeMap<u16, u16>,
}

/// A container that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The engine's own name for it.
    pub id: String,
    /// Its name, without the leading slash.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// Image it was made from, as named then.
    pub image: String,
    /// `created`, `running`, `paused`, `exited`, …
    pub state: String,
    /// Exit code, when it has exited and the engine was asked for one container.
    pub exit_code: Option<i64>,
    /// Address in the first network that has one.
    pub address: Option<Ipv4Addr>,
    /// Ports on the host by port in the container.
    pub ports: BTreeMap<u16, u16>,
}

/// A network to make: a bridge of its own.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// Its name.
    pub name: String,
    /// First three bytes of the /24.
    pub subnet: Subnet,
    /// Labels.
    pub labels: Labels,
}

/// A /24 by its first three bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subnet(pub [u8; 3]);

impl Subnet {
    /// The address with this last byte.
    pub fn host(self, last: u8) -> Ipv4Addr {
        let [a, b, c] = self.0;
        Ipv4Addr::new(a, b, c, last)
    }

    /// The subnet that holds an address.
    pub fn of(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        Self([a, b, c])
    }
}

impl std::fmt::Display for Subnet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/24", self.host(0))
    }
}

/// A network that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// Its first IPv4 subnet in CIDR form.
    pub subnet: Option<String>,
}

/// A volume that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
}

/// An image that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `sha256:…`.
    pub id: String,
    /// `name:tag` forms; empty for a dangling image.
    pub tags: Vec<String>,
    /// Its labels.
    pub labels: Labels,
    /// Bytes on disk.
    pub size: u64,
    /// Seconds since the epoch; 0 where unknown.
    pub created: i64,
}

/// Which of its output streams a process wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A process started in a container. Dropping it does not end the process: the engine has no call for that.
pub struct Exec {
    /// The engine's id of it.
    pub id: String,
    /// Its standard input.
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
    /// What it writes, in pieces that are not lines. Ends when the process ends.
    pub output: BoxStream<'static, Result<(Pipe, Bytes)>>,
}

/// The engine. Each call names what it was about in its error; removing what is not there succeeds.
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Was a call given up on that may yet make something? Only who limits calls can know.
    fn owes(&self) -> bool {
        false
    }

    /// Asks the engine who it is.
    async fn engine(&self) -> Result<Engine>;

    /// Containers, running or not, that carry all these labels (`key` or `key=value`).
    async fn containers(&self, labels: &[String]) -> Result<Vec<Container>>;
    /// One container by name; [`super::Fault::NotFound`] when it is not there.
    async fn container(&self, name: &str) -> Result<Container>;
    /// Makes a container without starting it.
    async fn create(&self, spec: &ContainerSpec) -> Result<()>;
    /// Starts a container; one that runs already is fine.
    async fn start(&self, name: &str) -> Result<()>;
    /// Sends a signal (`SIGKILL`, `SIGHUP`, …) to the first process of a container.
    async fn signal(&self, name: &str, signal: &str) -> Result<()>;
    /// Sends a container its stop signal, and KILL after `grace`; returns when it has ended. One that has ended is fine.
    async fn stop(&self, name: &str, grace: Duration) -> Result<()>;
    /// Freezes all processes of a container.
    async fn pause(&self, name: &str) -> Result<()>;
    /// Lets a frozen container run on; one that is not frozen is fine.
    async fn resume(&self, name: &str) -> Result<()>;
    /// Kills and removes a container with its anonymous volumes.
    async fn remove(&self, name: &str) -> Result<()>;
    /// The last lines that the first process wrote.
    async fn logs(&self, name: &str, lines: usize) -> Result<String>;

    /// Unpacks a tar archive below `/` of a container, running or not.
    async fn put(&self, name: &str, tar: Tar) -> Result<()>;
    /// A file or folder of a container as a tar archive, written to `to`; returns the bytes written.
    async fn get(&self, name: &str, path: &str, to: &mut (dyn Write + Send)) -> Result<u64>;
    /// Starts a process in a running container.
    async fn exec(&self, name: &str, argv: &[String]) -> Result<Exec>;
    /// Exit code of an exec; `None` while it runs.
    async fn exec_code(&self, id: &str) -> Result<Option<i64>>;

    /// Networks that carry all these labels; all networks when the list is empty.
    async fn networks(&self, labels: &[String]) -> Result<Vec<Network>>;
    /// Makes a network; [`super::Fault::SubnetTaken`] on a clash.
    async fn create_network(&self, spec: &NetworkSpec) -> Result<()>;
    /// Removes a network.
    async fn remove_network(&self, name: &str) -> Result<()>;
    /// Volumes that carry all these labels.
    async fn volumes(&self, labels: &[String]) -> Result<Vec<Volume>>;
    /// Removes a volume.
    async fn remove_volume(&self, name: &str) -> Result<()>;

    /// Images that carry all these labels.
    async fn images(&self, labels: &[String]) -> Result<Vec<Image>>;
    /// One image by name or id; `None` when it is not there.
    async fn image(&self, name: &str) -> Result<Option<Image>>;
    /// Loads a `docker save` archive from a file and returns what the engine says it loaded.
    async fn load(&self, archive: &Path) -> Result<String>;
    /// Makes an image of a build context with a `Dockerfile` in it, by the engine's own builder, and names it.
    async fn build(&self, name: &str, context: Tar) -> Result<()>;
    /// Has the engine pull an image, with its own access and proxies.
    async fn pull(&self, name: &str) -> Result<()>;
    /// An image as a `docker save` archive, written to `to`; returns the bytes written.
    async fn save(&self, name: &str, to: &mut (dyn Write + Send)) -> Result<u64>;
    /// Removes an image's name, and the image with its last name.
    async fn remove_image(&self, name: &str) -> Result<()>;
}

/// Reads a whole tar archive with one file in it.
///
/// # Errors
/// When the archive is not one, or holds no file.
pub fn only_file(tar: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Archive::new(tar);
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::NotFound, "the archive holds no file"))
}
