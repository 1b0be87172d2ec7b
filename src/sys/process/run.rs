//! One program from its start to the end of all that it started.

use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::lines::Lines;
use super::remains::{self, Kin, MARK, named};
use crate::sys::random;
use crate::sys::stop::Stop;

/// What is still running this long after the program has ended was left behind. Before, it may be on its way out: bash does
/// not wait for a `tee` in `>(…)`.
const LINGER: Duration = Duration::from_millis(500);
/// Between two looks at what runs.
const GLANCE: Duration = Duration::from_millis(20);
/// Output that is in the pipe when all has ended is there at once; a process that hides its kin may hold the pipe for ever.
const DRAIN: Duration = Duration::from_secs(1);
/// What was killed is gone at once, except while it waits for a disk.
const KILLED: Duration = Duration::from_secs(1);

/// A program to run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// A name that is looked up in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its folder; this process' own when not said.
    pub dir: Option<PathBuf>,
    /// Variables beside this process' own.
    pub env: Vec<(String, String)>,
    /// Both of its streams into one, so that their order is kept: all is told as [`Pipe::Out`].
    pub joined: bool,
}

/// Which of its output streams a program wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(i32),
    /// By a signal that was none of ours.
    Signalled(i32),
    /// It could not be started; the system's words.
    NotStarted(String),
    /// It was stopped.
    Stopped,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "killed by {signal}"),
                Err(_) => write!(f, "killed by signal {number}"),
            },
            Self::NotStarted(why) => write!(f, "not started: {why}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Processes that it had left running, `4711 (sleep 100)`. They were ended, but for [`run_leaving`].
    pub leaked: Vec<String>,
    /// Those of them that could not be ended.
    pub left: Vec<String>,
}

/// Runs a program in a process group of its own, without standard input, and tells each line, a long one in
/// pieces that say whether it goes on.
///
/// The soft stop sends TERM to all that it started, KILL after `grace`; the hard one KILL at once. When it ends by itself, what
/// it left running is ended in the same way. Dropped in the middle, all is killed.
pub async fn run(program: &Program, grace: Duration, stop: &Stop, hear: impl FnMut(Pipe, String, bool)) -> Ran {
    match random::word(16) {
        Ok(mark) => follow(program, mark, grace, stop, hear, None).await,
        Err(e) => {
            let why = format!("no random bytes to mark its processes with: {e}");
            Ran { end: End::NotStarted(why), leaked: Vec::new(), left: Vec::new() }
        }
    }
}

/// The same for a program whose children may outlive it: those of its group are named and go on, and what they write is read by tasks of
/// `others` and kept nowhere. A stop ends the group alone: what has left it, as a daemon does, goes on as well.
pub async fn run_leaving(
    program: &Program,
    grace: Duration,
    stop: &Stop,
    hear: impl FnMut(Pipe, String, bool),
    others: &mut JoinSet<()>,
) -> Ran {
    follow(program, String::new(), grace, stop, hear, Some(others)).await
}

async fn follow(
    program: &Program,
    mark: String,
    grace: Duration,
    stop: &Stop,
    mut hear: impl FnMut(Pipe, String, bool),
    others: Option<&mut JoinSet<()>>,
) -> Ran {
    let ended = |end| Ran { end, leaked: Vec::new(), left: Vec::new() };
    if let Some(dir) = program.dir.as_ref().filter(|dir| !dir.is_dir()) {
        // the system would say "No such file or directory", as if it were the program
        return ended(End::NotStarted(format!("there is no folder {}", dir.display())));
    }
    let mut command = Command::new(&program.program);
    command.args(&program.args).envs(program.env.iter().map(|(name, value)| (name, value)));
    if !mark.is_empty() {
        command.env(MARK, &mark);
    }
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(dir) = &program.dir {
        command.current_dir(dir);
    }
    let mut both = None;
    if program.joined {
        match one_pipe(&mut command) {
            Ok(out) => both = Some(out),
            Err(e) => return ended(End::NotStarted(format!("no pipe for what it writes: {e}"))),
        }
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return ended(End::NotStarted(e.to_string())),
    };
    // it holds the writing ends of the pipe, which would never end
    drop(command);
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    let mut family = Family { kin: Kin { leader, mark }, reaped: false, over: false };
    let mut output = Output { out: child.stdout.take().or(both), err: child.stderr.take(), lines: Default::default() };

    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status),
            () = stop.soft.cancelled() => break None,
            () = output.more(&mut hear) => {}
        }
    };
    let (end, leaked, left) = match status {
        Some(status) => {
            family.reaped = true;
            let leaked = output.meanwhile(&mut hear, family.leaked()).await;
            let left = match (leaked.is_empty(), others) {
                (true, _) => Vec::new(),
                (false, Some(others)) => {
                    output.leave_to(others);
                    Vec::new()
                }
                (false, None) => output.meanwhile(&mut hear, family.end(grace, stop, None)).await,
            };
            (how(status), leaked, left)
        }
        None => (End::Stopped, Vec::new(), output.meanwhile(&mut hear, family.end(grace, stop, Some(&mut child))).await),
    };
    let _ = timeout(DRAIN, async {
        while output.is_open() {
            output.more(&mut hear).await;
        }
    })
    .await;
    output.finish(&mut hear);
    family.over = true;
    Ran { end, leaked, left }
}

