//! The calls of a fake engine: each is noted, then carried out, refused, or never answered.

use std::future::pending;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::disturb::{Call, Rules, Way, When};
use super::program::Program;
use super::state::{Answer, Files, State};
use crate::runtime::api::{Container, ContainerSpec, Engine, Exec, Host, Image, Network, NetworkSpec, Runtime, Volume};
use crate::runtime::archive::Tar;
use crate::runtime::error::{Fault, Result, RuntimeError};
use crate::runtime::label::Labels;

/// From a call to its answer. Above zero, so that calls made at once overlap.
const LATENCY: Duration = Duration::from_millis(1);

/// An engine in memory. Clones are the same engine.
///
/// A call that hangs is only an error behind a [`crate::runtime::deadline::Deadline`]. Meant for tokio's paused time.
#[derive(Clone)]
pub struct FakeEngine {
    program: Arc<dyn Program>,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    state: State,
    calls: Vec<Call>,
    rules: Rules,
    bells: Vec<(usize, CancellationToken)>,
    /// Calls that are carried out after their caller has gone.
    late: JoinSet<()>,
}

impl FakeEngine {
    /// An empty engine whose containers run `program`.
    pub fn new(program: Arc<dyn Program>) -> Self {
        Self { program, inner: Arc::default() }
    }

    /// Adds an image; its containers begin with these files.
    pub fn add_image(&self, name: &str, labels: Labels, files: impl IntoIterator<Item = (String, Vec<u8>)>) {
        self.lock().state.add_image(name, labels, files.into_iter().collect::<Files>());
    }

    /// Makes some calls fail. Of several that fit the first one counts.
    pub fn disturb(&self, when: When, way: Way) {
        self.lock().rules.add(when, way);
    }

    /// Cancels `token` as the call with this number, from 1, comes in.
    pub fn ring(&self, nth: usize, token: CancellationToken) {
        self.lock().bells.push((nth, token));
    }

    /// A container of this name ends as it is started: exit code, and what it wrote.
    pub fn doom(&self, name: &str, code: i64, log: &str) {
        self.lock().state.doom(name, code, log);
    }

