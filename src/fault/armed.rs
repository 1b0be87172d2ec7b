//! The faults of one task, from before its step to behind it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::ground::{ArmError, Ground, names};
use super::kind::{act, side};
use super::live::{Live, Setting};
use super::proxies::{Met, Proxies, Proxy};
use super::trigger::{Awaited, Watch};
use crate::agent::{Act, Call, Disturb, Said};
use crate::cluster::Cluster;
use crate::event::{Bus, Event, FaultMoment, Judgement, Verdict};
use crate::node::{Node, Role};
use crate::spec::{Fault, Selector, Side, Until};

/// Undoing all faults of a task: nodes that were killed start again.
const HEAL: Duration = Duration::from_mins(4);
/// One member's answer.
const ASK: Duration = Duration::from_secs(3);

/// What outlives tasks: the proxies, and faults that end with the run.
#[derive(Clone, Default)]
pub struct Faults {
    proxies: Proxies,
    kept: Arc<tokio::sync::Mutex<Vec<Kept>>>,
}

struct Kept {
    armed: Armed,
    /// Its id, and the task's name, of a fault that is a task of its own.
    standing: Option<(String, String)>,
}

/// Faults that wait or are at work. Healed by [`Armed::heal`]; dropped, what they have done stays.
pub struct Armed {
    ground: Ground,
    proxies: Proxies,
    taken: Vec<Arc<Proxy>>,
    lives: JoinSet<()>,
    count: usize,
    reports: mpsc::UnboundedReceiver<Judgement>,
    step_end: CancellationToken,
    run_end: CancellationToken,
    outlive: bool,
}

impl Faults {
    /// Arms the faults of the task `index` on a cluster. `words` says what a fault does. With `watch` kubeadm's calls to etcd are seen
    /// also where no fault is about them. `hard` ends also the undoing.
    ///
    /// # Errors
    /// When a selector means nothing, or a proxy does not stand; nothing is armed then.
    pub async fn arm(
        &self,
        index: usize,
        faults: &[Fault],
        watch: bool,
        (cluster, events): (&Arc<Cluster>, &Bus),
        words: impl Fn(&Fault) -> String,
        hard: &CancellationToken,
    ) -> Result<Armed, ArmError> {
        let ground = Ground::new(index, cluster.clone(), events.clone(), hard.clone());
        let (report, reports) = mpsc::unbounded_channel();
        let run_end = CancellationToken::new();
        let mut armed = Armed {
            ground: ground.clone(),
            proxies: self.proxies.clone(),
            taken: Vec::new(),
            lives: JoinSet::new(),
            count: faults.len(),
            reports,
            step_end: run_end.child_token(),
            run_end,
            outlive: faults.iter().any(|fault| fault.until == Until::RunEnd),
        };
        if !faults.is_empty() {
            armed.health("before").await;
        }
        let prepared = armed.prepare(faults, watch, words, &report).await;
        let lives = match prepared {
            Ok(lives) => lives,
            Err(e) => {
                armed.release().await;
                return Err(e);
            }
        };
        for live in lives {
            ground.tell(&live.fault.id, &live.what, "", FaultMoment::Armed);
            armed.lives.spawn(live.run());
        }
        Ok(armed)
    }

    /// Keeps a fault that lasts until it is healed: its id, and its task's name.
    pub async fn stand(&self, armed: Armed, id: &str, task: &str) {
        self.kept.lock().await.push(Kept { armed, standing: Some((id.to_owned(), task.to_owned())) });
    }

    /// Ends the fault of this id, and says what it came to; `None` where none of this id stands.
    pub async fn heal(&self, id: &str) -> Option<Vec<Judgement>> {
        let mut kept = self.kept.lock().await;
        let at = kept.iter().position(|kept| kept.standing.as_ref().is_some_and(|(other, _)| other == id));
        let Kept { armed, .. } = kept.remove(at?);
        drop(kept);
        Some(armed.heal(self).await)
    }

