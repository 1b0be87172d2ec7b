//! What a fake engine has, and the rules that a real one (Docker, `moby/daemon`) keeps about it.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tokio::task::JoinSet;

use super::program::{Process, Program};
use crate::runtime::api::{Container, ContainerSpec, Exec, Image, Network, NetworkSpec, Pipe, Volume};
use crate::runtime::archive::{Archive, Tar};
use crate::runtime::error::Fault;
use crate::runtime::label::Labels;

/// What a call comes to: the engine adds what was tried, on what.
pub(super) type Answer<T> = Result<T, (Fault, String)>;
/// Paths and what is in them.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Bytes that a process may write before somebody reads them.
const PIPE: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct State {
    containers: BTreeMap<String, Made>,
    networks: BTreeMap<String, NetworkSpec>,
    /// With the container that each belongs to.
    volumes: BTreeMap<String, (Volume, String)>,
    images: BTreeMap<String, (Image, Files)>,
    doomed: BTreeMap<String, (i64, String)>,
    execs: Vec<Arc<Mutex<Option<i64>>>>,
}

struct Made {
    spec: ContainerSpec,
    state: &'static str,
    exit_code: Option<i64>,
    log: String,
    files: Files,
    processes: JoinSet<()>,
}

impl Made {
    fn runs(&self) -> bool {
        self.state == "running"
    }

    fn end(&mut self, code: i64, log: &str) {
        (self.state, self.exit_code) = ("exited", Some(code));
        self.log.push_str(log);
        self.processes = JoinSet::new();
    }

    fn shown(&self) -> Container {
        Container {
            id: String::new(),
            name: self.spec.name.clone(),
            labels: self.spec.labels.clone(),
            image: self.spec.image.clone(),
            state: self.state.to_owned(),
            exit_code: self.exit_code,
            address: self.spec.network.as_ref().map(|(_, address)| *address),
            ports: self.spec.ports.clone(),
        }
    }
}

impl State {
    pub(super) fn containers(&self, labels: &[String]) -> Vec<Container> {
        self.containers.values().filter(|c| carries(&c.spec.labels, labels)).map(Made::shown).collect()
    }

    pub(super) fn container(&self, name: &str) -> Answer<Container> {
        self.containers.get(name).map(Made::shown).ok_or_else(|| no_such("container", name))
    }

    pub(super) fn create(&mut self, spec: ContainerSpec) -> Answer<()> {
        let Some((_, files)) = self.images.get(&spec.image) else { return Err(no_such("image", &spec.image)) };
        if self.containers.contains_key(&spec.name) {
            let said = format!("Conflict. The container name \"/{}\" is already in use by container \"0a1b\"", spec.name);
            return Err((Fault::NameTaken, said));
        }
        if let Some((network, _)) = spec.network.as_ref().filter(|(name, _)| !self.networks.contains_key(name)) {
            return Err((Fault::NotFound, format!("network {network} not found")));
        }
        for (at, _) in spec.volumes.iter().enumerate() {
            let volume = Volume { name: format!("{}-{at}", spec.name), labels: spec.labels.clone() };
            self.volumes.insert(volume.name.clone(), (volume, spec.name.clone()));
        }
        let (name, files) = (spec.name.clone(), files.clone());
        let made = Made { spec, state: "created", exit_code: None, log: String::new(), files, processes: JoinSet::new() };
        self.containers.insert(name, made);
        Ok(())
    }

    pub(super) fn start(&mut self, name: &str) -> Answer<()> {
        let made = self.containers.get(name).ok_or_else(|| no_such("container", name))?;
        if made.runs() {
            return Ok(());
        }
        for other in self.containers.values().filter(|c| c.runs()) {
            if let Some(port) = made.spec.ports.values().find(|p| other.spec.ports.values().any(|o| o == *p)) {
                let said = format!("driver failed: Bind for 127.0.0.1:{port} failed: port is already allocated");
                return Err((Fault::PortTaken, said));
            }
            if made.spec.network.is_some() && made.spec.network == other.spec.network {
                return Err((Fault::Other, "Address already in use".into()));
            }
        }
        let doom = self.doomed.get(name).cloned();
        let made = self.containers.get_mut(name).ok_or_else(|| no_such("container", name))?;
        made.state = "running";
        if let Some((code, log)) = doom {
            made.end(code, &log);
        }
        Ok(())
    }

