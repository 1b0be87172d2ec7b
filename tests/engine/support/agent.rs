//! The agent of each node, played: it speaks the real protocol, and kubeadm is a few lines and some sleep.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use joinder::agent::{Call, Pipe, Reply, Request, Said};
use joinder::event::Usage;
use joinder::runtime::fake::{Process, Program};
use joinder::sys::clock::Stamp;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::kubernetes::Kubernetes;

/// How kubeadm behaves on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// It fails in its phase `etcd`, with this error line above a stack.
    Fails(&'static str),
    /// It never ends by itself.
    Hangs,
    /// It does not even end when it is told to.
    Stubborn,
    /// `init` ends well, but no API server ever answers.
    NoApi,
    /// `init` has its API server ready, but does not end: it cannot reach it through the load balancer.
    WaitsForBalancer,
}

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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cluster<T>(&self, node: &str, act: impl FnOnce(&mut Kubernetes) -> T) -> T {
        act(self.lock().clusters.entry(cluster_of(node)).or_default())
    }
}

fn cluster_of(node: &str) -> String {
    let end = node.find("-control-plane-").or_else(|| node.find("-worker-")).unwrap_or(node.len());
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
            Call::Run { argv, .. } if argv[0] == "kubeadm" => self.kubeadm(&argv[1]).await,
            Call::Run { .. } => Said::Exited { code: Some(0), signal: None },
            Call::Dial { .. } | Call::Cancel { .. } => Said::Done,
            Call::Get { path, .. } => match self.nodes.cluster(&self.node, |k| k.get(&self.node, &path)) {
                Ok((status, body)) => Said::Answer { status, body },
                Err(why) => failed(why),
            },
            Call::Watch { every, .. } => self.watch(Duration::from_millis(every)).await,
            Call::Members => match self.nodes.cluster(&self.node, |k| k.settled_members(&self.node)) {
                Ok(members) => Said::Members { members },
                Err(why) => failed(why),
            },
            Call::Metrics => Said::Answer { status: 200, body: String::new() },
            Call::Usage => Said::Used { usage: Usage::default() },
        };
        self.say(last);
    }

    /// Tells each change, without the real agent's heartbeat.
    async fn watch(&self, every: Duration) -> Said {
        let mut before = None;
        loop {
            let sample = self.nodes.cluster(&self.node, |k| k.sample(&self.node));
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

    async fn kubeadm(&self, command: &str) -> Said {
        self.say(Said::Started { pid: 42 });
        let script = self.nodes.lock().scripts.get(&self.node).cloned();
        let work = async { if command == "init" { self.init(script.as_ref()).await } else { self.join(script.as_ref()).await } };
        tokio::pin!(work);
        let code = tokio::select! {
            code = &mut work => Some(code),
            () = self.stop.cancelled() => {
                self.nodes.lock().cancelled.push(self.node.clone());
                if script == Some(Script::Stubborn) {
                    work.await;
                }
                None
            }
        };
        Said::Exited { code, signal: code.is_none().then_some(15) }
    }

    async fn line(&self, text: &str) {
        sleep(Duration::from_millis(200)).await;
        self.say(Said::Line { pipe: Pipe::Out, seen: Stamp::now(), text: text.to_owned() });
    }

    /// Says the error and a stack, or never returns, where the script says so.
    async fn misbehave(&self, script: Option<&Script>) -> Option<i32> {
        match script? {
            Script::Fails(error) => {
                self.line(error).await;
                self.line("k8s.io/kubernetes/cmd/kubeadm/app/cmd/phases/workflow.(*Runner).Run").await;
                Some(1)
            }
            Script::Hangs | Script::Stubborn => std::future::pending().await,
            Script::NoApi | Script::WaitsForBalancer => None,
        }
    }

    async fn init(&self, script: Option<&Script>) -> i32 {
        for text in ["[init] Using Kubernetes version: v1.36.3", "[certs] Generating certificates", "[etcd] Creating static Pod manifest"] {
            self.line(text).await;
        }
        if let Some(code) = self.misbehave(script).await {
            return code;
        }
        self.nodes.cluster(&self.node, |k| *k = Kubernetes::found(&self.node));
        self.line("[wait-control-plane] Waiting for the kubelet to boot up the control plane").await;
        if script == Some(&Script::NoApi) {
            return 0;
        }
        self.nodes.cluster(&self.node, |k| k.serve_api(&self.node));
        if script == Some(&Script::WaitsForBalancer) {
            std::future::pending::<()>().await;
        }
        self.line("[upload-certs] Storing the certificates in Secret").await;
        self.nodes.cluster(&self.node, |k| k.register(&self.node));
        0
    }

    async fn join(&self, script: Option<&Script>) -> i32 {
        self.line("[preflight] Reading configuration from the cluster").await;
        self.line("[kubelet-start] Starting the kubelet").await;
        if !self.node.contains("-control-plane-") {
            self.nodes.cluster(&self.node, |k| k.register(&self.node));
            return 0;
        }
        self.line("[etcd] Announced new etcd member joining to the existing etcd cluster").await;
        if let Some(code) = self.misbehave(script).await {
            return code;
        }
        while let Err(why) = self.nodes.cluster(&self.node, |k| k.add_learner(&self.node)) {
            self.line(why).await;
        }
        sleep(Duration::from_millis(500)).await;
        self.nodes.cluster(&self.node, |k| k.start(&self.node));
        sleep(Duration::from_millis(500)).await;
        self.nodes.cluster(&self.node, |k| k.promote(&self.node));
        self.line("[mark-control-plane] Marking the node as control-plane").await;
        self.nodes.cluster(&self.node, |k| {
            k.serve_api(&self.node);
            k.register(&self.node);
        });
        0
    }
}
