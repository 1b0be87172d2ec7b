//! The agent of each node, played: it speaks the real protocol.

mod faults;
mod kubeadm;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use joinder::agent::{Call, Client, Disturb, Load, Pipe, Reply, Request, Said};
use joinder::event::{MemberId, Notice, Usage};
use joinder::runtime::fake::{Process, Program};
use joinder::sys::clock::Stamp;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub(crate) use self::kubeadm::Script;
use super::kubernetes::Kubernetes;
use super::store;

/// Plays all nodes of all clusters. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Nodes(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// By the cluster's name.
    clusters: BTreeMap<String, Kubernetes>,
    scripts: BTreeMap<String, Script>,
    /// Nodes whose agent never greets.
    mute: Vec<String>,
    cancelled: Vec<String>,
    /// What programs say, and how they end, by name and node.
    programs: BTreeMap<(String, String), (Vec<String>, i32)>,
    /// How often something in a node was restarted, by node and name.
    restarts: BTreeMap<(String, String), usize>,
    /// What does not come back once it was ended.
    gone: Vec<(String, String)>,
    leaderless: bool,
    /// Members with an alarm, by node.
    alarms: Vec<String>,
    /// The hash of each member's data where it is not the others', by node.
    hashes: BTreeMap<String, u32>,
    /// The proxies that stand, by node: where they say what they see.
    proxies: BTreeMap<String, (u64, mpsc::UnboundedSender<Reply>)>,
    /// A node and the method at which its proxy dies.
    dying: Vec<(String, String)>,
    disturbs: Vec<Disturbed>,
    /// The kubeadm that runs on a node can be killed by this.
    running: BTreeMap<String, CancellationToken>,
    /// Tables of nft, by node.
    tables: Vec<(String, String)>,
    /// Manifests that a fault has changed.
    edited: Vec<(String, String)>,
    no_nft: bool,
    /// Processes that stand still, by node and name.
    still: Vec<(String, String)>,
    /// Processes that have ended, and for how many looks they are not back yet; by node and name.
    between: BTreeMap<(String, String), u32>,
}

/// What a proxy was told to disturb.
#[derive(Clone)]
struct Disturbed {
    node: String,
    disturb: Disturb,
    seen: u32,
    lifted: CancellationToken,
}

impl Nodes {
    /// kubeadm on this node behaves so.
    pub(crate) fn script(&self, node: &str, script: Script) {
        self.lock().scripts.insert(node.to_owned(), script);
    }

    /// The agent of this node never answers anything.
    pub(crate) fn mute(&self, node: &str) {
        self.lock().mute.push(node.to_owned());
    }

    /// Nodes on which kubeadm was told to end.
    pub(crate) fn cancelled(&self) -> Vec<String> {
        self.lock().cancelled.clone()
    }

    /// This program says so on this node, and ends with this code; others say nothing and end with 0.
    pub(crate) fn program(&self, node: &str, name: &str, lines: &[&str], code: i32) {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        self.lock().programs.insert((node.to_owned(), name.to_owned()), (lines, code));
    }

    /// No member knows a leader any more, in any cluster.
    pub(crate) fn no_leader(&self) {
        self.lock().leaderless = true;
    }

    /// This pod of the node's cluster is not Ready.
    pub(crate) fn unready(&self, node: &str, pod: &str) {
        self.cluster(node, |k| k.unready(pod));
    }

    /// The data of this node's member is not the others'.
    pub(crate) fn other_data(&self, node: &str) {
        self.lock().hashes.insert(node.to_owned(), 0xbad);
    }

    /// This part of the node does not come back when it is restarted.
    pub(crate) fn stays_down(&self, node: &str, part: &str) {
        self.lock().gone.push((node.to_owned(), part.to_owned()));
    }

    /// The proxy of this node dies when kubeadm calls this.
    pub(crate) fn proxy_dies(&self, node: &str, method: &str) {
        self.lock().dying.push((node.to_owned(), method.to_owned()));
    }

