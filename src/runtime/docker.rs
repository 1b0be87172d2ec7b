//! Docker's API: the only file that names bollard.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummary, DeviceMapping, EndpointIpamConfig, EndpointSettings, HostConfig,
    HostConfigCgroupnsModeEnum, Ipam, IpamConfig, Mount, MountType, MountVolumeOptions, NetworkCreateRequest, NetworkingConfig,
    PortBinding, PortMap,
};
use bollard::query_parameters as query;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use tokio::fs::File;
use tokio_util::io::ReaderStream;

use super::api::{Container, ContainerSpec, Engine, Exec, Host, Image, Network, NetworkSpec, Pipe, Runtime, Volume};
use super::archive::Tar;
use super::error::{Fault, Result, RuntimeError};
use super::label::Labels;
use crate::sys::env;

/// bollard's own limit for a request, in seconds. [`super::deadline::Deadline`] limits each call more closely.
const REQUEST_LIMIT: u64 = 3600;
/// Oldest API that has cgroup namespaces (Docker 20.10).
const MIN_API: (usize, usize) = (1, 41);
/// Of an image archive, read at a time.
const PIECE: usize = 1 << 20;
const DEFAULT_SOCKET: &str = "unix:///var/run/docker.sock";

/// A connection to Docker.
pub struct DockerEngine {
    api: Docker,
    socket: String,
    /// Who listens there.
    pid: Option<i32>,
}

impl DockerEngine {
    /// Connects to `DOCKER_HOST` or the usual socket and agrees on an API version.
    ///
    /// # Errors
    /// [`Fault::Unreachable`], [`Fault::Denied`], [`Fault::TooOld`].
    pub async fn connect() -> Result<Self> {
        Self::at(&env::var("DOCKER_HOST").unwrap_or_else(|| DEFAULT_SOCKET.to_owned())).await
    }

    /// The same at `unix://PATH`.
    ///
    /// # Errors
    /// As [`DockerEngine::connect`].
    pub async fn at(socket: &str) -> Result<Self> {
        let socket = socket.to_owned();
        let op = "reach the container engine at";
        if !socket.starts_with("unix://") {
            let said = "only unix:// sockets are supported: name one in DOCKER_HOST, or unset it".to_owned();
            return Err(RuntimeError { op, target: socket, said, fault: Fault::Other });
        }
        let path = socket.trim_start_matches("unix://");
        // Asked first because the API client hides which of the two it met.
        let pid = match tokio::net::UnixStream::connect(path).await {
            // 0 stands for a process of another pid namespace
            Ok(stream) => stream.peer_cred().ok().and_then(|peer| peer.pid()).filter(|pid| *pid > 0),
            Err(e) => {
                let fault = if e.kind() == std::io::ErrorKind::PermissionDenied { Fault::Denied } else { Fault::Unreachable };
                return Err(RuntimeError { op, target: socket, said: e.to_string(), fault });
            }
        };
        let api = Docker::connect_with_unix(path, REQUEST_LIMIT, bollard::API_DEFAULT_VERSION).map_err(on(op, &socket))?;
        let api = api.negotiate_version().await.map_err(on(op, &socket))?;
        let version = api.client_version();
        if (version.major_version, version.minor_version) < MIN_API {
            return Err(RuntimeError { op, target: socket, said: format!("it speaks API {version}"), fault: Fault::TooOld });
        }
        Ok(Self { api, socket, pid })
    }
}

#[async_trait]
impl Runtime for DockerEngine {
    async fn engine(&self) -> Result<Engine> {
        let op = "ask the container engine at";
        let version = self.api.version().await.map_err(on(op, &self.socket))?;
        let info = self.api.info().await.map_err(on(op, &self.socket))?;
        let name = version.components.and_then(|c| c.first().map(|c| c.name.clone())).unwrap_or_else(|| "Docker".into());
        Ok(Engine {
            name: format!("{} {}", name.replace("Engine", "Docker"), version.version.unwrap_or_default()),
            api: self.api.client_version().to_string(),
            cgroup_version: info.cgroup_version.map(|v| v.to_string()).unwrap_or_default(),
            arch: version.arch.unwrap_or_default(),
            host: Host {
                kernel: info.kernel_version.unwrap_or_default(),
                store: info.docker_root_dir.unwrap_or_default(),
                cgroup_driver: info.cgroup_driver.map(|d| d.to_string()).unwrap_or_default(),
                rootless: info.security_options.unwrap_or_default().iter().any(|o| o.contains("rootless")),
                pid: self.pid,
            },
        })
    }

