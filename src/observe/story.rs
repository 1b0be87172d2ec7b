//! What kubeadm said and did in each node, when what came to be, and where the joins' time went.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::passage::Stretch;
use crate::event::{Event, Notice, Told};
use crate::sys::clock::Stamp;

/// Lines of kubeadm that are kept of each node; a join writes some 500.
const LINES: usize = 4_000;
/// Moments and stretches that are kept in all.
const MOST: usize = 10_000;

/// What can come to be in a node; moments of its member are in the members' lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A kubeadm command began.
    KubeadmStarted,
    /// It ended.
    KubeadmFinished,
    /// The kubelet has its certificate.
    KubeletCertificate,
    /// There is a Node object.
    Registered,
    /// It is Ready.
    Ready,
}

/// Something that came to be in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The node.
    pub node: String,
    /// What.
    pub what: Step,
    /// When.
    pub at: Stamp,
    /// Number of the event.
    pub seq: u64,
}

/// How a kubeadm command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeadmEnd {
    /// Was it a join?
    pub join: bool,
    /// When.
    pub at: Stamp,
    /// Exit code; `None` when it was killed.
    pub code: Option<i32>,
    /// Its own error line.
    pub error: Option<String>,
    /// How long it ran.
    pub took: Duration,
    /// Number of the event.
    pub seq: u64,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// In the order of telling.
    pub milestones: Vec<Milestone>,
    /// Ends of kubeadm commands by node.
    pub ends: BTreeMap<String, Vec<KubeadmEnd>>,
    /// Lines of kubeadm by node, the oldest ones left out where there are too many.
    pub lines: BTreeMap<String, VecDeque<(Stamp, String)>>,
    /// Where time went, by node, with the number of the event.
    pub spans: Vec<(String, Stretch, u64)>,
    /// The command that runs in a node.
    running: BTreeMap<String, bool>,
}

impl Story {
    /// Hears an event.
    pub fn hear(&mut self, told: &Told) {
        if let Event::KubeadmStarted { node, argv } = &told.event {
            self.running.insert(node.clone(), argv.get(1).is_some_and(|command| command == "join"));
            self.milestone(node, Step::KubeadmStarted, told.at, told.seq);
        }
        if let Event::KubeadmLine { node, seen, line } = &told.event {
            let lines = self.lines.entry(node.clone()).or_default();
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back((*seen, line.clone()));
        }
        if let Event::KubeadmFinished { node, code, error, took, .. } = &told.event {
            let join = self.running.get(node).copied().unwrap_or(false);
            let end = KubeadmEnd { join, at: told.at, code: *code, error: error.clone(), took: *took, seq: told.seq };
            self.ends.entry(node.clone()).or_default().push(end);
            self.milestone(node, Step::KubeadmFinished, told.at, told.seq);
        }
        if let Event::Noticed { node, seen, notice } = &told.event
            && let Some(step) = step(notice)
        {
            self.milestone(node, step, *seen, told.seq);
        }
    }

    /// Did the last `kubeadm join` in this node fail?
    pub fn join_failed(&self, node: &str) -> bool {
        let last = self.ends.get(node).and_then(|ends| ends.iter().rev().find(|end| end.join));
        last.is_some_and(|end| end.code != Some(0))
    }

    /// Adds a stretch that was told as event `seq`.
    pub fn span(&mut self, node: &str, stretch: Stretch, seq: u64) {
        if self.spans.len() < MOST {
            self.spans.push((node.to_owned(), stretch, seq));
        }
    }

    /// Adds a moment.
    pub fn milestone(&mut self, node: &str, what: Step, at: Stamp, seq: u64) {
        if self.milestones.len() < MOST {
            self.milestones.push(Milestone { node: node.to_owned(), what, at, seq });
        }
    }
}

fn step(notice: &Notice) -> Option<Step> {
    match notice {
        Notice::KubeletCertificate => Some(Step::KubeletCertificate),
        Notice::NodeRegistered => Some(Step::Registered),
        Notice::NodeReady => Some(Step::Ready),
        Notice::ProcessStarted { .. }
        | Notice::CertificateRequest { .. }
        | Notice::InitialCluster { .. }
        | Notice::DataHash { .. }
        | Notice::EtcdLog { .. } => None,
    }
}