    /// No node has nft.
    pub(crate) fn no_nft(&self) {
        self.lock().no_nft = true;
    }

    /// This process of the node has just ended, and is back only after so many looks.
    pub(crate) fn just_ended(&self, node: &str, what: &str, looks: u32) {
        self.lock().between.insert((node.to_owned(), what.to_owned()), looks);
    }

    /// What faults have left in nodes: proxies, what they disturb, tables, processes that stand still.
    pub(crate) fn left(&self) -> Vec<String> {
        let inner = self.lock();
        let proxies = inner.proxies.keys().map(|node| format!("proxy of {node}"));
        let disturbs = inner.disturbs.iter().map(|held| format!("{} on {}", held.disturb.key, held.node));
        let tables = inner.tables.iter().map(|(node, table)| format!("{table} on {node}"));
        let still = inner.still.iter().map(|(node, name)| format!("{name} on {node} stands still"));
        let edited = inner.edited.iter().map(|(node, of)| format!("the changed manifest of {of} on {node}"));
        proxies.chain(disturbs).chain(tables).chain(still).chain(edited).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cluster<T>(&self, node: &str, act: impl FnOnce(&mut Kubernetes) -> T) -> T {
        act(self.lock().clusters.entry(cluster_of(node)).or_default())
    }
}

fn cluster_of(node: &str) -> String {
    let parts = ["-control-plane-", "-worker-", "-etcd-"];
    let end = parts.iter().find_map(|part| node.find(part)).unwrap_or(node.len());
    node[..end].to_owned()
}

#[async_trait]
impl Program for Nodes {
    async fn run(&self, process: Process) -> i64 {
        assert_eq!(process.argv, [joinder::agent::PATH, joinder::agent::COMMAND]);
        if self.lock().mute.contains(&process.container) {
            std::future::pending::<()>().await;
        }
        let (to, mut replies) = mpsc::unbounded_channel::<Reply>();
        let mut output = process.output;
        let write = async move {
            while let Some(reply) = replies.recv().await {
                let line = serde_json::to_string(&reply).expect("JSON") + "\n";
                if output.write_all(line.as_bytes()).await.is_err() {
                    break;
                }
            }
        };
        let read = async {
            let mut lines = BufReader::new(process.input).lines();
            let mut calls = JoinSet::new();
            let mut stops: HashMap<u64, CancellationToken> = HashMap::new();
            while let Ok(Some(line)) = lines.next_line().await {
                let Request { id, call } = serde_json::from_str(&line).expect("a request");
                if let Call::Cancel { of } = call {
                    stops.get(&of).inspect(|stop| stop.cancel());
                    continue;
                }
                let stop = stops.entry(id).or_default().clone();
                let one = One { nodes: self.clone(), node: process.container.clone(), id, to: to.clone(), stop };
                calls.spawn(async move { one.carry_out(call).await });
            }
        };
        tokio::select! {
            () = write => {}
            () = read => {}
        }
        0
    }
}

/// One call to one node.
struct One {
    nodes: Nodes,
    node: String,
    id: u64,
    to: mpsc::UnboundedSender<Reply>,
    stop: CancellationToken,
}

impl One {
    fn say(&self, said: Said) {
        let _ = self.to.send(Reply { id: self.id, said });
    }

