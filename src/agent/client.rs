//! The host's end: calls go out, replies come back to whoever asked.

use std::collections::{BTreeMap, HashMap};
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
use tokio_util::sync::CancellationToken;

use super::process::Process;
use super::protocol::{Call, Reply, Request, Said};
use crate::sys::clock::human;

/// A longer line of an agent's is none of the protocol's: what is in a node may be hostile. An answer with all pods of a large
/// cluster has some megabytes.
const LONGEST: usize = 64 << 20;
/// So much of what it writes to standard error is kept.
const LAST: usize = 16 << 10;

/// How long an agent that cannot be written to may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
    /// Set when the connection has ended; the first reason stays.
    lost: Option<String>,
}

/// No more replies can come: whoever waits for one is told.
fn lose(calls: &Calls, said: &str) {
    let mut inner = calls.lock().unwrap_or_else(PoisonError::into_inner);
    inner.lost.get_or_insert_with(|| said.trim().to_owned());
    inner.open.clear();
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

impl Drop for Agent {
    fn drop(&mut self) {
        lose(&self.calls, "the connection was closed");
    }
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
        let end = CancellationToken::new();
        let ended = end.clone();
        let mut tasks = JoinSet::new();
        let asked = calls.clone();
        tasks.spawn(async move {
            while let Some(request) = requests.recv().await {
                let Ok(mut line) = serde_json::to_vec(&request) else { continue };
                line.push(b'\n');
                let written = async {
                    input.write_all(&line).await?;
                    input.flush().await
                };
                if let Err(e) = written.await {
                    // Its output says why, if it says anything; otherwise nobody would ever answer.
                    let _ = timeout(LAST_WORDS, ended.cancelled()).await;
                    lose(&asked, &format!("cannot write to it: {e}"));
                    return;
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
                    Ok((super::Pipe::Err, _)) if said.len() > LAST => {}
                    Ok((super::Pipe::Err, bytes)) => said.push_str(&String::from_utf8_lossy(&bytes[..bytes.len().min(LAST)])),
                    Err(e) => said.push_str(&e),
                }
            }
            lose(&heard, &said);
            end.cancel();
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

    /// Starts a process in the node.
    pub fn run(&self, argv: Vec<String>) -> Process {
        self.run_with(argv, BTreeMap::new())
    }

    /// The same, with variables beside the node's own.
    pub fn run_with(&self, argv: Vec<String>, env: BTreeMap<String, String>) -> Process {
        Process::new(&self.node, self.call(Call::Run { argv, env }))
    }

    /// A call with one reply.
    ///
    /// # Errors
    /// [`AgentError`]; [`AgentError::Refused`] when it said [`Said::Failed`].
    pub async fn ask(&self, call: Call, limit: Duration) -> Result<Said, AgentError> {
        let mut replies = self.call(call);
        let said = timeout(limit, replies.next()).await.map_err(|_| AgentError::Late { node: self.node.clone(), limit })??;
        if let Said::Failed { why } = said {
            return Err(AgentError::Refused { node: self.node.clone(), why });
        }
        Ok(said)
    }
}

fn hear(bytes: &[u8], line: &mut Vec<u8>, calls: &Calls) {
    for byte in bytes {
        if *byte != b'\n' {
            // what does not fit is no JSON any more, and left out with the rest of its line
            if line.len() < LONGEST {
                line.push(*byte);
            }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures_util::stream;
    use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, Lines, duplex};

    use super::super::Pipe;
    use super::*;

    /// The node's end of a connection.
    struct Far {
        requests: Lines<BufReader<DuplexStream>>,
        output: mpsc::UnboundedSender<Piece>,
    }

    impl Far {
        async fn request(&mut self) -> Request {
            let line = self.requests.next_line().await.expect("read").expect("a request");
            serde_json::from_str(&line).expect("JSON")
        }

        fn reply(&self, id: u64, said: Said) {
            let line = serde_json::to_string(&Reply { id, said }).expect("JSON") + "\n";
            // In two pieces: an engine's pieces are not lines.
            let (a, b) = line.split_at(line.len() / 2);
            for part in [a, b] {
                self.output.send(Ok((Pipe::Out, Bytes::copy_from_slice(part.as_bytes())))).expect("somebody listens");
            }
        }
    }

    fn connect() -> (Agent, Far) {
        let (input, requests) = duplex(1024);
        let (output, pieces) = mpsc::unbounded_channel();
        let pieces = stream::unfold(pieces, async |mut pieces| pieces.recv().await.map(|piece| (piece, pieces)));
        (Agent::over("cp-1", input, pieces.boxed()), Far { requests: BufReader::new(requests).lines(), output })
    }

    fn run() -> Call {
        Call::Run { argv: vec!["x".into()], env: BTreeMap::new() }
    }

    const LIMIT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn replies_find_who_asked_in_any_order() {
        let (agent, mut far) = connect();
        let (mut a, mut b) = (agent.call(run()), agent.call(Call::Usage));
        let (first, second) = (far.request().await, far.request().await);
        assert!(matches!((&first.call, &second.call), (Call::Run { .. }, Call::Usage)));
        far.reply(second.id, Said::Done);
        far.reply(first.id, Said::Started { pid: 1 });
        far.reply(first.id, Said::Exited { code: Some(0), signal: None });
        assert!(matches!(b.next().await, Ok(Said::Done)));
        assert!(matches!(a.next().await, Ok(Said::Started { pid: 1 })));
        assert!(matches!(a.next().await, Ok(Said::Exited { code: Some(0), .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn long_lines_are_read_endless_ones_left_out_and_noise_is_bounded() {
        let (agent, mut far) = connect();
        let mut replies = agent.call(run());
        let id = far.request().await.id;
        let text = "x".repeat(10 << 20);
        far.reply(id, Said::Line { pipe: Pipe::Out, seen: crate::sys::clock::Stamp::now(), text: text.clone(), more: false });
        assert!(matches!(replies.next().await, Ok(Said::Line { text: got, .. }) if got == text), "10 MiB in one line");
        for _ in 0..LONGEST / (1 << 20) + 2 {
            far.output.send(Ok((Pipe::Out, Bytes::from(vec![b'{'; 1 << 20])))).expect("sent");
        }
        far.output.send(Ok((Pipe::Out, Bytes::from_static(b"\n\xff\xfe not JSON\n")))).expect("sent");
        far.reply(id, Said::Exited { code: Some(0), signal: None });
        assert!(matches!(replies.next().await, Ok(Said::Exited { .. })), "what comes behind is heard");
        for _ in 0..100 {
            far.output.send(Ok((Pipe::Err, Bytes::from(vec![b'e'; 1 << 20])))).expect("sent");
        }
        drop(far);
        let lost = agent.call(run()).next().await.expect_err("it is lost").to_string();
        assert!(lost.len() < 3 * LAST, "{} bytes", lost.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_connection_is_told_with_what_the_agent_wrote_to_standard_error() {
        let (agent, far) = connect();
        let mut before = agent.call(run());
        far.output.send(Ok((Pipe::Err, Bytes::from_static(b"exec format error\n")))).expect("sent");
        drop(far);
        let error = before.next().await.expect_err("it is lost");
        assert_eq!(error.to_string(), "lost the agent in cp-1: exec format error");
        let error = agent.ask(Call::Hello, LIMIT).await.expect_err("it stays lost");
        assert!(matches!(error, AgentError::Lost { .. }), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_takes_no_more_requests_is_lost() {
        let (agent, far) = connect();
        let Far { requests, output } = far;
        drop(requests);
        let mut replies = agent.call(run());
        let error = timeout(LIMIT, replies.next()).await.expect("told in time").expect_err("it is lost");
        assert!(error.to_string().starts_with("lost the agent in cp-1: cannot write to it"), "{error}");
        drop(output);
    }

    #[tokio::test(start_paused = true)]
    async fn replies_that_outlive_their_agent_end() {
        let (agent, _far) = connect();
        let mut replies = agent.call(run());
        drop(agent);
        let said = timeout(LIMIT, replies.next()).await.expect("told in time");
        assert!(matches!(said, Err(AgentError::Lost { .. })), "{said:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn late_and_refused_are_told_apart() {
        let (agent, mut far) = connect();
        let error = agent.ask(Call::Usage, LIMIT).await.expect_err("nobody answers");
        assert_eq!(error.to_string(), "cp-1: the agent did not answer in 5.0s");
        let late = far.request().await.id;
        assert!(matches!(far.request().await.call, Call::Cancel { of } if of == late), "what nobody waits for is cancelled");
        let answer = async {
            let id = far.request().await.id;
            far.reply(late, Said::Done);
            far.reply(id, Said::Failed { why: "no etcd".into() });
        };
        let (error, ()) = tokio::join!(agent.ask(Call::Usage, LIMIT), answer);
        assert_eq!(error.expect_err("refused").to_string(), "cp-1: no etcd");
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_replies_cancel_a_call_that_goes_on_and_no_other() {
        let (agent, mut far) = connect();
        let mut done = agent.call(run());
        let id = far.request().await.id;
        far.reply(id, Said::Exited { code: Some(0), signal: None });
        done.next().await.expect("it ended");
        drop(done);
        let going = agent.call(run());
        let id = far.request().await.id;
        drop(going);
        assert!(matches!(far.request().await.call, Call::Cancel { of } if of == id), "the one that had ended is not cancelled");
    }
}
