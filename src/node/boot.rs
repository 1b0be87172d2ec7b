//! A node from its plan until containerd's CRI answers, and the connection to its agent.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::files::{self, NodeFile, Overrides};
use super::{flags, path};
use crate::agent::{self, Agent, AgentError, Call, EtcdAccess, Output, Said};
use crate::runtime::{ContainerSpec, Fault, Runtime, RuntimeError, api};
use crate::sys::wait::{Look, Patience, WaitError, wait};

/// What gRPC says of a service that there is not: the CRI part of containerd has failed to load, as where the host has no inotify
/// instance left (`fs.inotify.max_user_instances`).
const NO_CRI: &str = "unknown service";

/// Says why.
const WHY_NO_CRI: &str =
    "journalctl --no-pager -b -o cat -u containerd -n 1 -g 'failed to load plugin io.containerd.grpc.v1.cri' 2>/dev/null |
sed -n 's/.*error=//p'";

/// What a node is in its cluster; the words are kind's and kinder's role labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs an API server and an etcd member.
    ControlPlane,
    /// Runs pods only.
    Worker,
    /// Runs an etcd member and nothing else.
    Etcd,
}

impl Role {
    /// As in labels and names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlane => "control-plane",
            Self::Worker => "worker",
            Self::Etcd => "etcd",
        }
    }

    /// Can there be an etcd member on it?
    pub fn has_member(self) -> bool {
        match self {
            Self::ControlPlane | Self::Etcd => true,
            Self::Worker => false,
        }
    }

    /// The role that a label or a part of a name tells.
    pub fn of(word: &str) -> Option<Self> {
        [Self::ControlPlane, Self::Worker, Self::Etcd].into_iter().find(|role| role.as_str() == word)
    }
}

/// A node that is to be made.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Container and node name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Position in the cluster, from 1.
    pub index: u8,
    /// Its fixed address.
    pub address: Ipv4Addr,
    /// The network's gateway.
    pub gateway: Ipv4Addr,
    /// Index and address of every other node.
    pub others: Vec<(u8, Ipv4Addr)>,
    /// Image, network, labels and ports; rights and mounts are added here.
    pub container: ContainerSpec,
    /// The user's own binaries.
    pub overrides: Overrides,
    /// Files beside joinder's own.
    pub files: Vec<NodeFile>,
}

/// How long a node may take to come up.
#[derive(Clone, Debug)]
pub struct BootLimits {
    /// From start until containerd's CRI answers.
    pub containerd: Duration,
    /// Gives up at once.
    pub stop: CancellationToken,
}

/// Why a node is not there.
#[derive(Debug, Error)]
pub enum NodeError {
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] RuntimeError),
    /// The agent could not be reached or refused.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// It did not come up.
    #[error("{wait}{}", last_lines(.log))]
    Boot {
        /// What was waited for.
        wait: WaitError,
        /// The last lines that it wrote.
        log: String,
    },
    /// A file for it could not be read.
    #[error("cannot prepare the files of {node}: {source}")]
    Files {
        /// The node.
        node: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file of this machine that is copied could not be read or written.
    #[error("{file}: {source}")]
    Here {
        /// The file or folder.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
    /// It speaks another protocol.
    #[error("{node} runs the agent of joinder {theirs}, this is {}: delete the cluster with the joinder that made it", env!("CARGO_PKG_VERSION"))]
    OtherVersion {
        /// The node.
        node: String,
        /// The agent's version.
        theirs: String,
    },
}

fn last_lines(log: &str) -> String {
    // systemd that cannot watch its control groups ends without a word
    if log.is_empty() {
        "; it said nothing. `joinder doctor` says what the machine may be short of".to_owned()
    } else {
        format!("\nits last lines:\n{}", log.trim_end())
    }
}

/// A running node with its agent.
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Position in the cluster, from 1.
    pub index: u8,
    /// Its fixed address.
    pub address: Ipv4Addr,
    pub(super) runtime: Arc<dyn Runtime>,
    /// Another one after each restart.
    agent: watch::Sender<Arc<Agent>>,
}

