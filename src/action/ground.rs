//! What an action works on: the cluster as it is found, and what was asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::ActionError;
use super::secrets;
use crate::agent::{Output, Pipe};
use crate::cluster::{self, Cluster, CreateLimits, Extras, Images, NodePlace, Topology};
use crate::event::{Bus, Event};
use crate::fault::Faults;
use crate::kubeadm::wishes::Wishes;
use crate::node::{Node, Overrides, Pretend, Role, path};
use crate::runtime::Runtime;
use crate::runtime::label::{self, Lifetime};
use crate::spec::{Discovery, Order};
use crate::step::World;
use crate::sys::random;
use crate::sys::redact::Redactor;
use crate::sys::shell;
use crate::sys::stop::Stop;
use crate::sys::wait::Patience;

/// Finding the nodes and reaching their agents.
const ATTACH: Duration = Duration::from_secs(10);
/// Between two looks at what is waited for.
const EVERY: Duration = Duration::from_millis(500);

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster.
    pub name: String,
    /// Just this node, by its whole name.
    pub only_node: Option<String>,
    /// Tell what would be done, and do nothing.
    pub dry_run: bool,
    /// How long to wait for what an action has set going; nothing is waited for when 0.
    pub wait: Duration,
    /// The order in which nodes join.
    pub order: Order,
    /// The version to upgrade to, `v1.37.2`.
    pub upgrade: Option<String>,
    /// Patches for kubeadm: file name and contents.
    pub patches: Vec<(String, Vec<u8>)>,
    /// What kubeadm is to do otherwise.
    pub wishes: Wishes,
}

/// A cluster that is worked on.
pub(super) struct Ground {
    pub(super) world: World,
    pub(super) cluster: Arc<Cluster>,
    pub(super) options: Options,
    pub(super) stop: Stop,
}

/// The version of a node's kubeadm: what it says, else what the node says.
async fn kubeadm_on(node: &Node, dry_run: bool) -> Result<String, ActionError> {
    let told = if dry_run { String::new() } else { node.script("kubeadm version -o short", &[], ATTACH).await.unwrap_or_default() };
    match told.trim() {
        "" => Ok(String::from_utf8_lossy(&node.read(path::VERSION).await?).trim().to_owned()),
        told => Ok(told.to_owned()),
    }
}

impl Ground {
    /// Finds the cluster and connects to its nodes.
    pub(super) async fn of(mut options: Options, runtime: &Arc<dyn Runtime>, events: &Bus, stop: &Stop) -> Result<Self, ActionError> {
        let mut runtime = runtime.clone();
        if options.dry_run {
            let events = events.clone();
            let redact = Redactor::new([secrets::TOKEN.to_owned(), secrets::certificate_key()]);
            let tell = Arc::new(move |text: &str| _ = events.tell(Event::Note { text: redact.apply(text) }));
            runtime = Arc::new(Pretend::new(runtime, tell));
            options.wait = Duration::ZERO;
            // nothing has been done that it could stand on
            options.wishes.is_early = true;
        }
        let found = cluster::find(runtime.as_ref(), &options.name).await?;
        let mut cluster = cluster::attach(&runtime, &options.name, ATTACH).await?;
        if cluster.is_etcd_alone() {
            return Err(ActionError::Not(format!("cluster {:?} is etcd alone: there is no kubeadm in it", options.name)));
        }
        cluster.secrets = secrets::secrets();
        for node in cluster.nodes.clone() {
            let own = kubeadm_on(&node, options.dry_run).await?;
            if own != cluster.kubernetes && !own.is_empty() {
                cluster.skew.insert(node.name.clone(), own);
            }
        }
        let cluster = Arc::new(cluster);
        let place = |node: &Arc<Node>| NodePlace { name: node.name.clone(), role: node.role, index: node.index, version: None };
        let kubeconfig = found.nodes.first().and_then(|node| node.labels.get(label::KUBECONFIG)).map(PathBuf::from);
        let world = World {
            topology: Topology {
                name: found.name.clone(),
                nodes: cluster.nodes.iter().map(place).collect(),
                load_balancer: found.load_balancer.is_some(),
                subnet: None,
                discovery: Discovery::Token,
                etcd: None,
                kubeadm: cluster.kubeadm.clone(),
                extras: Extras::default(),
                warnings: Vec::new(),
            },
            images: Images {
                node: String::new(),
                kubernetes: Some(cluster.kubernetes.clone()),
                etcd: None,
                load_balancer: None,
                others: BTreeMap::new(),
                more_etcd: BTreeMap::new(),
            },
            overrides: Overrides::default(),
            run: found.run.clone(),
            seed: random::seed().unwrap_or_default(),
            lifetime: Lifetime::Kept,
            limits: CreateLimits::default(),
            removal: Duration::ZERO,
            logs: None,
            kubeconfig: kubeconfig.filter(|_| !options.dry_run),
            load: None,
            runtime,
            events: events.clone(),
            cluster: Some(cluster.clone()),
            observer: None,
            faults: Faults::default(),
            wishes: options.wishes.clone(),
        };
        let ground = Self { world, cluster, options, stop: stop.clone() };
        if let Some(name) = &ground.options.only_node {
            ground.named(name)?;
        }
        Ok(ground)
    }

