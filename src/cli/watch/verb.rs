//! The loop: which nodes there are by labels, what the observer has seen of them, and the screen.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::args::{WatchArgs, WatchOutput};
use super::super::context::Signals;
use super::super::diag;
use super::super::exit::Exit;
use super::board::board;
use crate::cluster::{self, Following, InventoryError};
use crate::event::Bus;
use crate::node::{Node, Role, path};
use crate::observe::{Observer, Record};
use crate::report::{Screen, reader_gone};
use crate::runtime::Runtime;
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Between two looks at labels, and two boards.
const BEAT: Duration = Duration::from_secs(1);
/// How long the first board may wait for nodes to answer.
const FIRST: Duration = Duration::from_secs(4);

pub(in super::super) async fn watch(args: &WatchArgs) -> Exit {
    let signals = Signals::listen();
    let runtime = match signals.engine().await {
        Ok((runtime, _)) => runtime,
        Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    };
    // told here with the names that there are; later it means that the cluster was deleted
    if let Err(e) = cluster::find(runtime.as_ref(), &args.name).await {
        return diag::fail(signals.or(Exit::BadEnvironment), &e.into());
    }
    let mut screen = Screen::look(args.output == Some(WatchOutput::Json), args.once);
    let mut watching = Watching::begin(args, runtime);
    let end = watching.run(&mut screen, &signals.stop).await;
    screen.close();
    match end {
        Ok(End::Shown) => Exit::Passed,
        Ok(End::Stopped) => signals.or(Exit::Passed),
        Ok(End::Gone) => {
            diag::say(&format!("cluster {:?} is gone", args.name));
            Exit::Passed
        }
        // whoever reads has seen enough
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Exit::Passed,
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("cannot write to standard output")),
    }
}

/// Why the watch is over.
enum End {
    /// One board was wanted.
    Shown,
    /// A signal came.
    Stopped,
    /// The cluster was deleted.
    Gone,
}

struct Watching<'a> {
    args: &'a WatchArgs,
    runtime: Arc<dyn Runtime>,
    observer: Observer,
    following: Following,
    kubernetes: String,
    began: Instant,
    /// The engine's last trouble, told once.
    trouble: Option<String>,
    shown: bool,
}

impl<'a> Watching<'a> {
    fn begin(args: &'a WatchArgs, runtime: Arc<dyn Runtime>) -> Self {
        Self {
            args,
            observer: Observer::start(std::iter::empty(), &Bus::new()),
            following: Following::new(runtime.clone()),
            runtime,
            kubernetes: String::new(),
            began: Instant::now(),
            trouble: None,
            shown: false,
        }
    }

    async fn run(&mut self, screen: &mut Screen, stop: &Stop) -> io::Result<End> {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unread = pin!(reader_gone());
        loop {
            tokio::select! {
                biased;
                () = stop.soft.cancelled() => return Ok(End::Stopped),
                () = &mut unread => return Err(io::ErrorKind::BrokenPipe.into()),
                reached = self.following.reached() => self.add(reached).await,
                _ = beat.tick() => {
                    let gone = tokio::select! {
                        () = stop.soft.cancelled() => return Ok(End::Stopped),
                        gone = self.look() => gone,
                    };
                    if gone {
                        return Ok(End::Gone);
                    }
                    if self.show(screen)? && self.args.once {
                        return Ok(End::Shown);
                    }
                }
            }
        }
    }

    async fn add(&mut self, reached: Option<Arc<Node>>) {
        let Some(node) = reached else { return };
        self.observer.add(&node);
        if self.kubernetes.is_empty() && node.role == Role::ControlPlane {
            let version = node.read(path::VERSION).await.unwrap_or_default();
            String::from_utf8_lossy(&version).trim().clone_into(&mut self.kubernetes);
        }
    }

    /// Is the cluster gone?
    async fn look(&mut self) -> bool {
        match cluster::find(self.runtime.as_ref(), &self.args.name).await {
            Ok(found) => {
                let Self { following, observer, .. } = self;
                let gone = following.look(&found, |node| observer.look(|record| record.lost(node).is_some()));
                for node in &gone {
                    observer.forget(node);
                }
                self.trouble = None;
                false
            }
            Err(InventoryError::NoSuch { .. }) => true,
            Err(e) => {
                let said = e.to_string();
                if self.trouble.as_ref() != Some(&said) {
                    diag::say(&format!("warning: {said}"));
                }
                self.trouble = Some(said);
                false
            }
        }
    }

    /// Shows a board, the first one when all nodes have answered or had time to; was there one?
    fn show(&mut self, screen: &mut Screen) -> io::Result<bool> {
        let Self { following, observer, .. } = self;
        if !self.shown && self.began.elapsed() < FIRST && !observer.look(|record| answered(following, record)) {
            return Ok(false);
        }
        self.shown = true;
        let board = observer.look(|record| board(&self.args.name, &self.kubernetes, following.nodes(), record, Stamp::now()));
        screen.show(&board)?;
        Ok(true)
    }
}

/// Has something been seen of all nodes that run, two measurements of what they use too?
fn answered(following: &Following, record: &Record) -> bool {
    let seen = following.nodes().iter().filter(|(_, followed)| followed.node.is_some()).all(|(name, followed)| {
        let used = record.measures.latest(name).any(|(_, latest)| latest.cores.is_some());
        used && (followed.role == Role::Worker || record.last(name).is_some())
    });
    following.tried() && seen
}