    /// Ends a container now.
    pub fn die(&self, name: &str, code: i64, log: &str) {
        self.lock().state.die(name, code, log);
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// A file in a container.
    pub fn file(&self, container: &str, path: &str) -> Option<Vec<u8>> {
        self.lock().state.file(container, path).cloned()
    }

    /// All that carries these labels: `container x`, `network y`, `volume z`. Not noted as a call.
    pub fn holds(&self, labels: &[String]) -> Vec<String> {
        let state = &self.lock().state;
        let containers = state.containers(labels).into_iter().map(|c| format!("container {}", c.name));
        let networks = state.networks(labels).into_iter().map(|n| format!("network {}", n.name));
        let volumes = state.volumes(labels).into_iter().map(|v| format!("volume {}", v.name));
        containers.chain(networks).chain(volumes).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call. It is carried out as it comes in: a caller that goes away does not undo it.
    async fn call<T>(&self, op: &'static str, target: &str, act: impl FnOnce(&mut State) -> Answer<T> + Send + 'static) -> Result<T>
    where
        T: Send,
    {
        let failed = |(fault, said)| RuntimeError { op, target: target.to_owned(), said, fault };
        let answer = {
            let inner = &mut *self.lock();
            let call = Call { op, target: target.to_owned() };
            inner.calls.push(call.clone());
            let nth = inner.calls.len();
            inner.bells.iter().filter(|(at, _)| *at == nth).for_each(|(_, token)| token.cancel());
            match inner.rules.meet(nth, &call) {
                None => Some(act(&mut inner.state)),
                Some(Way::Refuse(fault)) => Some(Err((fault, "the engine was told to refuse this".to_owned()))),
                Some(Way::Hang) => None,
                Some(Way::Late(after)) => {
                    let engine = Arc::downgrade(&self.inner);
                    inner.late.spawn(async move {
                        sleep(after).await;
                        if let Some(engine) = engine.upgrade() {
                            let _ = act(&mut engine.lock().unwrap_or_else(PoisonError::into_inner).state);
                        }
                    });
                    None
                }
            }
        };
        match answer {
            Some(answer) => {
                sleep(LATENCY).await;
                answer.map_err(failed)
            }
            None => pending().await,
        }
    }
}

#[async_trait]
impl Runtime for FakeEngine {
    async fn engine(&self) -> Result<Engine> {
        let about =
            Engine { name: "Fake 1.0".into(), api: "1.41".into(), cgroup_version: "1".into(), arch: "amd64".into(), host: Host::default() };
        self.call("reach", "the container engine", move |_| Ok(about)).await
    }

    async fn containers(&self, labels: &[String]) -> Result<Vec<Container>> {
        let labels = labels.to_vec();
        self.call("list containers", "", move |state| Ok(state.containers(&labels))).await
    }
    async fn container(&self, name: &str) -> Result<Container> {
        let owned = name.to_owned();
        self.call("inspect container", name, move |state| state.container(&owned)).await
    }
    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        let owned = spec.clone();
        self.call("create container", &spec.name, move |state| state.create(owned)).await
    }
    async fn start(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("start container", name, move |state| state.start(&owned)).await
    }
    async fn signal(&self, name: &str, signal: &str) -> Result<()> {
        let (owned, signal) = (name.to_owned(), signal.to_owned());
        self.call("signal container", name, move |state| state.signal(&owned, &signal)).await
    }
    async fn stop(&self, name: &str, _grace: Duration) -> Result<()> {
        let owned = name.to_owned();
        self.call("stop container", name, move |state| state.stop(&owned)).await
    }
    async fn pause(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("pause container", name, move |state| state.pause(&owned)).await
    }
    async fn resume(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("resume container", name, move |state| state.resume(&owned)).await
    }
    async fn remove(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("remove container", name, move |state| {
            state.remove(&owned);
            Ok(())
        })
        .await
    }
    async fn logs(&self, name: &str, lines: usize) -> Result<String> {
        let owned = name.to_owned();
        self.call("read log", name, move |state| state.logs(&owned, lines)).await
    }

    async fn put(&self, name: &str, tar: Tar) -> Result<()> {
        let owned = name.to_owned();
        self.call("write files", name, move |state| state.put(&owned, tar)).await
    }
    async fn get(&self, name: &str, path: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        let (owned, inside) = (name.to_owned(), path.to_owned());
        let tar = self.call("read files", name, move |state| state.get(&owned, &inside)).await?;
        let failed =
            |e: std::io::Error| RuntimeError { op: "read files", target: name.to_owned(), said: e.to_string(), fault: Fault::Other };
        to.write_all(&tar).map_err(failed)?;
        Ok(tar.len() as u64)
    }
    async fn exec(&self, name: &str, argv: &[String]) -> Result<Exec> {
        let (owned, argv, program) = (name.to_owned(), argv.to_vec(), self.program.clone());
        self.call("exec", name, move |state| state.exec(&owned, argv, program)).await
    }
    async fn exec_code(&self, id: &str) -> Result<Option<i64>> {
        let owned = id.to_owned();
        self.call("inspect exec", id, move |state| state.exec_code(&owned)).await
    }

    async fn networks(&self, labels: &[String]) -> Result<Vec<Network>> {
        let labels = labels.to_vec();
        self.call("list networks", "", move |state| Ok(state.networks(&labels))).await
    }
    async fn create_network(&self, spec: &NetworkSpec) -> Result<()> {
        let owned = spec.clone();
        self.call("create network", &spec.name, move |state| state.create_network(owned)).await
    }
    async fn remove_network(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("remove network", name, move |state| state.remove_network(&owned)).await
    }
    async fn volumes(&self, labels: &[String]) -> Result<Vec<Volume>> {
        let labels = labels.to_vec();
        self.call("list volumes", "", move |state| Ok(state.volumes(&labels))).await
    }
    async fn remove_volume(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("remove volume", name, move |state| state.remove_volume(&owned)).await
    }

    async fn images(&self, labels: &[String]) -> Result<Vec<Image>> {
        let labels = labels.to_vec();
        self.call("list images", "", move |state| Ok(state.images(&labels))).await
    }
    async fn image(&self, name: &str) -> Result<Option<Image>> {
        let owned = name.to_owned();
        self.call("inspect image", name, move |state| Ok(state.image(&owned))).await
    }
    async fn load(&self, archive: &Path) -> Result<String> {
        let name = archive.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let owned = name.clone();
        self.call("load image", &name, move |state| {
            state.add_image(&owned, Labels::new(), Files::new());
            Ok(format!("Loaded image: {owned}"))
        })
        .await
    }
    async fn build(&self, name: &str, _context: Tar) -> Result<()> {
        let owned = name.to_owned();
        self.call("build image", name, move |state| {
            state.add_image(&owned, Labels::new(), Files::new());
            Ok(())
        })
        .await
    }
    /// There is nowhere to pull from.
    async fn pull(&self, name: &str) -> Result<()> {
        let said = format!("manifest for {name} not found");
        self.call("pull image", name, move |_| Err((Fault::NotFound, said))).await
    }
    async fn save(&self, name: &str, to: &mut (dyn Write + Send)) -> Result<u64> {
        let owned = name.to_owned();
        let there = self.call("save image", name, move |state| Ok(state.image(&owned).is_some())).await?;
        let failed = |fault, said| RuntimeError { op: "save image", target: name.to_owned(), said, fault };
        if !there {
            return Err(failed(Fault::NotFound, format!("No such image: {name}")));
        }
        to.write_all(name.as_bytes()).map_err(|e| failed(Fault::Other, e.to_string()))?;
        Ok(name.len() as u64)
    }
    async fn remove_image(&self, name: &str) -> Result<()> {
        let owned = name.to_owned();
        self.call("remove image", name, move |state| {
            state.remove_image(&owned);
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::api::Subnet;
    use crate::runtime::deadline::{Deadline, Limits};

    fn engine() -> FakeEngine {
        let engine = FakeEngine::new(Arc::new(()));
        engine.add_image("node", Labels::new(), [("/kind/version".to_owned(), b"v1.36.3\n".to_vec())]);
        engine
    }

    fn spec(name: &str, port: u16) -> ContainerSpec {
        ContainerSpec {
            name: name.into(),
            image: "node".into(),
            labels: Labels::from([("run".into(), "a".into())]),
            volumes: vec!["/var".into()],
            ports: [(6443, port)].into(),
            ..ContainerSpec::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clashes_are_told_like_a_real_engine_tells_them() {
        let engine = engine();
        let network = |name: &str, c| NetworkSpec { name: name.into(), subnet: Subnet([10, 213, c]), labels: Labels::new() };
        engine.create_network(&network("a", 0)).await.expect("made");
        let fault = |r: Result<()>| r.map_err(|e| e.fault);
        assert_eq!(fault(engine.create_network(&network("b", 0)).await), Err(Fault::SubnetTaken));
        assert_eq!(fault(engine.create_network(&network("a", 1)).await), Err(Fault::NameTaken));
        engine.create(&spec("x", 1)).await.expect("made");
        assert_eq!(fault(engine.create(&spec("x", 2)).await), Err(Fault::NameTaken));
        engine.create(&spec("y", 1)).await.expect("a port clashes at the start only");
        engine.start("x").await.expect("started");
        assert_eq!(fault(engine.start("y").await), Err(Fault::PortTaken));
        assert_eq!(fault(engine.start("z").await), Err(Fault::NotFound));
    }

    #[tokio::test(start_paused = true)]
    async fn files_go_in_and_out_and_a_container_takes_its_volume_along() {
        let engine = engine();
        engine.create(&spec("x", 1)).await.expect("made");
        let mut archive = crate::runtime::Archive::default();
        archive.file("/kind/a", 0o600, b"text").expect("packed");
        engine.put("x", archive.finish().expect("packed")).await.expect("put");
        for (path, want) in [("/kind/a", &b"text"[..]), ("/kind/version", b"v1.36.3\n")] {
            let mut tar = Vec::new();
            engine.get("x", path, &mut tar).await.expect("got");
            assert_eq!(crate::runtime::api::only_file(&tar).expect("a file"), want);
        }
        assert_eq!(engine.holds(&["run=a".into()]), ["container x", "volume x-0"]);
        assert_eq!(engine.holds(&["run=b".into()]), [""; 0]);
        engine.remove("x").await.expect("removed");
        assert_eq!(engine.holds(&[]), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_can_fail_in_three_ways() {
        let engine = engine();
        engine.disturb(When::Nth(1), Way::Refuse(Fault::Other));
        engine.disturb(When::Nth(2), Way::Hang);
        engine.disturb(When::Nth(3), Way::Late(Duration::from_mins(3)));
        let limited = Deadline::new(Arc::new(engine.clone()), Limits::default());
        let mut faults = Vec::new();
        for name in ["a", "b", "c", "d"] {
            faults.push(limited.create(&spec(name, 1)).await.map_err(|e| e.fault));
        }
        assert_eq!(faults, [Err(Fault::Other), Err(Fault::Late), Err(Fault::Late), Ok(())]);
        assert_eq!(engine.holds(&[]), ["container d", "volume d-0"]);
        sleep(Duration::from_mins(2)).await;
        assert!(engine.holds(&[]).contains(&"container c".to_owned()), "carried out after its caller had gone");
    }
}