    /// Ends what has outlived its task: what could not be undone, and of faults that no task has healed what they came to, with the
    /// number and name of their task.
    pub async fn end(&self) -> (Vec<String>, Vec<(usize, String, Judgement)>) {
        let (mut left, mut judged) = (Vec::new(), Vec::new());
        let all = std::mem::take(&mut *self.kept.lock().await);
        for Kept { mut armed, standing } in all {
            if let Some((_, task)) = standing {
                let index = armed.ground.index;
                judged.extend(armed.heal(self).await.into_iter().map(|judgement| (index, task.clone(), judgement)));
            } else {
                armed.run_end.cancel();
                left.extend(armed.finish().await);
            }
        }
        (left, judged)
    }
}

impl Armed {
    async fn prepare(
        &mut self,
        faults: &[Fault],
        watch: bool,
        words: impl Fn(&Fault) -> String,
        report: &mpsc::UnboundedSender<Judgement>,
    ) -> Result<Vec<Live>, ArmError> {
        let mut lives = Vec::new();
        let ground = self.ground.clone();
        for fault in faults {
            let select = async |selector: &Selector| {
                ground.nodes(selector).await.map_err(|source| ArmError::Select { id: fault.id.clone(), source })
            };
            let nodes = match &fault.on.node {
                Some(selector) => Some(select(selector).await?),
                None => None,
            };
            let endpoints = match &fault.on.endpoint {
                Some(selector) => select(selector).await?,
                None => Vec::new(),
            };
            let key = format!("{}/{}", ground.index, fault.id);
            let (to, met) = mpsc::unbounded_channel();
            let mut proxies = Vec::new();
            let setting = if let Some(call) = &fault.on.call {
                let (act, times) = act(&fault.action).unwrap_or((Act::Hold { at: side(fault.on.at.unwrap_or(Side::Request)) }, 1));
                let disturb = Disturb {
                    key: key.clone(),
                    id: fault.id.clone(),
                    method: call.as_str().to_owned(),
                    endpoints: endpoints.iter().map(|node| format!("{}:2379", node.address)).collect(),
                    nth: fault.on.nth.unwrap_or(1),
                    times,
                    act,
                };
                proxies = self.disturb(nodes.as_deref(), &disturb, &to).await?;
                Setting::Call
            } else if let Some(time) = fault.on.after {
                Setting::After(time.0)
            } else {
                Setting::Told(ground.events.subscribe(), self.watch(fault, nodes.as_deref()))
            };
            lives.push(Live {
                fault: fault.clone(),
                key,
                what: words(fault),
                ground: ground.clone(),
                setting,
                met,
                proxies,
                step_end: self.step_end.clone(),
                run_end: self.run_end.clone(),
                report: report.clone(),
            });
        }
        if watch {
            for node in self.control_planes() {
                self.take(&node).await?;
            }
        }
        Ok(lives)
    }

    /// Has the proxies of these nodes, of all control planes when `None`, disturb calls.
    async fn disturb(
        &mut self,
        nodes: Option<&[Arc<Node>]>,
        disturb: &Disturb,
        to: &mpsc::UnboundedSender<Met>,
    ) -> Result<Vec<Arc<Proxy>>, ArmError> {
        let all = self.control_planes();
        let mut proxies = Vec::new();
        for node in nodes.unwrap_or(&all).iter().filter(|node| node.role == Role::ControlPlane) {
            let proxy = self.take(node).await?;
            proxy.disturb(disturb.clone(), to.clone()).await?;
            proxies.push(proxy);
        }
        Ok(proxies)
    }

    async fn take(&mut self, node: &Arc<Node>) -> Result<Arc<Proxy>, ArmError> {
        if let Some(proxy) = self.taken.iter().find(|proxy| proxy.node.name == node.name) {
            return Ok(proxy.clone());
        }
        let proxy = self.proxies.take(node, &self.ground.events).await?;
        self.taken.push(proxy.clone());
        Ok(proxy)
    }

