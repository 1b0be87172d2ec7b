//! One client's pace: a call begins at each turn, whether those before it have ended or not, so that one that hangs hides nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::super::protocol::Said;
use super::super::serve::Answers;
use super::api::Api;
use super::etcd::Etcd;
use super::numbers::{IN_FLIGHT, register, write};
use super::plan::{Client, Load};
use crate::event::{CallEnd, ClientCall, Op};
use crate::sys::clock::Stamp;

/// Calls that may begin beyond those that fill a fast client's room, one in each so long a time: while all others hang, somebody
/// still asks.
const SPARE: usize = 8;
const LULL: Duration = Duration::from_millis(250);

/// How a call ended, with what it read and the revision in its answer.
pub(super) struct Ended {
    pub(super) end: CallEnd,
    pub(super) value: Option<u64>,
    pub(super) revision: u64,
}

impl Ended {
    pub(super) fn ok(value: Option<u64>, revision: u64) -> Self {
        Self { end: CallEnd::Ok, value, revision }
    }

    /// It was surely not carried out.
    pub(super) fn failed(why: String) -> Self {
        Self { end: CallEnd::Failed { why }, value: None, revision: 0 }
    }

    /// It may have been carried out.
    pub(super) fn unknown(why: String) -> Self {
        Self { end: CallEnd::Unknown { why }, value: None, revision: 0 }
    }
}

/// Calls at a steady rate until stopped, and tells each call when it has ended. Those under way at the stop are not told.
pub(in super::super) async fn run(load: &Load, answers: &Answers, stop: &CancellationToken) {
    let target = Arc::new(Target::of(&load.client));
    let mut open = JoinSet::new();
    let mut turns = interval(Duration::from_micros(load.every_us.max(1)));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let most = usize::try_from(IN_FLIGHT).unwrap_or(usize::MAX);
    let mut n = load.from;
    let mut last = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        while open.try_join_next().is_some() {}
        let pause = Instant::now().duration_since(last);
        if open.len() >= most || open.len() >= most - SPARE && pause < LULL {
            continue;
        }
        last = Instant::now();
        let (target, load, answers) = (target.clone(), load.clone(), answers.clone());
        open.spawn(async move { answers.say(Said::Called { call: target.call(&load, n).await }) });
        n += 1;
    }
}

enum Target {
    Etcd(Box<Etcd>),
    Api(Api),
}

impl Target {
    fn of(client: &Client) -> Self {
        match client {
            Client::Writer { etcd, prefix, .. } | Client::Reader { etcd, prefix } => Self::Etcd(Box::new(Etcd::new(etcd, prefix))),
            Client::ApiWriter { kubeconfig, config_map } | Client::ApiReader { kubeconfig, config_map } => {
                Self::Api(Api::new(kubeconfig, config_map))
            }
        }
    }

    /// The `n`th call.
    async fn call(&self, load: &Load, n: u64) -> ClientCall {
        let began = Stamp::now();
        let (op, key, wanted) = what(load, n);
        let ended = match (self, wanted) {
            (Self::Etcd(etcd), Some((value, size))) => etcd.put(&key, value, size).await,
            (Self::Etcd(etcd), None) => etcd.get(&key).await,
            (Self::Api(api), Some((value, _))) => api.set(value).await,
            (Self::Api(api), None) => api.get().await,
        };
        let value = wanted.map(|(value, _)| value).or(ended.value);
        let Ended { end, revision, .. } = ended;
        ClientCall { client: load.name.clone(), node: load.node.clone(), op, key, value, began, ended: Stamp::now(), end, revision }
    }
}

/// What the `n`th call asks for: its key, and what it writes with how many bytes.
fn what(load: &Load, n: u64) -> (Op, String, Option<(u64, usize)>) {
    match &load.client {
        Client::Writer { index, value_size, .. } => {
            let write = write(&load.node, *index, n);
            (Op::Write, write.key, Some((write.value, *value_size)))
        }
        Client::Reader { .. } => (Op::Read, register(n), None),
        Client::ApiWriter { .. } => (Op::Write, "config-map".into(), Some((n, 0))),
        Client::ApiReader { .. } => (Op::Read, "config-map".into(), None),
    }
}
