//! What the oracle predicts of a task's joins, before they run, and whether it was so.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::judge::Look;
use super::residue;
use crate::cluster::{Cluster, select};
use crate::event::{Event, Judgement, Verdict};
use crate::expect::{self, Window};
use crate::observe::{Foresight, Limits, Observer, foresee};
use crate::spec::{Join, Joins, Order, Selector};
use crate::step::World;
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;
use crate::workflow::{PlannedTask, Step};

/// What an earlier join has left in a node that was not reset.
const KUBELET_CONF: &str = "/etc/kubernetes/kubelet.conf";
/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);

/// What is predicted, where the task wants to know; why nothing is.
pub(super) type Foreseen = Option<Result<Foresight, String>>;

/// Predicts, and tells of it.
pub(super) async fn of(task: &PlannedTask, world: &World) -> Foreseen {
    let Step::Join(join) = task.step.clone() else { return None };
    if task.expect.joins != Some(Joins::Oracle) {
        return None;
    }
    let foresight = predicted(&join, world).await;
    if let Ok(Foresight { before, prediction, .. }) = &foresight {
        let rules: Vec<&str> = prediction.rules.iter().map(|rule| rule.id).collect();
        let rules = if rules.is_empty() { String::new() } else { format!(" ({})", rules.join(", ")) };
        world.events.tell(Event::Note { text: format!("the oracle, of {before}: {prediction}{rules}") });
    }
    Some(foresight)
}

async fn predicted(join: &Join, world: &World) -> Result<Foresight, String> {
    let cluster = world.cluster().map_err(|e| e.to_string())?;
    let observer = world.observer.as_ref().ok_or("nobody watches etcd: no init has run")?;
    for (what, own) in [("kubeadm", &world.overrides.kubeadm), ("etcd", &world.overrides.etcd)] {
        if own.is_some() {
            return Err(format!("of a {what} of one's own no rule is known"));
        }
    }
    if let Some((node, version)) = cluster.skew.iter().next() {
        return Err(format!("of a kubeadm of another version than the cluster, as {version} on {node}, no rule is known"));
    }
    let first = cluster.first().index;
    let meant = select(&cluster, join.nodes.as_ref().unwrap_or(&Selector::all()), true).await.map_err(|e| e.to_string())?;
    let joining: Vec<_> = meant.iter().filter(|node| node.index != first && node.role.has_member()).collect();
    for node in &joining {
        if node.read_if_there(KUBELET_CONF).await.map_err(|e| e.to_string())?.is_some() {
            return Err(format!(
                "{} was not reset after another join: kubeadm's preflight refuses it, of which no rule is known",
                node.name
            ));
        }
    }
    let joining = joining.into_iter().map(|node| node.name.clone());
    let (running, absent) = cluster.running().await;
    let (said, usual) = (&cluster.kubeadm, Limits::default());
    let limits = Limits {
        etcd_api_call: said.etcd_api_call.unwrap_or(usual.etcd_api_call),
        tls_bootstrap: said.tls_bootstrap.unwrap_or(usual.tls_bootstrap),
        discovery: said.discovery.unwrap_or(usual.discovery),
    };
    foresee(&running, &absent, observer, joining.collect(), join.order == Order::Parallel, limits).await
}

/// Judges the joins; a member that was added may start, and have a name, some moments behind kubeadm's end.
pub(super) async fn judge(
    cluster: &Cluster,
    observer: &Observer,
    foresight: &Result<Foresight, String>,
    began: Stamp,
    look: Look,
    stop: &Stop,
) -> Judgement {
    let end = Instant::now() + look.limit(expect::SETTLE);
    loop {
        let record = observer.record();
        let residues = residue::read(cluster, &record, began).await;
        let judgement = expect::foreseen(foresight, &record, Window { from: began, to: Stamp::now() }, &residues);
        let settled = judgement.verdict == Verdict::Pass || foresight.is_err();
        if settled || Instant::now() + EVERY >= end || stop.soft.is_cancelled() {
            return judgement;
        }
        sleep(EVERY).await;
    }
}