    async fn carry_out(&self, call: Call) {
        let failed = |why| Said::Failed { why };
        let last = match call {
            Call::Hello => Said::Hello { version: env!("CARGO_PKG_VERSION").into(), now: Stamp::now() },
            Call::Run { argv, .. } if argv[0] == "kubeadm" => self.kubeadm(&argv).await,
            Call::Run { argv, .. } if argv.len() > 3 && argv[0] == "sh" && argv[3] == "joinder" => self.script(&argv[2], &argv[4..]),
            Call::Run { argv, .. } => self.program(&argv).await,
            Call::Cri { .. } | Call::Cancel { .. } | Call::Preload { .. } | Call::Put { .. } => Said::Done,
            Call::Get { path, .. } => match self.nodes.cluster(&self.node, |k| k.get(&self.node, &path)) {
                Ok((status, body)) => Said::Answer { status, body },
                Err(why) => failed(why),
            },
            Call::Watch { every, .. } => self.watch(Duration::from_millis(every)).await,
            Call::Members { .. } => match self.nodes.cluster(&self.node, |k| k.settled_members(&self.node)) {
                Ok(members) => Said::Members { members },
                Err(why) => failed(why),
            },
            Call::Change { change, .. } => match self.nodes.cluster(&self.node, |k| k.change(&change)) {
                Ok(members) => Said::Members { members },
                Err(why) => failed(why.to_owned()),
            },
            Call::Spawn { argv, .. } => {
                // one that fails has ended before anybody looks
                if !matches!(self.nodes.lock().scripts.get(&self.node), Some(Script::Fails(_))) {
                    self.nodes.cluster(&self.node, |k| k.spawn(&self.node, &argv));
                }
                Said::Done
            }
            Call::End { .. } => {
                if self.nodes.cluster(&self.node, |k| k.end(&self.node)) {
                    Said::Done
                } else {
                    failed("etcd does not run".into())
                }
            }
            Call::Runs { .. } => {
                if self.nodes.cluster(&self.node, |k| k.runs(&self.node)) {
                    Said::Done
                } else {
                    failed("etcd does not run".into())
                }
            }
            Call::DataHash { revision, .. } => match self.nodes.cluster(&self.node, |k| k.settled_members(&self.node)) {
                Ok(_) => {
                    let hash = self.nodes.lock().hashes.get(&self.node).copied().unwrap_or(0x600d);
                    let notice = Notice::DataHash { member: MemberId(1), revision: revision.unwrap_or(100), compacted: 0, hash };
                    self.say(Said::Noticed { seen: Stamp::now(), notice });
                    Said::Done
                }
                Err(why) => failed(why),
            },
            Call::Metrics => Said::Answer { status: 200, body: String::new() },
            Call::Meter { every, .. } => self.meter(Duration::from_millis(every)).await,
            Call::Usage => Said::Used { usage: Usage::default() },
            Call::Proxy => self.proxy().await,
            Call::Disturb { disturb } => {
                let lifted = CancellationToken::new();
                self.nodes.lock().disturbs.push(Disturbed { node: self.node.clone(), disturb, seen: 0, lifted });
                Said::Done
            }
            Call::Lift { key } => {
                let mut nodes = self.nodes.lock();
                let (gone, left) =
                    std::mem::take(&mut nodes.disturbs).into_iter().partition(|held| held.node == self.node && held.disturb.key == key);
                nodes.disturbs = left;
                let gone: Vec<Disturbed> = gone;
                for held in gone {
                    held.lifted.cancel();
                }
                Said::Done
            }
            Call::Load { load } => self.load(&load).await,
            Call::Kept { node, prefix, .. } => {
                match self.nodes.cluster(&self.node, |k| k.store(&self.node).map(|s| s.kept(&node, &prefix))) {
                    Ok(kept) => Said::Kept { kept },
                    Err(why) => failed(why),
                }
            }
        };
        self.say(last);
    }

    /// Calls a store that keeps what it is told, one call after the other.
    async fn load(&self, load: &Load) -> Said {
        let mut n = load.from;
        loop {
            let api = matches!(load.client, Client::ApiWriter { .. } | Client::ApiReader { .. });
            let answer = self.nodes.cluster(&self.node, |k| {
                let store = if api { k.store_by_api() } else { k.store(&self.node) };
                store.map(|store| store.call(load, n))
            });
            let call = answer.unwrap_or_else(|why| store::failed(load, n, why));
            self.say(Said::Called { call });
            n += 1;
            tokio::select! {
                () = self.stop.cancelled() => return Said::Done,
                () = sleep(Duration::from_micros(load.every_us)) => {}
            }
        }
    }

