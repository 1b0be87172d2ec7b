//! The host's end: calls go out, replies come back to whoever asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use thiserror::Error;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::protocol::{Call, Reply, Request, Said};
use crate::sys::clock::human;

/// Why an agent did not do what it was asked.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The connection to it ended: its node died, or the agent did.
    #[error("lost the agent in {node}{}", if said.is_empty() { String::new() } else { format!(": {said}") })]
    Lost {
        /// The node.
        node: String,
        /// What it wrote to standard error, or what the engine said.
        said: String,
    },
    /// It said that it could not.
    #[error("{node}: {why}")]
    Refused {
        /// The node.
        node: String,
        /// Its words.
        why: String,
    },
    /// It did not answer in time.
    #[error("{node}: the agent did not answer in {}", human(*limit))]
    Late {
        /// The node.
        node: String,
        /// The limit.
        limit: Duration,
    },
}

type Calls = Arc<Mutex<Inner>>;

#[derive(Default)]
struct Inner {
    open: HashMap<u64, mpsc::UnboundedSender<Said>>,
    /// Set when the connection has ended.
    lost: Option<String>,
}

/// A connection to the agent of one node. Dropping it ends the agent and all that it runs.
pub struct Agent {
    node: String,
    next: AtomicU64,
    out: mpsc::UnboundedSender<Request>,
    calls: Calls,
    /// The two tasks that move bytes; they end with the connection, or with this.
    _tasks: JoinSet<()>,
}

/// One piece of the agent's output.
pub type Piece = Result<(super::Pipe, Bytes), String>;

impl Agent {
    /// Speaks to an agent over its standard input and output.
    pub fn over(
        node: &str,
        mut input: impl AsyncWrite + Unpin + Send + 'static,
        mut output: impl Stream<Item = Piece> + Unpin + Send + 'static,
    ) -> Self {
        let (out, mut requests) = mpsc::unbounded_channel::<Request>();
        let calls = Calls::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(request) = requests.recv().await {
                let Ok(mut line) = serde_json::to_vec(&request) else { continue };
                line.push(b'\n');
                if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
                    break;
                }
            }
            let _ = input.shutdown().await;
        });
        let heard = calls.clone();
        tasks.spawn(async move {
            let (mut line, mut said) = (Vec::new(), String::new());
            while let Some(piece) = output.next().await {
                match piece {
                    Ok((super::Pipe::Out, bytes)) => hear(&bytes, &mut line, &heard),
                    Ok((super::Pipe::Err, bytes)) => said.push_str(&String::from_utf8_lossy(&bytes)),
                    Err(e) => said.push_str(&e),
                }
            }
            let mut inner = heard.lock().unwrap_or_else(PoisonError::into_inner);
            inner.lost = Some(said.trim().to_owned());
            inner.open.clear();
        });
        Self { node: node.to_owned(), next: AtomicU64::new(1), out, calls, _tasks: tasks }
    }

    /// Starts a call; its replies come as they are said.
    pub fn call(&self, call: Call) -> Replies {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tx, rx) = mpsc::unbounded_channel();
        {
            let mut inner = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            if inner.lost.is_none() {
                inner.open.insert(id, tx);
            }
        }
        let _ = self.out.send(Request { id, call });
        Replies { id, rx, calls: self.calls.clone(), out: self.out.clone(), node: self.node.clone() }
    }

    /// A call with one reply.
    ///
    /// # Errors
    /// [`AgentError`]; [`AgentError::Refused`] when it said [`Said::Failed`].
    pub async fn ask(&self, call: Call, limit: Duration) -> Result<Said, AgentError> {
        let mut replies = self.call(call);
        let said = timeout(limit, replies.next()).await.map_err(|_| AgentError::Late { node: self.node.clone(), limit })??;
        match said {
            Said::Failed { why } => Err(AgentError::Refused { node: self.node.clone(), why }),
            said @ (Said::Hello { .. }
            | Said::Started { .. }
            | Said::Line { .. }
            | Said::Exited { .. }
            | Said::Answer { .. }
            | Said::Sample { .. }
            | Said::Members { .. }
            | Said::Used { .. }
            | Said::Done) => Ok(said),
        }
    }
}

fn hear(bytes: &[u8], line: &mut Vec<u8>, calls: &Calls) {
    for byte in bytes {
        if *byte != b'\n' {
            line.push(*byte);
            continue;
        }
        if let Ok(Reply { id, said }) = serde_json::from_slice::<Reply>(line) {
            let mut inner = calls.lock().unwrap_or_else(PoisonError::into_inner);
            let last = said.is_last();
            let gone = inner.open.get(&id).is_some_and(|to| to.send(said).is_err());
            if last || gone {
                inner.open.remove(&id);
            }
        }
        line.clear();
    }
}

/// The replies to one call. Dropping it cancels the call.
pub struct Replies {
    id: u64,
    rx: mpsc::UnboundedReceiver<Said>,
    calls: Calls,
    out: mpsc::UnboundedSender<Request>,
    node: String,
}

impl Replies {
    /// The next reply.
    ///
    /// # Errors
    /// [`AgentError::Lost`] when no more can come.
    pub async fn next(&mut self) -> Result<Said, AgentError> {
        if let Some(said) = self.rx.recv().await {
            return Ok(said);
        }
        let inner = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        Err(AgentError::Lost { node: self.node.clone(), said: inner.lost.clone().unwrap_or_default() })
    }

    /// Ends a call that goes on; its last reply still comes.
    pub fn cancel(&self) {
        let _ = self.out.send(Request { id: 0, call: Call::Cancel { of: self.id } });
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        let open = self.calls.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&self.id).is_some();
        if open {
            self.cancel();
        }
    }
}