impl Node {
    /// Makes the container, writes its files and starts it, without waiting for anything inside.
    ///
    /// # Errors
    /// [`NodeError::Engine`] or [`NodeError::Files`]; the container may then be there.
    pub async fn create(plan: &NodePlan, runtime: &Arc<dyn Runtime>) -> Result<(), NodeError> {
        let mut spec = plan.container.clone();
        let packed = match plan.role {
            Role::ControlPlane | Role::Worker => {
                flags::unprivileged(&mut spec);
                files::archive(plan.index, plan.gateway, &plan.others, &plan.overrides, &plan.files)
            }
            Role::Etcd => {
                flags::etcd_alone(&mut spec);
                files::archive_of_etcd(&plan.overrides, &plan.files)
            }
        };
        let tar = packed.map_err(|source| NodeError::Files { node: plan.name.clone(), source })?;
        runtime.create(&spec).await?;
        runtime.put(&plan.name, tar).await?;
        runtime.start(&plan.name).await?;
        Ok(())
    }

    /// Waits for containerd, brings up the pods' routes, and returns the node.
    ///
    /// # Errors
    /// [`NodeError::Boot`] with the container's last lines when it ends or does not get there in time.
    pub async fn boot(plan: &NodePlan, runtime: &Arc<dyn Runtime>, limits: &BootLimits) -> Result<Self, NodeError> {
        let stopped = || WaitError::Stopped { what: format!("boot of {}", plan.name) };
        tokio::select! {
            () = limits.stop.cancelled() => Err(NodeError::Boot { wait: stopped(), log: String::new() }),
            node = Self::come_up(plan, runtime, limits) => node,
        }
    }

    async fn come_up(plan: &NodePlan, runtime: &Arc<dyn Runtime>, limits: &BootLimits) -> Result<Self, NodeError> {
        let node = match Self::attach(plan.name.clone(), plan.role, plan.index, plan.address, runtime, limits.containerd).await {
            Ok(node) => node,
            Err(e) => return Err(explain(e, &plan.name, runtime).await),
        };
        if node.role == Role::Etcd {
            return Ok(node);
        }
        node.until_containerd(limits).await?;
        node.run_quietly(&["sh", path::NETWORK], limits.containerd).await?;
        if plan.overrides.etcd.is_some() {
            node.run_quietly(&["sh", "-c", files::REPLACE_ETCD], limits.containerd).await?;
        }
        Ok(node)
    }

    /// Connects to the agent of a running node.
    ///
    /// # Errors
    /// [`NodeError::OtherVersion`] when another joinder made it.
    pub async fn attach(
        name: String,
        role: Role,
        index: u8,
        address: Ipv4Addr,
        runtime: &Arc<dyn Runtime>,
        limit: Duration,
    ) -> Result<Self, NodeError> {
        let agent = connect(&name, runtime, limit).await?;
        Ok(Self { name, role, index, address, runtime: runtime.clone(), agent: watch::Sender::new(Arc::new(agent)) })
    }

    /// Waits for containerd's CRI.
    ///
    /// # Errors
    /// [`NodeError::Boot`] with the container's last lines.
    pub(super) async fn until_containerd(&self, limits: &BootLimits) -> Result<(), NodeError> {
        let patience = Patience { limit: limits.containerd, every: Duration::from_millis(50), stop: limits.stop.clone() };
        let up = wait(format!("containerd's CRI in {}", self.name), &patience, || async {
            match self.containerd(limits.containerd).await {
                Ok(()) => Look::Done(()),
                Err(e @ AgentError::Lost { .. }) => Look::Never(e.to_string()),
                // all services are there before containerd listens
                Err(e @ AgentError::Refused { .. }) if e.to_string().contains(NO_CRI) => {
                    match self.script(WHY_NO_CRI, &[], limits.containerd).await {
                        Ok(why) if !why.trim().is_empty() => Look::Never(why.trim().to_owned()),
                        Ok(_) | Err(_) => Look::Never(e.to_string()),
                    }
                }
                Err(e @ (AgentError::Refused { .. } | AgentError::Late { .. })) => Look::NotYet(e.to_string()),
            }
        });
        let Err(wait) = up.await else { return Ok(()) };
        let log = self.runtime.logs(&self.name, 15).await.unwrap_or_default();
        Err(NodeError::Boot { wait, log })
    }

