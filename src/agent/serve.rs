//! The agent's loop: reads requests, starts what they ask for, ends everything it started when its input ends.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::cgroup::Groups;
use super::proc::Proc;
use super::protocol::{Call, Reply, Request, Said};
use super::proxy::{self, Script};
use super::{cri, daemon, kube, load, meter, run, watch};
use crate::sys::clock::Stamp;

/// Where kubeadm has etcd tell its metrics.
pub(super) const METRICS: &str = "127.0.0.1:2381";
/// How long a cancelled process group may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// How long the last answers may take: nobody may be there to read them.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
pub async fn serve(input: impl AsyncRead + Unpin, output: impl AsyncWrite + Unpin + Send + 'static) -> std::io::Result<()> {
    serve_with(input, output, GRACE).await
}

async fn serve_with(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
    grace: Duration,
) -> std::io::Result<()> {
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

    let mut session =
        Session { whole: CancellationToken::new(), running: HashMap::new(), tasks: JoinSet::new(), to, grace, script: Script::default() };
    let mut lines = BufReader::new(input).split(b'\n');
    let read = loop {
        tokio::select! {
            line = lines.next_segment() => match line {
                Ok(Some(line)) => session.accept(&line),
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            },
            Some(ended) = session.tasks.join_next() => if let Ok(id) = ended { session.running.remove(&id); },
        }
    };
    session.end().await;
    let _ = timeout(LAST_WORDS, async { while writer.join_next().await.is_some() {} }).await;
    read
}

/// What one host has asked for.
struct Session {
    whole: CancellationToken,
    running: HashMap<u64, CancellationToken>,
    tasks: JoinSet<u64>,
    to: mpsc::UnboundedSender<Reply>,
    grace: Duration,
    /// What the node's proxy disturbs.
    script: Script,
}

