//! kubeadm, run in a node by its agent and followed line by line.

use thiserror::Error;
use tokio::time::Instant;

use super::output;
use crate::agent::{AgentError, Output};
use crate::event::{Bus, Event};
use crate::node::{Node, NodeError, path};
use crate::sys::redact::Redactor;
use crate::sys::stop::Stop;

/// Lines kept to look for the error in.
const KEPT: usize = 400;

/// A signal ended it that was not ours.
const KILLED: &str = "it was killed";

/// Why a kubeadm command did not succeed.
#[derive(Debug, Error)]
pub enum KubeadmError {
    /// kubeadm itself said so.
    #[error("kubeadm {command} failed on {node} in phase {phase}: {error}")]
    Failed {
        /// `init`, `join`.
        command: String,
        /// The node.
        node: String,
        /// The last phase it announced.
        phase: String,
        /// Its own error line, or its exit code.
        error: String,
    },
    /// It was stopped.
    #[error("kubeadm {command} on {node} was stopped")]
    Stopped {
        /// `init`, `join`.
        command: String,
        /// The node.
        node: String,
    },
    /// The node could not be spoken to.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The agent could not be spoken to.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Its configuration could not be made.
    #[error("cannot write kubeadm's configuration for {node}: {why}")]
    Config {
        /// The node.
        node: String,
        /// Why.
        why: String,
    },
}

/// Runs kubeadm commands and tells what they do.
pub struct Kubeadm<'a> {
    /// Hears lines and phases.
    pub events: &'a Bus,
    /// Removes the cluster's secrets from each line.
    pub redact: &'a Redactor,
    /// Its soft level ends the command in the node.
    pub stop: &'a Stop,
    /// kubeadm's `--v`.
    pub level: u8,
}

impl Kubeadm<'_> {
    /// Writes `config` to [`path::KUBEADM_CONFIG`] and runs `kubeadm COMMAND --config … ARGS`; a command may be several words.
    ///
    /// # Errors
    /// [`KubeadmError`]; [`KubeadmError::Failed`] has kubeadm's own error line.
    pub async fn run(&self, node: &Node, command: &str, config: &str, args: &[&str]) -> Result<(), KubeadmError> {
        node.write(path::KUBEADM_CONFIG, 0o600, config.as_bytes()).await?;
        let mut all = vec!["--config", path::KUBEADM_CONFIG];
        all.extend(args);
        self.plain(node, command, &all).await
    }

    /// Runs `kubeadm reset`, which takes the node's member out of etcd.
    ///
    /// # Errors
    /// As [`Kubeadm::run`]; a member that could not be removed is none: kubeadm only warns of it.
    pub async fn reset(&self, node: &Node) -> Result<(), KubeadmError> {
        self.plain(node, "reset", &["--force", "--cri-socket", path::CRI]).await
    }

    /// The same without a configuration.
    ///
    /// # Errors
    /// As [`Kubeadm::run`].
    pub async fn plain(&self, node: &Node, command: &str, args: &[&str]) -> Result<(), KubeadmError> {
        let argv = std::iter::once("kubeadm").chain(command.split(' ')).chain(args.iter().copied());
        let argv: Vec<String> = argv.map(str::to_owned).chain([format!("--v={}", self.level)]).collect();
        self.events.tell(Event::KubeadmStarted { node: node.name.clone(), argv: argv.clone() });
        let began = Instant::now();
        let mut follow = Follow { node: node.name.clone(), lines: Vec::new(), phase: None };
        let end = self.follow(node, argv, &mut follow).await;
        let code = match &end {
            Ok(End::Exited(code)) => *code,
            Ok(End::Stopped) | Err(_) => None,
        };
        let error = output::error(follow.lines.iter().map(String::as_str));
        self.events.tell(Event::KubeadmFinished {
            node: node.name.clone(),
            code,
            phase: follow.phase.clone(),
            error: match &end {
                Ok(End::Exited(None)) => error.clone().or_else(|| Some(KILLED.to_owned())),
                Ok(End::Exited(Some(0)) | End::Stopped) | Err(_) if code == Some(0) => None,
                Ok(_) | Err(_) => error.clone(),
            },
            took: began.elapsed(),
        });
        let (command, node) = (command.to_owned(), node.name.clone());
        match end? {
            End::Exited(Some(0)) => Ok(()),
            End::Stopped => Err(KubeadmError::Stopped { command, node }),
            End::Exited(code) => {
                let phase = follow.phase.unwrap_or_else(|| "before the first".into());
                let exit = code.map_or_else(
                    || KILLED.to_owned(),
                    |c| format!("exit code {c}, last line: {}", follow.lines.last().map_or("", String::as_str)),
                );
                Err(KubeadmError::Failed { command, node, phase, error: error.unwrap_or(exit) })
            }
        }
    }

    async fn follow(&self, node: &Node, argv: Vec<String>, follow: &mut Follow) -> Result<End, AgentError> {
        let mut process = node.agent().run(argv);
        let mut redact = self.redact.lines();
        loop {
            let Some(output) = process.next_or_stop(self.stop).await else { return Ok(End::Stopped) };
            match output? {
                Output::Line { seen, text, more, .. } => {
                    let line = redact.piece(&text, more);
                    // Asked of the raw line: what stands in a secret's place looks like a phase.
                    if let Some(phase) = output::phase(&text).filter(|p| follow.phase.as_deref() != Some(p)) {
                        follow.phase = Some(phase.to_owned());
                        self.events.tell(Event::KubeadmPhase { node: follow.node.clone(), seen, phase: phase.to_owned() });
                    }
                    self.events.tell(Event::KubeadmLine { node: follow.node.clone(), seen, line: line.clone() });
                    if follow.lines.len() == KEPT {
                        follow.lines.remove(0);
                    }
                    follow.lines.push(line);
                }
                Output::Exited { .. } if process.is_stopped() => return Ok(End::Stopped),
                Output::Exited { code, .. } => return Ok(End::Exited(code)),
            }
        }
    }
}

struct Follow {
    node: String,
    lines: Vec<String>,
    phase: Option<String>,
}

enum End {
    Exited(Option<i32>),
    Stopped,
}
