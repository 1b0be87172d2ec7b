//! The life of one fault: set off, done, shown to have taken effect, undone.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::ground::Ground;
use super::kind::{Down, Guard, Refused, act, strike};
use super::proxies::{Met, Proxy};
use super::trigger::Watch;
use crate::event::{FaultMoment, Judgement, Told, Verdict};
use crate::spec::{Fault, Until};
use crate::sys::clock::{Stamp, human};

/// What a fault waits for.
pub(super) enum Setting {
    /// Calls, which the proxies tell of.
    Call,
    /// Something that is told.
    Told(mpsc::UnboundedReceiver<Told>, Watch),
    /// A time.
    After(Duration),
}

/// One fault, armed.
pub(super) struct Live {
    pub(super) fault: Fault,
    /// Its name in nodes and proxies, unique in the run.
    pub(super) key: String,
    /// What it does, in words.
    pub(super) what: String,
    pub(super) ground: Ground,
    pub(super) setting: Setting,
    /// Calls that have met it.
    pub(super) met: mpsc::UnboundedReceiver<Met>,
    pub(super) proxies: Vec<Arc<Proxy>>,
    pub(super) step_end: CancellationToken,
    pub(super) run_end: CancellationToken,
    /// Takes what it came to, once.
    pub(super) report: mpsc::UnboundedSender<Judgement>,
}

impl Live {
    /// From its trigger to its end.
    pub(super) async fn run(mut self) {
        let first = tokio::select! {
            biased;
            first = triggered(&mut self.setting, &mut self.met) => first,
            () = self.step_end.cancelled() => None,
        };
        let Some(first) = first else {
            self.tell("", FaultMoment::NeverTriggered);
            let left = self.lift().await;
            let instead = if let Setting::Told(_, watch) = &self.setting { watch.instead() } else { String::new() };
            self.judge(Verdict::Fail, format!("never triggered{instead}"), left.err());
            return;
        };
        if act(&self.fault.action).is_some() {
            self.calls(first).await;
        } else {
            self.other(first).await;
        }
    }

    /// Calls that are disturbed: the proxies do it, and what they tell is the proof.
    async fn calls(&mut self, first: Met) {
        let by = format!("a call of kubeadm on {}", first.node);
        self.tell(&first.node, FaultMoment::Done { by, began: Stamp::now(), down: Vec::new(), lasts: false });
        self.bit(&first.node, &first.how);
        let mut proofs = vec![first.how];
        let (until, step_end, run_end) = (self.fault.until, self.step_end.clone(), self.run_end.clone());
        let end = async {
            match until {
                Until::StepEnd => step_end.cancelled().await,
                Until::RunEnd => run_end.cancelled().await,
                Until::After(span) => tokio::select! {
                    () = sleep(span.0) => {}
                    () = step_end.cancelled() => {}
                },
            }
        };
        tokio::pin!(end);
        let mut reported = false;
        loop {
            tokio::select! {
                biased;
                Some(Met { node, how }) = self.met.recv() => {
                    self.bit(&node, &how);
                    proofs.push(how);
                }
                () = &mut end => break,
                () = self.step_end.cancelled(), if !reported => {
                    self.judge(Verdict::Pass, proofs.join("; "), None);
                    reported = true;
                }
            }
        }
        let left = self.healed(self.lift().await);
        if !reported {
            self.judge(Verdict::Pass, proofs.join("; "), left);
        }
    }