    fn watch(&self, fault: &Fault, nodes: Option<&[Arc<Node>]>) -> Watch {
        let what = match (&fault.on.event, &fault.on.phase) {
            (Some(event), _) => Awaited::Event(*event),
            (None, phase) => Awaited::Phase(phase.clone().unwrap_or_default()),
        };
        let nodes = nodes.map(|nodes| nodes.iter().map(|node| node.name.clone()).collect());
        let places: BTreeMap<String, String> = self
            .ground
            .cluster
            .nodes
            .iter()
            .flat_map(|node| [node.address.to_string(), node.name.clone()].map(|host| (host, node.name.clone())))
            .collect();
        Watch::new(what, nodes, fault.on.nth.unwrap_or(1), places)
    }

    fn control_planes(&self) -> Vec<Arc<Node>> {
        self.ground.cluster.nodes.iter().filter(|node| node.role == Role::ControlPlane).cloned().collect()
    }

    /// Why a proxy is gone that is needed; for ever where none is. One whose node a fault ended is no trouble of its own.
    pub async fn broken(&self) -> String {
        if self.taken.is_empty() {
            return std::future::pending().await;
        }
        let ends = self.taken.iter().map(|proxy| {
            Box::pin(async {
                match proxy.end().await {
                    Err(why) if !self.ground.is_felled(&proxy.node.name) => why,
                    Ok(()) | Err(_) => std::future::pending().await,
                }
            })
        });
        select_all(ends).await.0
    }

    /// Ends the faults of a step that has ended, and says what each came to. Those that last until the run's end go to `faults`.
    pub async fn heal(mut self, faults: &Faults) -> Vec<Judgement> {
        self.step_end.cancel();
        let mut judgements = Vec::new();
        let all = async {
            while judgements.len() < self.count {
                let Some(judgement) = self.reports.recv().await else { break };
                judgements.push(judgement);
            }
        };
        let hard = self.ground.hard.clone();
        tokio::select! {
            _ = timeout(HEAL, all) => {}
            () = hard.cancelled() => {}
        }
        if judgements.len() < self.count {
            let wanted = format!("{} faults come to an end", self.count);
            let saw = format!("{} did in time on {}", judgements.len(), names(&self.ground.cluster.nodes));
            judgements.push(Judgement { name: "faults".into(), verdict: Verdict::Undecided, wanted, saw, evidence: Vec::new() });
        }
        if self.outlive {
            faults.kept.lock().await.push(Kept { armed: self, standing: None });
            return judgements;
        }
        let left = self.finish().await;
        for why in left {
            self.ground.events.tell(Event::Warning { text: format!("a proxy of etcd's calls may have left its rule: {why}") });
        }
        if self.count > 0 {
            self.health("after").await;
        }
        judgements.sort_by(|a, b| a.name.cmp(&b.name));
        judgements
    }

    /// Waits for the last undoing, and ends the proxies that nobody needs any more; what could not be ended.
    async fn finish(&mut self) -> Vec<String> {
        let all = timeout(HEAL, async { while self.lives.join_next().await.is_some() {} });
        let hard = self.ground.hard.clone();
        tokio::select! {
            _ = all => {}
            () = hard.cancelled() => {}
        }
        self.release().await
    }

    async fn release(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for proxy in std::mem::take(&mut self.taken) {
            match self.proxies.give_back(&proxy).await {
                Ok(()) => {}
                Err(_) if self.ground.is_felled(&proxy.node.name) => {}
                Err(why) => left.push(format!("{}: {why}", proxy.node.name)),
            }
        }
        left
    }

    /// Tells how many members answer: what was ill before was not made so.
    async fn health(&self, when: &str) {
        let nodes = self.control_planes();
        let asked = join_all(nodes.iter().map(async |node| {
            matches!(node.agent().ask(Call::Members { etcd: node.etcd() }, ASK).await, Ok(Said::Members { .. })).then(|| node.name.clone())
        }));
        let well: Vec<String> = asked.await.into_iter().flatten().collect();
        let of = nodes.len();
        let which = if well.is_empty() { String::new() } else { format!(": {}", well.join(", ")) };
        let text = format!("{when} the faults: {} of {of} control planes have a member that answers with quorum{which}", well.len());
        self.ground.events.tell(Event::Note { text });
    }
}