    fn named(&self, name: &str) -> Result<Arc<Node>, ActionError> {
        if let Some(down) = self.cluster.absent.iter().find(|node| node.name == name) {
            return Err(ActionError::Not(down.to_string()));
        }
        let names = || self.cluster.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = self.cluster.nodes.iter().find(|node| node.name == name).cloned();
        found.ok_or_else(|| ActionError::Not(format!("no node {name:?} in cluster {:?}: there are {}", self.cluster.name, names())))
    }

    /// The nodes that are meant: control planes, then workers, or just the one that was named.
    pub(super) fn meant(&self) -> Result<Vec<Arc<Node>>, ActionError> {
        if let Some(name) = &self.options.only_node {
            return Ok(vec![self.named(name)?]);
        }
        let mut nodes = self.cluster.nodes.clone();
        nodes.sort_by_key(|node| (node.role, node.index));
        Ok(nodes)
    }

    /// The workers.
    pub(super) fn workers(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.cluster.nodes.iter().filter(|node| node.role == Role::Worker)
    }

    /// A control plane whose API server is ready.
    pub(super) async fn serving(&self) -> Result<Arc<Node>, ActionError> {
        let found = self.cluster.serving().await;
        found.cloned().map_err(|saw| {
            // kubeadm init alone makes it
            let hint = if saw.contains("admin.conf: No such file") {
                format!("\nhint: is it initialised? `joinder do kubeadm-init --name {}`", self.cluster.name)
            } else {
                String::new()
            };
            ActionError::Saw { what: "no control plane's API server is ready".into(), saw: saw + &hint }
        })
    }

    /// As long as was asked for.
    pub(super) fn patience(&self) -> Patience {
        Patience { limit: self.options.wait, every: EVERY, stop: self.stop.soft.clone() }
    }

    /// Is nothing waited for?
    pub(super) fn waits_for_nothing(&self) -> bool {
        self.options.wait.is_zero()
    }

    /// Tells people something.
    pub(super) fn note(&self, text: impl Into<String>) {
        self.world.events.tell(Event::Note { text: text.into() });
    }

    /// Tells people that something may not be as they think.
    pub(super) fn warn(&self, text: impl Into<String>) {
        self.world.events.tell(Event::Warning { text: text.into() });
    }

    /// Says a line of what was asked for.
    pub(super) fn say(&self, node: &str, line: &str) {
        let line = self.world.redactor().apply(line);
        self.world.events.tell(Event::Output { index: 0, node: node.to_owned(), error: false, line });
    }

    /// Runs a command in a node, for all to see, and returns what it wrote to standard output.
    pub(super) async fn run(&self, node: &Node, argv: &[&str]) -> Result<String, ActionError> {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let shown = self.world.redactor().apply(&shell::line(&argv));
        if !self.options.dry_run {
            self.note(format!("{} $ {shown}", node.name));
        }
        let mut process = node.command(argv, BTreeMap::new());
        let mut written = String::new();
        let failed = |how: String| ActionError::Command { node: node.name.clone(), command: shown.clone(), how };
        loop {
            let Some(output) = process.next_or_stop(&self.stop).await else { return Err(failed("stopped".into())) };
            match output? {
                Output::Line { pipe, text, .. } => {
                    self.say(&node.name, &text);
                    if pipe == Pipe::Out {
                        written.push_str(&text);
                        written.push('\n');
                    }
                }
                Output::Exited { .. } if process.is_stopped() => return Err(failed("stopped".into())),
                Output::Exited { code: Some(0), .. } => return Ok(written),
                Output::Exited { code: Some(code), .. } => return Err(failed(format!("exit code {code}"))),
                Output::Exited { code: None, .. } => return Err(failed("it was killed".into())),
            }
        }
    }

    /// Runs a script of joinder's own in a node; returns what it says.
    pub(super) async fn script(&self, node: &Node, script: &str, args: &[&str], limit: Duration) -> Result<String, ActionError> {
        self.script_by("sh", node, script, args, limit).await
    }

    /// The same in a shell that is named.
    pub(super) async fn script_by(
        &self,
        shell: &str,
        node: &Node,
        script: &str,
        args: &[&str],
        limit: Duration,
    ) -> Result<String, ActionError> {
        let argv: Vec<&str> = [shell, "-c", script, "joinder"].into_iter().chain(args.iter().copied()).collect();
        tokio::select! {
            said = node.said_by(&argv, limit) => Ok(said?),
            () = self.stop.soft.cancelled() => Err(ActionError::Stopped),
        }
    }

    /// Puts the user's patches for kubeadm where its configuration says that they are.
    pub(super) async fn patches(&self, nodes: &[Arc<Node>]) -> Result<(), ActionError> {
        for node in nodes {
            node.run_quietly(&["mkdir", "-p", path::PATCHES], ATTACH).await?;
            for (name, bytes) in &self.options.patches {
                node.write(&format!("{}/{name}", path::PATCHES), 0o644, bytes).await?;
            }
        }
        Ok(())
    }
}