    /// Tells when its Node object is there, which is Ready at once; the real agent asks more often than it measures, too.
    async fn meter(&self, every: Duration) -> Said {
        let mut told = false;
        loop {
            let registered = self.nodes.cluster(&self.node, |k| k.is_registered(&self.node));
            if registered && !told {
                self.say(Said::Noticed { seen: Stamp::now(), notice: Notice::NodeReady });
            }
            told = registered;
            tokio::select! {
                () = self.stop.cancelled() => return Said::Done,
                () = sleep(every / 10) => {}
            }
        }
    }

    /// Tells each change, without the real agent's heartbeat.
    async fn watch(&self, every: Duration) -> Said {
        let mut before = None;
        loop {
            let mut sample = self.nodes.cluster(&self.node, |k| k.sample(&self.node));
            if let (Some(status), true) = (&mut sample.status, self.nodes.lock().leaderless) {
                status.leader = MemberId(0);
            }
            if let (Some(status), true) = (&mut sample.status, self.nodes.lock().alarms.contains(&self.node)) {
                status.errors = vec!["memberID:1 alarm:NOSPACE ".into()];
            }
            if before.as_ref().is_none_or(|before| sample.differs(before)) {
                self.say(Said::Sample { sample: sample.clone() });
                before = Some(sample);
            }
            tokio::select! {
                () = self.stop.cancelled() => return Said::Done,
                () = sleep(every) => {}
            }
        }
    }

    /// joinder's own scripts, by what they do.
    fn script(&self, script: &str, args: &[String]) -> Said {
        if let Some(said) = self.fault_script(script, args) {
            return said;
        }
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        let part = if script.contains("systemctl") { "kubelet".to_owned() } else { arg(0) };
        let say = |text: String| self.say(Said::Line { pipe: Pipe::Out, seen: Stamp::now(), text, more: false });
        if script.contains("can-i") {
            say("yes".into());
            say("yes".into());
        } else if script.contains("delete node") {
            self.nodes.cluster(&self.node, |k| k.unregister(&arg(2)));
        } else if script.contains("readlink") {
            say(arg(0));
        } else if script.contains("crictl inspect") || script.contains("systemctl restart") {
            // a container's id begins with its name
            let part = part.split('/').next().unwrap_or_default().to_owned();
            *self.nodes.lock().restarts.entry((self.node.clone(), part)).or_default() += 1;
        } else if script.contains("crictl ps") || script.contains("systemctl show") {
            let nodes = self.nodes.lock();
            let key = (self.node.clone(), part);
            let count = nodes.restarts.get(&key).copied().unwrap_or(0);
            if count == 0 || !nodes.gone.contains(&key) {
                say(format!("{}/{count}", key.1));
            }
        }
        Said::Exited { code: Some(0), signal: None }
    }

    async fn program(&self, argv: &[String]) -> Said {
        let found = self.nodes.lock().programs.get(&(self.node.clone(), argv[0].clone())).cloned();
        if argv[0] == "missing" {
            return Said::Failed { why: "cannot start missing: No such file or directory (os error 2)".into() };
        }
        if argv[0] == "forget" {
            self.nodes.cluster(&self.node, |k| k.store_by_api().map(|store| store.forget(&argv[1]))).expect("an API server");
        }
        if argv[0] == "endless" {
            self.stop.cancelled().await;
            self.nodes.lock().cancelled.push(self.node.clone());
            return Said::Exited { code: None, signal: Some(15) };
        }
        if argv[0] == "fill-up" {
            self.nodes.lock().alarms.push(self.node.clone());
        }
        let (lines, code) = found.unwrap_or_default();
        for line in lines {
            self.line(&line).await;
        }
        Said::Exited { code: Some(code), signal: None }
    }
}