impl Session {
    fn accept(&mut self, line: &[u8]) {
        let request: Request = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(e) => {
                let why = format!("not a request: {e}: {}", String::from_utf8_lossy(line));
                let _ = self.to.send(Reply { id: 0, said: Said::Failed { why } });
                return;
            }
        };
        let id = request.id;
        if let Call::Cancel { of } = request.call {
            if let Some(token) = self.running.get(&of) {
                token.cancel();
            }
            return;
        }
        let stop = self.whole.child_token();
        self.running.insert(id, stop.clone());
        let (answers, grace, script) = (Answers { id, to: self.to.clone() }, self.grace, self.script.clone());
        self.tasks.spawn(async move {
            carry_out(request.call, answers, stop, grace, script).await;
            id
        });
    }

    /// Ends all that runs, and waits for it.
    async fn end(mut self) {
        self.whole.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn carry_out(call: Call, answers: Answers, stop: CancellationToken, grace: Duration, script: Script) {
    let last = match call {
        Call::Hello => Said::Hello { version: env!("CARGO_PKG_VERSION").into(), now: Stamp::now() },
        Call::Run { argv, env } => run::run(&argv, &env, &answers, &stop, grace).await,
        Call::Cri { socket } => tokio::select! {
            () = stop.cancelled() => Said::Failed { why: "cancelled".into() },
            answer = cri::ready(&socket) => answer.map_or_else(|why| Said::Failed { why }, |()| Said::Done),
        },
        Call::Get { kubeconfig, server, path } => tokio::select! {
            () = stop.cancelled() => Said::Failed { why: "cancelled".into() },
            answer = kube::get(&kubeconfig, server.as_deref(), &path) => match answer {
                Ok((status, body)) => Said::Answer { status, body },
                Err(why) => Said::Failed { why },
            },
        },
        Call::Watch { etcd, every, busy } => {
            watch::watch(etcd, Duration::from_millis(every), Duration::from_millis(busy), &answers, &stop).await;
            Said::Done
        }
        Call::Meter { node, every, log } => {
            meter::meter(&node, log, Duration::from_millis(every), &answers, &stop).await;
            Said::Done
        }
        Call::Members { etcd } => match watch::settled_members(&etcd).await {
            Ok(members) => Said::Members { members },
            Err(why) => Said::Failed { why },
        },
        Call::DataHash { etcd, revision } => match watch::data_hash(&etcd, revision).await {
            Ok(notice) => {
                answers.say(Said::Noticed { seen: Stamp::now(), notice });
                Said::Done
            }
            Err(why) => Said::Failed { why },
        },
        Call::Change { etcd, change } => match watch::change(&etcd, &change).await {
            Ok(members) => Said::Members { members },
            Err(why) => Said::Failed { why },
        },
        Call::Put { etcd, entries, size } => done(tokio::select! {
            () = stop.cancelled() => Err("cancelled".into()),
            put = watch::put(&etcd, entries, size) => put,
        }),
        Call::Spawn { argv, env, log } => done(daemon::spawn(&argv, &env, &log)),
        Call::End { program, kill } => done(daemon::end(&program, kill, &stop).await),
        Call::Runs { program } => done(daemon::find(&program).map(drop)),
        Call::Metrics => tokio::select! {
            () = stop.cancelled() => Said::Failed { why: "cancelled".into() },
            answer = kube::plain(METRICS, "/metrics") => match answer {
                Ok((status, body)) => Said::Answer { status, body },
                Err(why) => Said::Failed { why },
            },
        },
        Call::Usage => match Groups::of_node().node(&Proc::of_node()) {
            Ok(usage) => Said::Used { usage },
            Err(why) => Said::Failed { why },
        },
        Call::Proxy => {
            let heard = answers.clone();
            proxy::serve(Path::new(watch::PKI), script, Arc::new(move |said| heard.say(said)), &stop).await
        }
        Call::Disturb { disturb } => {
            script.add(disturb);
            Said::Done
        }
        Call::Lift { key } => {
            script.lift(&key);
            Said::Done
        }
        Call::Load { load } => {
            load::run(&load, &answers, &stop).await;
            Said::Done
        }
        Call::Preload { etcd, prefix, bytes } => tokio::select! {
            () = stop.cancelled() => Said::Failed { why: "cancelled".into() },
            put = load::preload(&etcd, &prefix, bytes) => match put {
                Ok(()) => Said::Done,
                Err(why) => Said::Failed { why },
            },
        },
        Call::Kept { etcd, prefix, node } => tokio::select! {
            () = stop.cancelled() => Said::Failed { why: "cancelled".into() },
            kept = load::kept(&etcd, &prefix, &node) => match kept {
                Ok(kept) => Said::Kept { kept },
                Err(why) => Said::Failed { why },
            },
        },
        Call::Cancel { .. } => Said::Done,
    };
    answers.say(last);
}

fn done(ended: Result<(), String>) -> Said {
    match ended {
        Ok(()) => Said::Done,
        Err(why) => Said::Failed { why },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::io::{DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};

    use super::*;

    /// More than any test takes.
    const LONG: Duration = Duration::from_secs(20);

    /// A host that speaks to an agent in this process.
    struct Host {
        input: WriteHalf<DuplexStream>,
        replies: Lines<BufReader<ReadHalf<DuplexStream>>>,
        agent: JoinSet<std::io::Result<()>>,
    }

    impl Host {
        fn with_grace(grace: Duration) -> Self {
            let (ours, theirs) = duplex(64 * 1024);
            let (input, output) = split(theirs);
            let mut agent = JoinSet::new();
            agent.spawn(serve_with(input, output, grace));
            let (replies, input) = split(ours);
            Self { input, replies: BufReader::new(replies).lines(), agent }
        }

        fn new() -> Self {
            Self::with_grace(Duration::from_millis(300))
        }

        async fn ask(&mut self, id: u64, call: Call) {
            let line = serde_json::to_string(&Request { id, call }).expect("JSON") + "\n";
            self.input.write_all(line.as_bytes()).await.expect("written");
        }

        async fn sh(&mut self, id: u64, script: &str) {
            let argv = ["sh", "-c", script].map(str::to_owned).into();
            self.ask(id, Call::Run { argv, env: BTreeMap::from([("GREETING".into(), "hello".into())]) }).await;
        }

        async fn next(&mut self) -> Reply {
            let line = timeout(LONG, self.replies.next_line()).await.expect("in time").expect("read").expect("more to come");
            serde_json::from_str(&line).expect("a reply")
        }

        /// The text of the next line that a process wrote.
        async fn line(&mut self) -> String {
            loop {
                if let Said::Line { text, .. } = self.next().await.said {
                    return text;
                }
            }
        }

        /// The last reply, after all lines.
        async fn last(&mut self) -> Said {
            loop {
                let said = self.next().await.said;
                if said.is_last() {
                    return said;
                }
            }
        }

        /// Ends the agent's input and waits for the agent.
        async fn hang_up(mut self) {
            self.input.shutdown().await.expect("shut down");
            let ended = timeout(LONG, self.agent.join_next()).await.expect("the agent ends with its input");
            ended.expect("it ran").expect("no panic").expect("no error");
        }
    }

    /// Does the process run? A zombie does not: nobody has asked for it yet.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    async fn gone(pid: &str) {
        for _ in 0..100 {
            if !runs(pid) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("process {pid} still runs");
    }

    #[tokio::test]
    async fn a_process_gives_its_lines_and_its_exit_code() {
        let mut host = Host::new();
        host.sh(7, "echo $GREETING; echo oops >&2; printf 'no newline'; exit 3").await;
        let mut lines = Vec::new();
        let exited = loop {
            match host.next().await {
                Reply { id: 7, said: Said::Line { pipe, text, .. } } => lines.push((pipe, text)),
                Reply { id: 7, said: said @ Said::Exited { .. } } => break said,
                Reply { said, .. } => assert!(matches!(said, Said::Started { .. }), "{said:?}"),
            }
        };
        assert!(matches!(exited, Said::Exited { code: Some(3), signal: None }), "{exited:?}");
        let of = |wanted| lines.iter().filter(|(pipe, _)| *pipe == wanted).map(|(_, text)| text.as_str()).collect::<Vec<_>>();
        assert_eq!(of(super::super::Pipe::Out), ["hello", "no newline"]);
        assert_eq!(of(super::super::Pipe::Err), ["oops"]);
        host.hang_up().await;
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_told() {
        let mut host = Host::new();
        host.ask(1, Call::Run { argv: vec!["/no/such/program".into()], env: BTreeMap::new() }).await;
        let said = host.last().await;
        assert!(matches!(&said, Said::Failed { why } if why.contains("cannot start /no/such/program")), "{said:?}");
    }

    /// A shell whose child ignores TERM; the child says its process id.
    const STUBBORN_CHILD: &str = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait";

    #[tokio::test]
    async fn cancel_kills_the_whole_group_also_what_ignores_the_polite_signal() {
        let mut host = Host::new();
        host.sh(1, STUBBORN_CHILD).await;
        let child = host.line().await;
        assert!(runs(&child));
        host.ask(2, Call::Cancel { of: 1 }).await;
        let said = host.last().await;
        assert!(matches!(said, Said::Exited { signal: Some(15), .. }), "{said:?}");
        gone(&child).await;
    }

    #[tokio::test]
    async fn what_does_not_end_in_its_grace_is_killed() {
        let mut host = Host::new();
        host.sh(1, &format!("trap '' TERM; {STUBBORN_CHILD}; sleep 100")).await;
        let child = host.line().await;
        host.ask(2, Call::Cancel { of: 1 }).await;
        let said = host.last().await;
        assert!(matches!(said, Said::Exited { signal: Some(9), .. }), "{said:?}");
        gone(&child).await;
    }

    #[tokio::test]
    async fn a_child_has_its_grace_too_after_its_parent_has_ended() {
        let dir = tempfile::tempdir().expect("a folder");
        let done = dir.path().join("done");
        let tidy = format!("trap 'sleep 0.3; touch {}; exit' TERM; echo $$; while :; do sleep 0.05; done", done.display());
        let mut host = Host::with_grace(Duration::from_secs(5));
        host.sh(1, &format!("sh -c \"{}\" & wait", tidy.replace("$$", "\\$\\$"))).await;
        let child = host.line().await;
        host.ask(2, Call::Cancel { of: 1 }).await;
        host.last().await;
        gone(&child).await;
        assert!(done.exists(), "it was killed while it tidied up");
    }

    #[tokio::test]
    async fn the_end_of_the_input_ends_all_that_runs() {
        let mut host = Host::new();
        host.sh(1, STUBBORN_CHILD).await;
        let first = host.line().await;
        host.sh(2, STUBBORN_CHILD).await;
        let second = host.line().await;
        host.hang_up().await;
        gone(&first).await;
        gone(&second).await;
    }

    #[tokio::test]
    async fn a_child_left_behind_does_not_hold_the_end_back() {
        let mut host = Host::new();
        host.sh(1, "sleep 15 & echo $!").await;
        let child = host.line().await;
        let said = timeout(Duration::from_secs(5), host.last()).await.expect("it ends while its child holds the pipe");
        assert!(matches!(said, Said::Exited { code: Some(0), .. }), "{said:?}");
        assert!(runs(&child), "whoever leaves a daemon behind wants it to stay");
        host.hang_up().await;
    }

    #[tokio::test]
    async fn garbage_is_answered_and_the_next_request_too() {
        let mut host = Host::new();
        for garbage in [&b"hello\n"[..], b"{\"id\": 1, \"call\": {\"do\": \"fly\"}}\n", b"\xff\xfe\n"] {
            host.input.write_all(garbage).await.expect("written");
            let reply = host.next().await;
            assert!(matches!(&reply.said, Said::Failed { why } if why.starts_with("not a request")), "{reply:?}");
        }
        host.ask(5, Call::Hello).await;
        assert!(matches!(host.next().await, Reply { id: 5, said: Said::Hello { .. } }));
        host.hang_up().await;
    }

    #[tokio::test]
    async fn an_agent_whose_answers_nobody_reads_ends_all_the_same() {
        let mut host = Host::new();
        host.sh(1, "while :; do echo 0123456789012345678901234567890123456789; done").await;
        host.line().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        host.hang_up().await;
    }
}
