//! The agent's loop: reads requests, starts what they ask for, ends everything it started when its input ends.

use std::collections::HashMap;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::protocol::{Call, Reply, Request, Said};
use super::{cgroup, kube, run, watch};
use crate::sys::clock::Stamp;

/// How long a cancelled process group may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// A way to answer one request.
#[derive(Clone)]
pub(super) struct Answers {
    id: u64,
    to: mpsc::UnboundedSender<Reply>,
}

impl Answers {
    /// Says something; silently nothing when the host is gone.
    pub(super) fn say(&self, said: Said) {
        let _ = self.to.send(Reply { id: self.id, said });
    }
}

/// Serves one host until its input ends, then ends all that runs.
///
/// # Errors
/// When the input cannot be read.
pub async fn serve(input: impl AsyncRead + Unpin, mut output: impl AsyncWrite + Unpin + Send + 'static) -> std::io::Result<()> {
    let (to, mut replies) = mpsc::unbounded_channel::<Reply>();
    let mut writer = JoinSet::new();
    writer.spawn(async move {
        while let Some(reply) = replies.recv().await {
            let Ok(mut line) = serde_json::to_vec(&reply) else { continue };
            line.push(b'\n');
            if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
                break;
            }
        }
    });

    let whole = CancellationToken::new();
    let mut running: HashMap<u64, CancellationToken> = HashMap::new();
    let mut tasks = JoinSet::new();
    let mut lines = BufReader::new(input).lines();
    let read = loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => accept(&line, &whole, &mut running, &mut tasks, &to),
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            },
            Some(ended) = tasks.join_next() => if let Ok(id) = ended { running.remove(&id); },
        }
    };
    whole.cancel();
    while tasks.join_next().await.is_some() {}
    drop(to);
    while writer.join_next().await.is_some() {}
    read
}

fn accept(
    line: &str,
    whole: &CancellationToken,
    running: &mut HashMap<u64, CancellationToken>,
    tasks: &mut JoinSet<u64>,
    to: &mpsc::UnboundedSender<Reply>,
) {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(e) => {
            let _ = to.send(Reply { id: 0, said: Said::Failed { why: format!("not a request: {e}: {line}") } });
            return;
        }
    };
    let id = request.id;
    if let Call::Cancel { of } = request.call {
        if let Some(token) = running.get(&of) {
            token.cancel();
        }
        return;
    }
    let stop = whole.child_token();
    running.insert(id, stop.clone());
    let answers = Answers { id, to: to.clone() };
    tasks.spawn(async move {
        carry_out(request.call, answers, stop).await;
        id
    });
}

async fn carry_out(call: Call, answers: Answers, stop: CancellationToken) {
    let last = match call {
        Call::Hello => Said::Hello { version: env!("CARGO_PKG_VERSION").into(), now: Stamp::now() },
        Call::Run { argv, env } => run::run(&argv, &env, &answers, &stop, GRACE).await,
        Call::Dial { unix } => match tokio::net::UnixStream::connect(&unix).await {
            Ok(_) => Said::Done,
            Err(e) => Said::Failed { why: format!("{unix}: {e}") },
        },
        Call::Get { kubeconfig, server, path } => tokio::select! {
            () = stop.cancelled() => Said::Failed { why: "cancelled".into() },
            answer = kube::get(&kubeconfig, server.as_deref(), &path) => match answer {
                Ok((status, body)) => Said::Answer { status, body },
                Err(why) => Said::Failed { why },
            },
        },
        Call::Watch { every, busy } => {
            watch::watch(Duration::from_millis(every), Duration::from_millis(busy), &answers, &stop).await;
            Said::Done
        }
        Call::Members => match watch::settled_members().await {
            Ok(members) => Said::Members { members },
            Err(why) => Said::Failed { why },
        },
        Call::Usage => match cgroup::usage() {
            Ok(usage) => Said::Used { usage },
            Err(why) => Said::Failed { why },
        },
        Call::Cancel { .. } => Said::Done,
    };
    answers.say(last);
}