    /// Anything else. A call that set it off stands still until it is done.
    async fn other(&mut self, first: Met) {
        let began = Stamp::now();
        let done = strike(&self.fault.action, &self.key, &self.ground).await;
        let let_go = self.lift().await;
        let mut guard = match done {
            Ok(guard) => guard,
            Err(Refused::NotApplicable(why)) => {
                self.tell(&first.node, FaultMoment::NotApplicable { why: why.clone() });
                return self.judge(Verdict::Undecided, format!("it does not apply here: {why}"), let_go.err());
            }
            Err(Refused::Failed(why)) => {
                self.tell(&first.node, FaultMoment::Failed { why: why.clone() });
                return self.judge(Verdict::Fail, format!("it could not be done: {why}"), let_go.err());
            }
        };
        let Down { nodes: down, lasts } = guard.down();
        self.tell(&first.node, FaultMoment::Done { by: first.how.clone(), began, down, lasts });
        let mut proof = self.prove(guard.as_mut(), &first.node).await;
        match self.fault.until {
            Until::StepEnd | Until::RunEnd => self.step_end.cancelled().await,
            Until::After(span) => tokio::select! {
                () = sleep(span.0) => {}
                () = self.step_end.cancelled() => {}
            },
        }
        if proof.is_none() {
            proof = self.prove(guard.as_mut(), &first.node).await;
        }
        let (verdict, saw) = match proof {
            Some(proof) => (Verdict::Pass, proof),
            None => (Verdict::Undecided, "it was done, and nothing shows that it took effect".to_owned()),
        };
        let outlives = self.fault.until == Until::RunEnd;
        if outlives {
            self.judge(verdict, saw.clone(), let_go.clone().err());
            self.run_end.cancelled().await;
        }
        let left = self.healed(guard.heal().await);
        if !outlives {
            self.judge(verdict, saw, left.or(let_go.err()));
        }
    }

    async fn prove(&self, guard: &mut dyn Guard, node: &str) -> Option<String> {
        let proof = guard.proof().await?;
        self.bit(node, &proof);
        Some(proof)
    }

    /// Lets calls go on.
    async fn lift(&self) -> Result<(), String> {
        let mut left = Vec::new();
        for proxy in &self.proxies {
            match proxy.lift(&self.key).await {
                Ok(()) => {}
                Err(_) if self.ground.is_felled(&proxy.node.name) => {}
                Err(e) => left.push(e.to_string()),
            }
        }
        if left.is_empty() { Ok(()) } else { Err(left.join("; ")) }
    }

    /// Tells of its end; why it is none.
    fn healed(&self, healed: Result<(), String>) -> Option<String> {
        match healed {
            Ok(()) => {
                self.tell("", FaultMoment::Healed);
                None
            }
            Err(why) => {
                self.tell("", FaultMoment::Failed { why: format!("it could not be undone: {why}") });
                Some(why)
            }
        }
    }

    fn bit(&self, node: &str, proof: &str) {
        self.tell(node, FaultMoment::Bit { proof: proof.to_owned() });
    }

    fn tell(&self, node: &str, moment: FaultMoment) {
        self.ground.tell(&self.fault.id, &self.what, node, moment);
    }

    /// Says what it came to; what is left of it is a failure whatever else was seen.
    fn judge(&self, verdict: Verdict, saw: String, left: Option<String>) {
        let (verdict, saw) = match left {
            Some(left) => (Verdict::Fail, format!("{saw}; it could not be undone: {left}")),
            None => (verdict, saw),
        };
        let name = format!("fault {}", self.fault.id);
        let _ = self.report.send(Judgement { name, verdict, wanted: self.what.clone(), saw, evidence: Vec::new() });
    }
}

/// Waits for what sets it off, and says what it was; for ever where nothing can come any more.
async fn triggered(setting: &mut Setting, met: &mut mpsc::UnboundedReceiver<Met>) -> Option<Met> {
    match setting {
        Setting::Call => match met.recv().await {
            Some(met) => Some(met),
            None => std::future::pending().await,
        },
        Setting::After(time) => {
            sleep(*time).await;
            Some(Met { node: String::new(), how: format!("{} behind the step's start", human(*time)) })
        }
        Setting::Told(told, watch) => loop {
            let Some(told) = told.recv().await else { std::future::pending().await };
            if let Some(how) = watch.hear(&told.event) {
                return Some(Met { node: String::new(), how });
            }
        },
    }
}