/// Gives a program one pipe for both of its streams, and returns where to read.
fn one_pipe(command: &mut Command) -> std::io::Result<ChildStdout> {
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    ChildStdout::from_std(std::process::ChildStdout::from(OwnedFd::from(reader)))
}

fn how(status: std::io::Result<ExitStatus>) -> End {
    match status {
        Ok(status) => status.code().map_or_else(|| End::Signalled(status.signal().unwrap_or(0)), End::Exited),
        // cannot be asked for: somebody else has reaped it
        Err(e) => End::NotStarted(format!("lost sight of it: {e}")),
    }
}

/// A program and all that it started.
struct Family {
    kin: Kin,
    /// Has the program itself ended and been asked for?
    reaped: bool,
    /// Is nothing to be done any more?
    over: bool,
}

impl Family {
    /// Names what is still there some time after the program has ended.
    async fn leaked(&self) -> Vec<String> {
        let end = Instant::now() + LINGER;
        loop {
            let there = self.kin.others();
            if there.is_empty() || Instant::now() >= end {
                return there.into_iter().map(named).collect();
            }
            sleep(GLANCE).await;
        }
    }

    /// TERM, grace, KILL; with the program itself where it still runs. Returns what did not even end by KILL.
    async fn end(&mut self, grace: Duration, stop: &Stop, mut leader: Option<&mut Child>) -> Vec<String> {
        for (signal, limit) in [(Signal::SIGTERM, grace), (Signal::SIGKILL, KILLED)] {
            let end = Instant::now() + limit;
            self.signal(signal);
            loop {
                if let Some(child) = leader.as_mut()
                    && !self.reaped
                {
                    self.reaped = !matches!(child.try_wait(), Ok(None));
                }
                if self.reaped && self.kin.others().is_empty() {
                    return Vec::new();
                }
                let hard = signal == Signal::SIGTERM && stop.hard.is_cancelled();
                if hard || Instant::now() >= end {
                    break;
                }
                if signal == Signal::SIGKILL {
                    // one that was just born had not been seen
                    self.signal(signal);
                }
                tokio::select! {
                    () = sleep(GLANCE) => {}
                    () = stop.hard.cancelled(), if signal == Signal::SIGTERM => {}
                }
            }
        }
        self.kin.others().into_iter().map(named).collect()
    }

    fn signal(&self, signal: Signal) {
        // Group 0 would be joinder's own; the number of a group that is gone may be somebody else's.
        if self.kin.leader <= 0 || self.reaped {
            return remains::signal(&self.kin.others(), signal);
        }
        // Each once: what a shell's trap starts at the first TERM would be ended by a second one.
        let outside = self.kin.outside();
        let _ = killpg(Pid::from_raw(self.kin.leader), signal);
        remains::signal(&outside, signal);
    }
}

/// Nothing outlives a run that is given up on.
impl Drop for Family {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::SIGKILL);
        }
    }
}

/// Both streams.
struct Output {
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    lines: [Lines; 2],
}

impl Output {
    fn is_open(&self) -> bool {
        self.out.is_some() || self.err.is_some()
    }

    /// Reads what comes next from either; never returns when both have ended.
    async fn more(&mut self, hear: &mut impl FnMut(Pipe, String, bool)) {
        let (pipe, piece) = tokio::select! {
            piece = piece(&mut self.out) => (Pipe::Out, piece),
            piece = piece(&mut self.err) => (Pipe::Err, piece),
        };
        match (pipe, piece) {
            (_, Some(bytes)) => self.lines[usize::from(pipe == Pipe::Err)].feed(&bytes, |line, more| hear(pipe, line, more)),
            (Pipe::Out, None) => self.out = None,
            (Pipe::Err, None) => self.err = None,
        }
    }

    /// Goes on reading while something else is done: a full pipe would keep a process from ending.
    async fn meanwhile<T>(&mut self, hear: &mut impl FnMut(Pipe, String, bool), work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.more(hear) => {}
            }
        }
    }

    /// Whoever holds the pipes still can go on writing.
    fn leave_to(&mut self, others: &mut JoinSet<()>) {
        async fn swallow(mut from: impl AsyncRead + Unpin) {
            // ends with the last one that holds it
            let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
        }
        if let Some(out) = self.out.take() {
            others.spawn(swallow(out));
        }
        if let Some(err) = self.err.take() {
            others.spawn(swallow(err));
        }
    }

    fn finish(&mut self, hear: &mut impl FnMut(Pipe, String, bool)) {
        let [out, err] = &mut self.lines;
        out.end(|line, more| hear(Pipe::Out, line, more));
        err.end(|line, more| hear(Pipe::Err, line, more));
    }
}

/// The next piece of a stream; `None` when it has ended. Never comes from one that is not there any more.
async fn piece(from: &mut Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let Some(from) = from else { return std::future::pending().await };
    let mut bytes = vec![0; 16 * 1024];
    match from.read(&mut bytes).await {
        Ok(0) | Err(_) => None,
        Ok(n) => {
            bytes.truncate(n);
            Some(bytes)
        }
    }
}