    async fn containers(&self, labels: &[String]) -> Result<Vec<Container>> {
        let options = query::ListContainersOptions { all: true, filters: filters(labels), ..Default::default() };
        let list = self.api.list_containers(Some(options)).await.map_err(on("list containers with", labels.join(" ")))?;
        Ok(list.into_iter().map(summary).collect())
    }

    async fn container(&self, name: &str) -> Result<Container> {
        let found = self.api.inspect_container(name, None).await.map_err(on("inspect container", name))?;
        Ok(inspected(found))
    }

    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        let options = query::CreateContainerOptions { name: Some(spec.name.clone()), ..Default::default() };
        self.api.create_container(Some(options), body(spec)).await.map_err(on("create container", &spec.name))?;
        Ok(())
    }

    async fn start(&self, name: &str) -> Result<()> {
        self.api.start_container(name, None).await.map_err(on("start container", name))
    }

    async fn signal(&self, name: &str, signal: &str) -> Result<()> {
        let options = query::KillContainerOptions { signal: signal.to_owned() };
        self.api.kill_container(name, Some(options)).await.map_err(on("signal container", name))
    }

    async fn stop(&self, name: &str, grace: Duration) -> Result<()> {
        let options = query::StopContainerOptions { t: Some(i32::try_from(grace.as_secs()).unwrap_or(i32::MAX)), ..Default::default() };
        self.api.stop_container(name, Some(options)).await.map_err(on("stop container", name))
    }

    async fn pause(&self, name: &str) -> Result<()> {
        self.api.pause_container(name).await.map_err(on("pause container", name))
    }

    async fn resume(&self, name: &str) -> Result<()> {
        match self.api.unpause_container(name).await {
            Err(Error::DockerResponseServerError { message, .. }) if message.contains("is not paused") => Ok(()),
            other => other.map_err(on("resume container", name)),
        }
    }

    async fn remove(&self, name: &str) -> Result<()> {
        let options = query::RemoveContainerOptions { force: true, v: true, link: false };
        gone(self.api.remove_container(name, Some(options)).await, "remove container", name)
    }

    async fn logs(&self, name: &str, lines: usize) -> Result<String> {
        let options = query::LogsOptions { stdout: true, stderr: true, tail: lines.to_string(), ..Default::default() };
        let pieces: Vec<LogOutput> =
            self.api.logs(name, Some(options)).try_collect().await.map_err(on("read the log of container", name))?;
        Ok(pieces.into_iter().map(|p| String::from_utf8_lossy(&p.into_bytes()).into_owned()).collect())
    }

    async fn put(&self, name: &str, tar: Tar) -> Result<()> {
        let options = query::UploadToContainerOptions { path: "/".into(), ..Default::default() };
        let tar = bollard::body_try_stream(tar.stream());
        self.api.upload_to_container(name, Some(options), tar).await.map_err(on("write files into container", name))
    }

    async fn get(&self, name: &str, path: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        let target = format!("{name}:{path}");
        let options = query::DownloadFromContainerOptions { path: path.to_owned() };
        poured(self.api.download_from_container(name, Some(options)), "read", &target, to).await
    }

    async fn exec(&self, name: &str, argv: &[String]) -> Result<Exec> {
        let op = "run a command in container";
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(argv.to_vec()),
            ..Default::default()
        };
        let id = self.api.create_exec(name, options).await.map_err(on(op, name))?.id;
        let options = StartExecOptions { output_capacity: Some(64 * 1024), ..Default::default() };
        let StartExecResults::Attached { output, input } = self.api.start_exec(&id, Some(options)).await.map_err(on(op, name))? else {
            return Err(other(op, name, &"the engine detached it"));
        };
        let target = name.to_owned();
        let output = output.map(move |piece| match piece {
            Ok(LogOutput::StdErr { message }) => Ok((Pipe::Err, message)),
            Ok(LogOutput::StdOut { message } | LogOutput::Console { message } | LogOutput::StdIn { message }) => Ok((Pipe::Out, message)),
            Err(e) => Err(on("follow a command in container", &target)(e)),
        });
        Ok(Exec { id, input, output: output.boxed() })
    }

    async fn exec_code(&self, id: &str) -> Result<Option<i64>> {
        let found = self.api.inspect_exec(id).await.map_err(on("inspect exec", id))?;
        // A missing exit code means that it still runs; so does a code of 0 beside `running`.
        Ok(if found.running.unwrap_or(false) { None } else { found.exit_code })
    }

    async fn networks(&self, labels: &[String]) -> Result<Vec<Network>> {
        let options = query::ListNetworksOptions { filters: filters(labels) };
        let list = self.api.list_networks(Some(options)).await.map_err(on("list networks with", labels.join(" ")))?;
        Ok(list
            .into_iter()
            .map(|n| Network {
                name: n.name.unwrap_or_default(),
                labels: ordered(n.labels),
                subnet: n.ipam.and_then(|i| i.config).and_then(|c| c.into_iter().find_map(|c| c.subnet)),
            })
            .collect())
    }

    async fn create_network(&self, spec: &NetworkSpec) -> Result<()> {
        let request = NetworkCreateRequest {
            name: spec.name.clone(),
            driver: Some("bridge".into()),
            ipam: Some(Ipam {
                config: Some(vec![IpamConfig {
                    subnet: Some(spec.subnet.to_string()),
                    gateway: Some(spec.subnet.host(1).to_string()),
                    ..Default::default()
                }]),
                ..Default::default()
            }),
            labels: Some(spec.labels.clone().into_iter().collect()),
            ..Default::default()
        };
        self.api.create_network(request).await.map_err(on("create network", &spec.name))?;
        Ok(())
    }

    async fn remove_network(&self, name: &str) -> Result<()> {
        gone(self.api.remove_network(name).await, "remove network", name)
    }

    async fn volumes(&self, labels: &[String]) -> Result<Vec<Volume>> {
        let options = query::ListVolumesOptions { filters: filters(labels) };
        let list = self.api.list_volumes(Some(options)).await.map_err(on("list volumes with", labels.join(" ")))?;
        Ok(list.volumes.unwrap_or_default().into_iter().map(|v| Volume { name: v.name, labels: ordered(Some(v.labels)) }).collect())
    }

    async fn remove_volume(&self, name: &str) -> Result<()> {
        let options = query::RemoveVolumeOptions { force: true };
        gone(self.api.remove_volume(name, Some(options)).await, "remove volume", name)
    }

    async fn images(&self, labels: &[String]) -> Result<Vec<Image>> {
        let options = query::ListImagesOptions { filters: filters(labels), ..Default::default() };
        let list = self.api.list_images(Some(options)).await.map_err(on("list images with", labels.join(" ")))?;
        Ok(list
            .into_iter()
            .map(|i| Image {
                id: i.id,
                tags: i.repo_tags,
                labels: ordered(Some(i.labels)),
                size: u64::try_from(i.size).unwrap_or(0),
                created: i.created,
            })
            .collect())
    }

    async fn image(&self, name: &str) -> Result<Option<Image>> {
        match self.api.inspect_image(name).await.map_err(on("inspect image", name)) {
            Ok(i) => Ok(Some(Image {
                id: i.id.unwrap_or_default(),
                tags: i.repo_tags.unwrap_or_default(),
                labels: ordered(i.config.and_then(|c| c.labels)),
                size: u64::try_from(i.size.unwrap_or(0)).unwrap_or(0),
                created: i.created.and_then(|t| t.parse::<jiff::Timestamp>().ok()).map_or(0, jiff::Timestamp::as_second),
            })),
            Err(e) if e.is(Fault::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn load(&self, archive: &Path) -> Result<String> {
        let (op, target) = ("load image archive", archive.display().to_string());
        let file = File::open(archive).await.map_err(|e| other(op, &target, &e))?;
        let pieces = ReaderStream::with_capacity(file, PIECE);
        let options = query::ImportImageOptions { quiet: true, ..Default::default() };
        let said: Vec<_> = self.api.import_image_stream(options, pieces, None).try_collect().await.map_err(on(op, &target))?;
        let refused = said.iter().find_map(|info| info.error_detail.as_ref()?.message.clone());
        match refused {
            Some(message) => Err(other(op, &target, &message)),
            None => Ok(said.into_iter().filter_map(|info| info.stream).collect::<String>().trim().to_owned()),
        }
    }

    async fn build(&self, name: &str, context: Tar) -> Result<()> {
        let options = query::BuildImageOptions { t: Some(name.to_owned()), rm: true, forcerm: true, nocache: true, ..Default::default() };
        let context = bollard::body_try_stream(context.stream());
        let said = self.api.build_image(options, None, Some(context)).try_collect::<Vec<_>>().await;
        said.map_err(on("build image", name))?;
        Ok(())
    }

    async fn pull(&self, name: &str) -> Result<()> {
        let options = query::CreateImageOptions { from_image: Some(name.to_owned()), ..Default::default() };
        self.api.create_image(Some(options), None, None).try_collect::<Vec<_>>().await.map_err(on("pull image", name))?;
        Ok(())
    }

    async fn save(&self, name: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        poured(self.api.export_image(name), "save image", name, to).await
    }

    async fn remove_image(&self, name: &str) -> Result<()> {
        let options = query::RemoveImageOptions { force: false, noprune: false, ..Default::default() };
        gone(self.api.remove_image(name, Some(options), None).await.map(drop), "remove image", name)
    }
}

/// Writes what comes to `to`.
async fn poured(
    pieces: impl Stream<Item = std::result::Result<Bytes, Error>> + Send,
    op: &'static str,
    target: &str,
    to: &mut (dyn Write + Send),
) -> Result<u64> {
    let mut pieces = Box::pin(pieces);
    let mut total = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(on(op, target))?;
        to.write_all(&piece).map_err(|e| other("keep what was read from", target, &e))?;
        total += piece.len() as u64;
    }
    Ok(total)
}

fn filters(labels: &[String]) -> Option<HashMap<String, Vec<String>>> {
    (!labels.is_empty()).then(|| HashMap::from([("label".to_owned(), labels.to_vec())]))
}

fn ordered(labels: Option<HashMap<String, String>>) -> Labels {
    labels.unwrap_or_default().into_iter().collect()
}

/// The request that makes a container.
fn body(spec: &ContainerSpec) -> ContainerCreateBody {
    let owned = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let labels: HashMap<String, String> = spec.labels.clone().into_iter().collect();
    let ports: PortMap = spec
        .ports
        .iter()
        .map(|(inside, host)| {
            let binding = PortBinding { host_ip: Some("127.0.0.1".into()), host_port: Some(host.to_string()) };
            (format!("{inside}/tcp"), Some(vec![binding]))
        })
        .collect();
    let volume = |target: &String| Mount {
        target: Some(target.clone()),
        typ: Some(MountType::VOLUME),
        volume_options: Some(MountVolumeOptions { labels: Some(labels.clone()), ..Default::default() }),
        ..Default::default()
    };
    let device = |path: &String| DeviceMapping {
        path_on_host: Some(path.clone()),
        path_in_container: Some(path.clone()),
        cgroup_permissions: Some("rwm".into()),
    };
    let host_config = HostConfig {
        cap_add: owned(&spec.capabilities),
        devices: Some(spec.devices.iter().map(device).collect()),
        tmpfs: Some(spec.tmpfs.iter().map(|t| (t.clone(), String::new())).collect()),
        mounts: Some(spec.volumes.iter().map(volume).collect()),
        binds: owned(&spec.binds),
        port_bindings: Some(ports),
        network_mode: spec.network.as_ref().map(|(name, _)| name.clone()),
        ..if spec.unconfined { unconfined() } else { HostConfig::default() }
    };
    let networking_config = spec.network.as_ref().map(|(name, address)| NetworkingConfig {
        endpoints_config: Some(HashMap::from([(
            name.clone(),
            EndpointSettings {
                ipam_config: Some(EndpointIpamConfig { ipv4_address: Some(address.to_string()), ..Default::default() }),
                ..Default::default()
            },
        )])),
    });
    ContainerCreateBody {
        hostname: Some(spec.name.chars().take(63).collect()),
        image: Some(spec.image.clone()),
        entrypoint: owned(&spec.entrypoint),
        cmd: owned(&spec.cmd),
        env: owned(&spec.env),
        exposed_ports: Some(spec.ports.keys().map(|p| format!("{p}/tcp")).collect()),
        labels: Some(labels),
        stop_signal: spec.stop_signal.clone(),
        host_config: Some(host_config),
        networking_config,
        ..Default::default()
    }
}

/// What systemd and containerd need of a container, short of `--privileged`.
fn unconfined() -> HostConfig {
    HostConfig {
        // seccomp: mount, unshare and keyctl; apparmor: mounts inside; an empty list of masked and read-only paths is the
        // API's form of the command line's systempaths=unconfined, needed to remount /sys and to write /proc/sys
        security_opt: Some(vec!["seccomp=unconfined".into(), "apparmor=unconfined".into()]),
        masked_paths: Some(Vec::new()),
        readonly_paths: Some(Vec::new()),
        // containers inside get their own device rules, which must be allowed here first
        device_cgroup_rules: Some(vec!["a *:* rwm".into()]),
        // kubelet and systemd must look at the same root
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        ..Default::default()
    }
}

fn summary(c: ContainerSummary) -> Container {
    let ports = c.ports.unwrap_or_default();
    Container {
        id: c.id.unwrap_or_default(),
        name: c.names.and_then(|n| n.into_iter().next()).unwrap_or_default().trim_start_matches('/').to_owned(),
        labels: ordered(c.labels),
        image: c.image.unwrap_or_default(),
        state: c.state.map(|s| s.to_string()).unwrap_or_default(),
        exit_code: None,
        address: c.network_settings.and_then(|s| s.networks).and_then(first_address),
        ports: ports.into_iter().filter_map(|p| Some((p.private_port, p.public_port?))).collect(),
    }
}

fn inspected(c: ContainerInspectResponse) -> Container {
    let state = c.state.unwrap_or_default();
    let config = c.config.unwrap_or_default();
    // The bindings asked for, not the ones in effect: they are there for a stopped container too.
    let bindings = c.host_config.and_then(|h| h.port_bindings).unwrap_or_default();
    let port = |(inside, hosts): (String, Option<Vec<PortBinding>>)| {
        let inside: u16 = inside.split('/').next()?.parse().ok()?;
        Some((inside, hosts?.first()?.host_port.as_ref()?.parse().ok()?))
    };
    Container {
        id: c.id.unwrap_or_default(),
        name: c.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        labels: ordered(config.labels),
        image: config.image.unwrap_or_default(),
        state: state.status.map(|s| s.to_string()).unwrap_or_default(),
        exit_code: state.exit_code,
        address: c.network_settings.and_then(|s| s.networks).and_then(first_address),
        ports: bindings.into_iter().filter_map(port).collect::<BTreeMap<u16, u16>>(),
    }
}

/// The fixed address where one was asked for: the one in effect is empty while a container is stopped.
fn first_address(networks: HashMap<String, EndpointSettings>) -> Option<Ipv4Addr> {
    networks.into_values().find_map(|n| {
        let fixed = n.ipam_config.and_then(|c| c.ipv4_address).and_then(|a| a.parse().ok());
        fixed.or_else(|| n.ip_address?.parse().ok())
    })
}

fn gone(result: Result<(), Error>, op: &'static str, target: &str) -> Result<()> {
    match result.map_err(on(op, target)) {
        Err(e) if e.is(Fault::NotFound) => Ok(()),
        result => result,
    }
}

fn other(op: &'static str, target: &str, said: &dyn std::fmt::Display) -> RuntimeError {
    RuntimeError { op, target: target.to_owned(), said: said.to_string(), fault: Fault::Other }
}

/// Turns bollard's error into ours.
fn on(op: &'static str, target: impl Into<String>) -> impl FnOnce(Error) -> RuntimeError {
    let target = target.into();
    move |e| {
        let (fault, said) = sort(&e);
        RuntimeError { op, target, said, fault }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "bollard's error grows with its features; what is not listed is Other")]
fn sort(error: &Error) -> (Fault, String) {
    match error {
        Error::DockerResponseServerError { status_code, message } => (answer(*status_code, message), message.clone()),
        Error::SocketNotFoundError(path) => (Fault::Unreachable, format!("no socket at {path}")),
        Error::RequestTimeoutError => (Fault::Late, error.to_string()),
        Error::HyperLegacyError { .. } | Error::HyperResponseError { .. } | Error::IOError { .. } => (Fault::Unreachable, chain(error)),
        _ => (Fault::Other, chain(error)),
    }
}

/// Sorts an answer by status and, where Docker gives only 500, by its words (`moby/libnetwork`, seen on 20.10 and 28).
fn answer(status: u16, message: &str) -> Fault {
    let has = |words: &[&str]| words.iter().any(|w| message.contains(w));
    match status {
        404 if has(&["No such", "no such", "not found", "Could not find the file"]) => Fault::NotFound,
        409 if has(&["is already in use by container", "network with name", "already exists"]) => Fault::NameTaken,
        _ if has(&["port is already allocated", "address already in use"]) && !has(&["Address already in use, requested ip"]) => {
            Fault::PortTaken
        }
        _ if has(&["Pool overlaps", "overlaps with existing", "non-overlapping IPv4 address pool", "invalid pool request"]) => {
            Fault::SubnetTaken
        }
        _ => Fault::Other,
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_sorted_by_what_can_be_done() {
        let cases = [
            (404, "No such container: x", Fault::NotFound),
            (404, "network x not found", Fault::NotFound),
            (404, "Could not find the file /a/b in container x", Fault::NotFound),
            (409, r#"Conflict. The container name "/x" is already in use by container "ab""#, Fault::NameTaken),
            (409, "network with name x already exists", Fault::NameTaken),
            (
                500,
                "driver failed programming external connectivity: Bind for 127.0.0.1:80 failed: port is already allocated",
                Fault::PortTaken,
            ),
            (500, "Error starting userland proxy: listen tcp4 127.0.0.1:80: bind: address already in use", Fault::PortTaken),
            (403, "Pool overlaps with other one on this address space", Fault::SubnetTaken),
            (500, "something new", Fault::Other),
        ];
        for (status, message, want) in cases {
            assert_eq!(answer(status, message), want, "{message}");
        }
    }

    #[test]
    fn a_node_is_not_privileged_and_its_ports_stay_on_loopback() {
        let spec =
            ContainerSpec { unconfined: true, ports: BTreeMap::from([(6443, 40_000)]), volumes: vec!["/var".into()], ..Default::default() };
        let host = body(&spec).host_config.expect("there");
        assert_ne!(host.privileged, Some(true));
        let bound = host.port_bindings.expect("there").remove("6443/tcp").flatten().expect("bound");
        assert_eq!(bound[0].host_ip.as_deref(), Some("127.0.0.1"));
        assert!(host.mounts.expect("there")[0].source.is_none(), "anonymous, so that it goes with the container");
    }
}
