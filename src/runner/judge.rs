//! Gathers what expectations need to see, and has them judged.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::foresight::{self, Foreseen};
use super::{clients, logs, residue};
use crate::agent::{AgentError, Call, Said};
use crate::cluster::Cluster;
use crate::event::{Event, Judgement, Member, Verdict, Work};
use crate::expect::{self, Readiness, Window};
use crate::observe::{Observer, Record};
use crate::spec::{Expectations, Joins, Leader, Members, NodesReady, Pick, When};
use crate::step::World;
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);
/// How long expectations are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Until they hold, or their time is up.
    Until,
    /// Once: the step has failed, and nothing will come that was not there.
    Once,
}

impl Look {
    pub(super) fn limit(self, wanted: Duration) -> Duration {
        match self {
            Self::Until => wanted,
            Self::Once => wanted.min(ASK),
        }
    }
}

/// How long a way may be told behind the last thing that was waited for.
const LATER: Duration = Duration::from_secs(1);
/// One member's answer.
const ASK: Duration = Duration::from_secs(3);

/// Judges all expectations of a task that began at `began`; they are judged even where the step failed.
pub(super) async fn judge(
    world: &World,
    wanted: &Expectations,
    foreseen: &Foreseen,
    began: Stamp,
    look: Look,
    stop: &Stop,
) -> Vec<Judgement> {
    let mut all = Vec::new();
    let ended = Stamp::now();
    let not_due = RefCell::new(BTreeSet::new());
    // Is this expectation for these versions?
    let due = |name: &str, when: Option<&When>| {
        let unmet = when.and_then(|when| when.unmet(world.kubernetes(), world.images.etcd.as_deref()));
        if let Some(why) = &unmet {
            world.events.tell(Event::Note { text: format!("{name} is not judged: {why}") });
            not_due.borrow_mut().insert(name.to_owned());
        }
        unmet.is_none()
    };
    if let Some(cluster) = &world.cluster {
        all = of_cluster(world, cluster, wanted, (began, ended), look, stop, &due).await;
    }
    if let (Some(cluster), Some(observer), Some(foresight)) = (&world.cluster, &world.observer, foreseen) {
        all.push(foresight::judge(cluster, observer, foresight, began, look, stop).await);
    }
    let judged = |key: &str, all: &[Judgement]| all.iter().any(|j| j.name.split(' ').next() == Some(key));
    for line in expect::wanted(wanted) {
        let (key, words) = line.split_once(": ").unwrap_or((&line, ""));
        if !judged(key, &all) && !not_due.borrow().contains(key) {
            all.push(unseen(key, words, world));
        }
    }
    all
}

/// What nobody could look at is not passed.
fn unseen(key: &str, wanted: &str, world: &World) -> Judgement {
    let saw = if world.cluster.is_none() { "there is no cluster to look at" } else { "nobody watches etcd: no init has run" };
    Judgement { name: key.into(), verdict: Verdict::Undecided, wanted: wanted.into(), saw: saw.into(), evidence: Vec::new() }
}

/// What is asked of the nodes, and what is judged by the record.
async fn of_cluster(
    world: &World,
    cluster: &Cluster,
    wanted: &Expectations,
    (began, ended): (Stamp, Stamp),
    look: Look,
    stop: &Stop,
    due: &impl Fn(&str, Option<&When>) -> bool,
) -> Vec<Judgement> {
    let mut all = Vec::new();
    if let Some(members) = wanted.members.as_ref().filter(|m| due("members", m.when.as_ref())) {
        all.push(settle(cluster, members, look, stop).await);
    }
    let promotion = wanted.promotion.as_ref().filter(|p| due("promotion", p.when.as_ref()));
    if let (Some(promotion), Some(observer)) = (promotion, &world.observer) {
        all.extend(expect::promotion(promotion, &observer.record(), began, ended.max(Stamp::now())));
    }
    if let Some(nodes) = wanted.nodes.as_ref().filter(|n| due("nodes", n.when.as_ref())) {
        let judgement = ready(cluster, nodes, look, stop).await;
        if judgement.verdict == Verdict::Pass {
            let took = Stamp::now().since(ended);
            world.events.tell(Event::Worked { work: Work::Ready, on: cluster.name.clone(), began: ended, took });
        }
        all.push(judgement);
    }
    all.extend(seen(world, cluster, wanted, (began, ended), look, stop, due).await);
    all
}

/// What is judged by the record, and by logs.
async fn seen(
    world: &World,
    cluster: &Cluster,
    wanted: &Expectations,
    (began, ended): (Stamp, Stamp),
    look: Look,
    stop: &Stop,
    due: impl Fn(&str, Option<&When>) -> bool,
) -> Vec<Judgement> {
    let mut all = Vec::new();
    let Some(observer) = world.observer.as_ref().filter(|_| !wanted.is_empty()) else { return all };
    let time = wanted.time.as_ref().filter(|t| due("time", t.when.as_ref()));
    let ways = time.is_some_and(|time| time.node.is_some() || !time.span.is_empty());
    // whoever is Ready has its way told some moments later, and belongs to this task
    let limit = if ways { expect::READY } else { LATER };
    let window = ways_end(observer, began, look.limit(limit), stop).await;
    let record = observer.record();
    let name_of = |pick: &Pick| node_name(cluster, pick);
    if let Some(joins) = wanted.joins.as_ref().filter(|joins| **joins != Joins::Oracle) {
        all.push(joined(cluster, joins, &record, window, look, stop).await);
    }
    let leader = wanted.leader.as_ref().filter(|l| due("leader", l.when.as_ref()));
    if let Some(leader) = leader {
        all.push(led(observer, leader, window, look, stop).await);
    }
    all.extend(wanted.order.as_ref().map(|order| expect::order(order, &record, window, name_of)));
    if let Some(resources) = wanted.resources.as_ref().filter(|r| due("resources", r.when.as_ref())) {
        all.extend(expect::resources(resources, &record, window));
    }
    if let Some(time) = time {
        let noise = record.measures.noise(window.from, window.to);
        all.extend(expect::time(time, &record, window, ended, noise.as_ref()));
    }
    all.extend(clients::judge(world, cluster, observer, wanted, window, &due).await);
    if let Some(wanted) = wanted.logs.as_ref().filter(|l| due("logs", l.when.as_ref())) {
        all.extend(expect::logs(wanted, &logs::find(cluster, wanted, &record, window).await));
    }
    all
}

