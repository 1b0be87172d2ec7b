//! kubeadm, played: a few lines and some sleep.

use std::time::Duration;

use joinder::agent::{Pipe, Said};
use joinder::sys::clock::Stamp;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::super::kubernetes::Kubernetes;
use super::One;

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
    /// `reset` ends well, but only warns that the member is still there.
    LeavesMember,
}

impl One {
    pub(super) async fn kubeadm(&self, argv: &[String]) -> Said {
        self.say(Said::Started { pid: 42 });
        let script = self.nodes.lock().scripts.get(&self.node).cloned();
        let skipped = argv.iter().position(|arg| arg == "--skip-phases").map(|at| argv[at + 1].clone()).unwrap_or_default();
        let work = async {
            match (argv[1].as_str(), argv[2].as_str()) {
                ("init", _) => self.init(script.as_ref()).await,
                ("reset", _) => self.reset(script.as_ref()).await,
                ("join", "phase") => self.join(script.as_ref(), [false, true, false]).await,
                ("upgrade", _) => 0,
                _ => {
                    self.join(script.as_ref(), [!skipped.contains("preflight"), skipped.is_empty(), !skipped.contains("kubelet-wait")])
                        .await
                }
            }
        };
        tokio::pin!(work);
        let killed = CancellationToken::new();
        self.nodes.lock().running.insert(self.node.clone(), killed.clone());
        let code = tokio::select! {
            code = &mut work => Some(code),
            () = killed.cancelled() => {
                self.nodes.lock().running.remove(&self.node);
                return Said::Exited { code: None, signal: Some(9) };
            }
            () = self.stop.cancelled() => {
                self.nodes.lock().cancelled.push(self.node.clone());
                if script == Some(Script::Stubborn) {
                    work.await;
                }
                None
            }
        };
        self.nodes.lock().running.remove(&self.node);
        Said::Exited { code, signal: code.is_none().then_some(15) }
    }

    pub(super) async fn line(&self, text: &str) {
        sleep(Duration::from_millis(200)).await;
        self.say(Said::Line { pipe: Pipe::Out, seen: Stamp::now(), text: text.to_owned(), more: false });
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
            Script::NoApi | Script::WaitsForBalancer | Script::LeavesMember => None,
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

    async fn reset(&self, script: Option<&Script>) -> i32 {
        self.line("[reset] Stopping the kubelet service").await;
        if let Some(code) = self.misbehave(script).await {
            return code;
        }
        if script == Some(&Script::LeavesMember) {
            self.line("Failed to remove etcd member: context deadline exceeded, please manually remove this etcd member").await;
        } else {
            self.nodes.cluster(&self.node, |k| k.leave(&self.node));
        }
        0
    }

    /// The phases before etcd's, etcd's, and those after it.
    async fn join(&self, script: Option<&Script>, [before, etcd, after]: [bool; 3]) -> i32 {
        if before {
            if self.nodes.cluster(&self.node, |k| k.is_registered(&self.node)) {
                let error = "error execution phase kubelet-start: a Node with this name and status \"Ready\" already exists in the cluster";
                self.line(error).await;
                return 1;
            }
            self.line("[preflight] Reading configuration from the cluster").await;
            self.line("[kubelet-start] Starting the kubelet").await;
        }
        if !self.node.contains("-control-plane-") {
            self.nodes.cluster(&self.node, |k| k.register(&self.node));
            return 0;
        }
        if etcd {
            self.line("[etcd] Announced new etcd member joining to the existing etcd cluster").await;
            if let Some(code) = self.misbehave(script).await {
                return code;
            }
            self.etcd().await;
        }
        if after {
            self.line("[mark-control-plane] Marking the node as control-plane").await;
            self.nodes.cluster(&self.node, |k| {
                k.serve_api(&self.node);
                k.register(&self.node);
            });
        }
        0
    }

    async fn etcd(&self) {
        while let Err(why) = self.nodes.cluster(&self.node, |k| k.add_learner(&self.node)) {
            self.line(why).await;
        }
        self.calls("MemberAdd", |_| {}).await;
        sleep(Duration::from_millis(500)).await;
        self.nodes.cluster(&self.node, |k| k.start(&self.node));
        sleep(Duration::from_millis(500)).await;
        while !self.calls("MemberPromote", |k| k.promote(&self.node)).await {
            sleep(Duration::from_millis(500)).await;
        }
        // kubeadm looks for the whole cluster's health before it goes on
        self.line("[etcd] Waiting for the new etcd member to join the cluster").await;
    }
}