    pub(super) fn signal(&mut self, name: &str, signal: &str) -> Answer<()> {
        let made = self.running(name)?;
        if signal == "SIGKILL" {
            made.end(137, "");
        }
        Ok(())
    }

    pub(super) fn stop(&mut self, name: &str) -> Answer<()> {
        let made = self.containers.get_mut(name).ok_or_else(|| no_such("container", name))?;
        if made.runs() {
            made.end(0, "");
        }
        Ok(())
    }

    /// Its processes go on here: nobody asks them while it is frozen.
    pub(super) fn pause(&mut self, name: &str) -> Answer<()> {
        self.running(name)?.state = "paused";
        Ok(())
    }

    pub(super) fn resume(&mut self, name: &str) -> Answer<()> {
        let made = self.containers.get_mut(name).ok_or_else(|| no_such("container", name))?;
        if made.state == "paused" {
            made.state = "running";
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) {
        if self.containers.remove(name).is_some() {
            self.volumes.retain(|_, (_, of)| of != name);
        }
    }

    pub(super) fn logs(&self, name: &str, lines: usize) -> Answer<String> {
        let log = &self.containers.get(name).ok_or_else(|| no_such("container", name))?.log;
        let all: Vec<&str> = log.lines().collect();
        Ok(all[all.len().saturating_sub(lines)..].join("\n"))
    }

    pub(super) fn put(&mut self, name: &str, tar: Tar) -> Answer<()> {
        let made = self.containers.get_mut(name).ok_or_else(|| no_such("container", name))?;
        let other = |e: std::io::Error| (Fault::Other, e.to_string());
        for entry in tar::Archive::new(&tar.read().map_err(other)?[..]).entries().map_err(other)? {
            let mut entry = entry.map_err(other)?;
            if entry.header().entry_type().is_file() {
                let path = format!("/{}", entry.path().map_err(other)?.display());
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(other)?;
                made.files.insert(path, bytes);
            }
        }
        Ok(())
    }

    pub(super) fn file(&self, name: &str, path: &str) -> Option<&Vec<u8>> {
        self.containers.get(name)?.files.get(path)
    }

    pub(super) fn get(&self, name: &str, path: &str) -> Answer<Vec<u8>> {
        self.container(name)?;
        let missing = || (Fault::NotFound, format!("Could not find the file {path} in container {name}"));
        if let Some(dir) = path.strip_suffix("/.") {
            let there = self.containers.get(name).is_some_and(|made| made.files.keys().any(|file| file.starts_with(&format!("{dir}/"))));
            return if there { Ok(Vec::from(*b"what is in it")) } else { Err(missing()) };
        }
        let bytes = self.file(name, path).ok_or_else(missing)?;
        let mut archive = Archive::default();
        // named as by Docker: without the folders above
        let packed = archive
            .file(path.rsplit('/').next().unwrap_or(path), 0o644, bytes)
            .map(drop)
            .and_then(|()| archive.finish())
            .and_then(Tar::read);
        packed.map_err(|e| (Fault::Other, e.to_string()))
    }

    pub(super) fn exec(&mut self, name: &str, argv: Vec<String>, program: Arc<dyn Program>) -> Answer<Exec> {
        let id = self.execs.len().to_string();
        let made = self.running(name)?;
        let (input, theirs_in) = duplex(PIPE);
        let (theirs_out, output) = duplex(PIPE);
        let process = Process { container: name.to_owned(), argv, input: theirs_in, output: theirs_out };
        let code = Arc::new(Mutex::new(None));
        let ended = code.clone();
        made.processes.spawn(async move {
            let code = program.run(process).await;
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(code);
        });
        self.execs.push(code);
        Ok(Exec { id, input: Box::pin(input), output: futures_util::stream::unfold(output, piece).boxed() })
    }

    pub(super) fn exec_code(&self, id: &str) -> Answer<Option<i64>> {
        let code = id.parse::<usize>().ok().and_then(|at| self.execs.get(at));
        Ok(*code.ok_or_else(|| no_such("exec", id))?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn networks(&self, labels: &[String]) -> Vec<Network> {
        let shown = |n: &NetworkSpec| Network { name: n.name.clone(), labels: n.labels.clone(), subnet: Some(n.subnet.to_string()) };
        self.networks.values().filter(|n| carries(&n.labels, labels)).map(shown).collect()
    }

    pub(super) fn create_network(&mut self, spec: NetworkSpec) -> Answer<()> {
        if self.networks.contains_key(&spec.name) {
            return Err((Fault::NameTaken, format!("network with name {} already exists", spec.name)));
        }
        if self.networks.values().any(|n| n.subnet == spec.subnet) {
            return Err((Fault::SubnetTaken, "Pool overlaps with other one on this address space".into()));
        }
        self.networks.insert(spec.name.clone(), spec);
        Ok(())
    }

    pub(super) fn remove_network(&mut self, name: &str) -> Answer<()> {
        let uses = |c: &Made| c.spec.network.as_ref().is_some_and(|(network, _)| network == name);
        if self.containers.values().any(uses) {
            return Err((Fault::Other, format!("error while removing network: network {name} has active endpoints")));
        }
        self.networks.remove(name);
        Ok(())
    }

    pub(super) fn volumes(&self, labels: &[String]) -> Vec<Volume> {
        self.volumes.values().map(|(volume, _)| volume).filter(|v| carries(&v.labels, labels)).cloned().collect()
    }

    pub(super) fn remove_volume(&mut self, name: &str) -> Answer<()> {
        if self.volumes.get(name).is_some_and(|(_, of)| self.containers.contains_key(of)) {
            return Err((Fault::Other, format!("remove {name}: volume is in use")));
        }
        self.volumes.remove(name);
        Ok(())
    }

    pub(super) fn images(&self, labels: &[String]) -> Vec<Image> {
        self.images.values().map(|(image, _)| image).filter(|i| carries(&i.labels, labels)).cloned().collect()
    }

    pub(super) fn image(&self, name: &str) -> Option<Image> {
        self.images.get(name).map(|(image, _)| image.clone())
    }

    pub(super) fn add_image(&mut self, name: &str, labels: Labels, files: Files) {
        let id = format!("sha256:{}", self.images.len());
        let image = Image { id, tags: vec![name.to_owned()], labels, size: 0, created: 0 };
        self.images.insert(name.to_owned(), (image, files));
    }

    pub(super) fn remove_image(&mut self, name: &str) {
        self.images.remove(name);
    }

    pub(super) fn doom(&mut self, name: &str, code: i64, log: &str) {
        self.doomed.insert(name.to_owned(), (code, log.to_owned()));
    }

    pub(super) fn die(&mut self, name: &str, code: i64, log: &str) {
        if let Some(made) = self.containers.get_mut(name) {
            made.end(code, log);
        }
    }

    fn running(&mut self, name: &str) -> Answer<&mut Made> {
        let made = self.containers.get_mut(name).ok_or_else(|| no_such("container", name))?;
        if made.runs() { Ok(made) } else { Err((Fault::Other, format!("Container {name} is not running"))) }
    }
}

async fn piece(mut output: DuplexStream) -> Option<(crate::runtime::error::Result<(Pipe, bytes::Bytes)>, DuplexStream)> {
    let mut buffer = vec![0; PIPE];
    match output.read(&mut buffer).await {
        Ok(0) | Err(_) => None,
        Ok(n) => {
            buffer.truncate(n);
            Some((Ok((Pipe::Out, buffer.into())), output))
        }
    }
}

/// Are all of `wanted`, each `key` or `key=value`, among `labels`?
fn carries(labels: &Labels, wanted: &[String]) -> bool {
    wanted.iter().all(|wanted| match wanted.split_once('=') {
        Some((key, value)) => labels.get(key).is_some_and(|v| v == value),
        None => labels.contains_key(wanted),
    })
}

fn no_such(what: &str, name: &str) -> (Fault, String) {
    (Fault::NotFound, format!("No such {what}: {name}"))
}