    /// Runs a command. On a control plane kubectl finds the administrator's kubeconfig, as in kind's nodes; beside etcd alone
    /// etcdctl finds its member.
    pub fn command(&self, argv: Vec<String>, mut env: BTreeMap<String, String>) -> agent::Process {
        let mut add = |name: &str, value: &str| {
            env.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        };
        match self.role {
            Role::ControlPlane => add("KUBECONFIG", path::ADMIN_CONF),
            Role::Etcd => {
                let etcd = self.etcd();
                let endpoint = format!("https://{}", etcd.address);
                for (name, value) in [("ENDPOINTS", &endpoint), ("CACERT", &etcd.ca), ("CERT", &etcd.cert), ("KEY", &etcd.key)] {
                    add(&format!("ETCDCTL_{name}"), value);
                }
            }
            Role::Worker => {}
        }
        self.agent().run_with(argv, env)
    }

    /// How its own etcd member is reached from inside.
    pub fn etcd(&self) -> EtcdAccess {
        let [ca, cert, key] = match self.role {
            Role::ControlPlane | Role::Worker => path::KUBEADM_ETCD,
            Role::Etcd => path::ETCD_CLIENT,
        };
        EtcdAccess { address: path::ETCD.into(), ca: ca.into(), cert: cert.into(), key: key.into() }
    }