/// A member that was added may start, and have a name, some moments behind kubeadm's end.
async fn joined(cluster: &Cluster, wanted: &Joins, record: &Record, window: Window, look: Look, stop: &Stop) -> Judgement {
    let end = Instant::now() + look.limit(expect::SETTLE);
    loop {
        let residues = residue::read(cluster, record, window.from).await;
        let judgement = expect::joins(wanted, record, window, &residues, |pick| node_name(cluster, pick));
        let waits = matches!(wanted, Joins::These(these) if these.iter().any(|(_, end)| end.residue.is_some()));
        if judgement.verdict == Verdict::Pass || !waits || Instant::now() + EVERY >= end || stop.soft.is_cancelled() {
            return judgement;
        }
        sleep(EVERY).await;
    }
}

/// Waits until the way of each node that joined is told to its end; the time up to then is the step's.
async fn ways_end(observer: &Observer, from: Stamp, limit: Duration, stop: &Stop) -> Window {
    let end = Instant::now() + limit;
    loop {
        let window = Window { from, to: Stamp::now() };
        let open = observer.look(|record| expect::unexplained(record, window));
        if open.is_empty() || Instant::now() >= end || stop.soft.is_cancelled() || stop.hard.is_cancelled() {
            return window;
        }
        sleep(EVERY).await;
    }
}

/// Behind a restart it takes some moments until a member says who leads: looked for until one does, or the time is up.
async fn led(observer: &Observer, wanted: &Leader, window: Window, look: Look, stop: &Stop) -> Judgement {
    let end = Instant::now() + look.limit(expect::SETTLE);
    loop {
        let judgement = expect::leader(wanted, &observer.record(), Window { to: Stamp::now(), ..window });
        if judgement.verdict != Verdict::Undecided || Instant::now() + EVERY >= end || stop.soft.is_cancelled() {
            return judgement;
        }
        sleep(EVERY).await;
    }
}

/// The whole name of a node that is named by its role and number.
fn node_name(cluster: &Cluster, pick: &Pick) -> String {
    match pick {
        Pick::ControlPlane(n) => format!("{}-control-plane-{n}", cluster.name),
        Pick::Worker(n) => format!("{}-worker-{n}", cluster.name),
        Pick::Etcd(n) => format!("{}-etcd-{n}", cluster.name),
        Pick::First => cluster.first().name.clone(),
        // a plan holds no other word here
        Pick::Name(_)
        | Pick::All
        | Pick::ControlPlanes
        | Pick::Secondaries
        | Pick::Workers
        | Pick::Leader
        | Pick::Followers
        | Pick::Learner => pick.to_string(),
    }
}

/// Asks until the list is as wanted or the time is up; the last list decides.
async fn settle(cluster: &Cluster, wanted: &Members, look: Look, stop: &Stop) -> Judgement {
    let end = Instant::now() + look.limit(wanted.within.map_or(expect::SETTLE, |w| w.0));
    loop {
        let seen = settled_members(cluster).await;
        let judgement = expect::members(wanted, seen.as_deref().map_err(String::as_str));
        if judgement.verdict == Verdict::Pass || Instant::now() + EVERY >= end || stop.soft.is_cancelled() {
            return judgement;
        }
        sleep(EVERY).await;
    }
}

/// The list of the first voter that answers; a learner or a member that is down does not.
pub(super) async fn settled_members(cluster: &Cluster) -> Result<Vec<Member>, String> {
    let mut why = Vec::new();
    for node in cluster.with_member() {
        match node.agent().ask(Call::Members { etcd: node.etcd() }, ASK).await {
            Ok(Said::Members { members }) => return Ok(members),
            Ok(other) => why.push(format!("{}: {other:?}", node.name)),
            Err(e @ (AgentError::Lost { .. } | AgentError::Refused { .. } | AgentError::Late { .. })) => why.push(e.to_string()),
        }
    }
    Err(why.join("; "))
}

/// Asks until as many nodes are Ready as wanted or the time is up; the last list decides.
async fn ready(cluster: &Cluster, wanted: &NodesReady, look: Look, stop: &Stop) -> Judgement {
    let limit = wanted.within.map_or(expect::READY, |w| w.0);
    let (began, end) = (Stamp::now(), Instant::now() + look.limit(limit));
    loop {
        let seen = cluster.ready_nodes().await.map(|(ready, waiting)| Readiness { ready, waiting });
        let judgement = expect::nodes(wanted, limit, seen.as_ref().map_err(String::as_str), Stamp::now().since(began));
        if judgement.verdict == Verdict::Pass || Instant::now() + EVERY >= end || stop.soft.is_cancelled() {
            return judgement;
        }
        sleep(EVERY).await;
    }
}