    /// The file that its etcd writes its log to, where that is no pod's.
    pub fn etcd_log(&self) -> Option<&'static str> {
        (self.role == Role::Etcd).then_some(path::ETCD_LOG)
    }

    /// Does containerd's CRI answer?
    ///
    /// # Errors
    /// Why not.
    pub async fn containerd(&self, limit: Duration) -> Result<(), AgentError> {
        self.agent().ask(Call::Cri { socket: path::CONTAINERD.into() }, limit).await.map(drop)
    }

    /// Connects to the agent anew, after the old connection has ended with its container.
    ///
    /// # Errors
    /// As [`Node::attach`].
    pub async fn renew(&self, limit: Duration) -> Result<(), NodeError> {
        let agent = connect(&self.name, &self.runtime, limit).await?;
        self.agent.send_replace(Arc::new(agent));
        Ok(())
    }

    /// The agent in it, as last connected to.
    pub fn agent(&self) -> Arc<Agent> {
        self.agent.borrow().clone()
    }

    /// The same, and each one that comes after it.
    pub fn agents(&self) -> watch::Receiver<Arc<Agent>> {
        self.agent.subscribe()
    }

    /// Tells it the way to the pods of the other nodes, by index and address; now and at each boot.
    ///
    /// # Errors
    /// The engine's or the agent's.
    pub async fn route(&self, others: &[(u8, Ipv4Addr)], limit: Duration) -> Result<(), NodeError> {
        self.write(path::NETWORK, 0o755, files::network_script(others).as_bytes()).await?;
        self.run_quietly(&["sh", path::NETWORK], limit).await?;
        Ok(())
    }

    /// What is wrong with its container, in words: `is paused`, `has exited with code 137`. `None` when it runs.
    ///
    /// # Errors
    /// The engine's.
    pub async fn trouble(&self) -> Result<Option<String>, RuntimeError> {
        let container = self.runtime.container(&self.name).await?;
        Ok(match (container.state.as_str(), container.exit_code) {
            ("running", _) => None,
            ("exited", Some(code)) => Some(format!("has exited with code {code}")),
            (state, _) => Some(format!("is {state}")),
        })
    }

    /// Runs a command that should say nothing; what it says when it fails is the error.
    ///
    /// # Errors
    /// [`AgentError::Refused`] with its output when it exits with anything but 0.
    pub async fn run_quietly(&self, argv: &[&str], limit: Duration) -> Result<String, AgentError> {
        self.said(argv, limit).await.map_err(|e| match e {
            Ended::Badly(said) => self.refused(format!("{}: {}", argv.join(" "), said.trim())),
            Ended::Unseen(e) => e,
        })
    }

    async fn said(&self, argv: &[&str], limit: Duration) -> Result<String, Ended> {
        let mut process = self.agent().run(argv.iter().map(|a| (*a).to_owned()).collect());
        let follow = async {
            let mut said = String::new();
            loop {
                match process.next().await.map_err(Ended::Unseen)? {
                    Output::Line { text, more, .. } => {
                        said.push_str(&text);
                        if !more {
                            said.push('\n');
                        }
                    }
                    Output::Exited { code: Some(0), .. } => return Ok(said),
                    Output::Exited { .. } => return Err(Ended::Badly(said)),
                }
            }
        };
        tokio::time::timeout(limit, follow)
            .await
            .unwrap_or_else(|_| Err(Ended::Unseen(AgentError::Late { node: self.name.clone(), limit })))
    }

    /// Runs a shell script with these arguments, `$1` on; returns what it says.
    ///
    /// # Errors
    /// [`AgentError::Refused`] with just that when it exits with anything but 0.
    pub async fn script(&self, script: &str, args: &[&str], limit: Duration) -> Result<String, AgentError> {
        let argv: Vec<&str> = ["sh", "-c", script, "joinder"].into_iter().chain(args.iter().copied()).collect();
        self.said_by(&argv, limit).await
    }

    /// Runs a command; returns what it says.
    ///
    /// # Errors
    /// As [`Node::script`].
    pub async fn said_by(&self, argv: &[&str], limit: Duration) -> Result<String, AgentError> {
        self.said(argv, limit).await.map_err(|e| match e {
            Ended::Badly(said) => self.refused(said.trim().to_owned()),
            Ended::Unseen(e) => e,
        })
    }

    /// Writes one file into the node.
    ///
    /// # Errors
    /// Of the engine. Paths on tmpfs (`/tmp`, `/run`) cannot be written.
    pub async fn write(&self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), NodeError> {
        let files = |source| NodeError::Files { node: self.name.clone(), source };
        let mut archive = crate::runtime::Archive::default();
        archive.file(path, mode, bytes).map_err(files)?;
        self.runtime.put(&self.name, archive.finish().map_err(files)?).await?;
        Ok(())
    }

    /// A file or folder of the node as a tar archive.
    ///
    /// # Errors
    /// `NotFound` of the engine when it is not there.
    pub async fn read_tar(&self, path: &str) -> Result<Vec<u8>, NodeError> {
        let mut tar = Vec::new();
        self.runtime.get(&self.name, path, &mut tar).await?;
        Ok(tar)
    }

    /// Reads one file of the node.
    ///
    /// # Errors
    /// `NotFound` of the engine when it is not there.
    pub async fn read(&self, path: &str) -> Result<Bytes, NodeError> {
        let tar = self.read_tar(path).await?;
        let bytes = api::only_file(&tar).map_err(|source| NodeError::Files { node: self.name.clone(), source })?;
        Ok(bytes.into())
    }

    /// Reads one file that may not be there.
    ///
    /// # Errors
    /// Of the engine.
    pub async fn read_if_there(&self, path: &str) -> Result<Option<Bytes>, NodeError> {
        match self.read(path).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(NodeError::Engine(e)) if e.is(Fault::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn refused(&self, why: String) -> AgentError {
        AgentError::Refused { node: self.name.clone(), why }
    }
}

/// Why a command's output is no answer.
enum Ended {
    /// It exited with something else than 0, and said this.
    Badly(String),
    /// It could not be followed.
    Unseen(AgentError),
}

/// Starts an agent in a running container and greets it.
async fn connect(name: &str, runtime: &Arc<dyn Runtime>, limit: Duration) -> Result<Agent, NodeError> {
    let exec = runtime.exec(name, &[agent::PATH.to_owned(), agent::COMMAND.to_owned()]).await?;
    let output = exec.output.map(|piece| match piece {
        Ok((api::Pipe::Out, bytes)) => Ok((agent::Pipe::Out, bytes)),
        Ok((api::Pipe::Err, bytes)) => Ok((agent::Pipe::Err, bytes)),
        Err(e) => Err(e.to_string()),
    });
    let agent = Agent::over(name, exec.input, output.boxed());
    let Said::Hello { version, .. } = agent.ask(Call::Hello, limit).await? else {
        return Err(AgentError::Refused { node: name.to_owned(), why: "no greeting".into() }.into());
    };
    if version != env!("CARGO_PKG_VERSION") {
        return Err(NodeError::OtherVersion { node: name.to_owned(), theirs: version });
    }
    Ok(agent)
}

/// A node whose agent cannot be reached has often ended: its own last lines tell more than the failed exec.
async fn explain(error: NodeError, name: &str, runtime: &Arc<dyn Runtime>) -> NodeError {
    let Ok(container) = runtime.container(name).await else { return error };
    if container.state == "running" {
        return error;
    }
    let log = runtime.logs(name, 15).await.unwrap_or_default();
    let code = container.exit_code.map_or_else(String::new, |c| format!(" with code {c}"));
    let wait = WaitError::Never { what: format!("boot of {name}"), why: format!("the container {}{code}", container.state) };
    NodeError::Boot { wait, log }
}
