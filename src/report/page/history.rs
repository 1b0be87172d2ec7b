//! What a case was, over time: the part of its events that a timeline shows. Filled from events alone.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use super::clients::{Client, Silence};
use super::faults::Broken;
use super::usage::Usages;
use crate::event::{EtcdSample, EtcdWord, Event, MemberId, Moment, Notice, SpanKind, Told, Work};
use crate::report::nodes::host;
use crate::sys::clock::Stamp;

/// Samples that a moment may still come from: it is told right behind its own, but others may be told between.
const RECENT: usize = 64;
/// Notes and warnings that are kept.
const MOST_NOTES: usize = 200;
/// Processes of one node's etcd that are kept.
const MOST_PROCESSES: usize = 100;
/// Last lines of a kubeadm that failed.
const TAIL: usize = 15;
/// etcd's words for a learner slot that is taken (`ErrTooManyLearners`), as kubeadm's log repeats them.
const SLOT_TAKEN: &str = "too many learner members in cluster";

/// One case over time.
#[derive(Debug)]
pub(in crate::report) struct History {
    /// What times are counted from.
    pub(in crate::report) zero: Stamp,
    /// The last event so far.
    pub(in crate::report) last: Stamp,
    /// When each task ran, by its number.
    pub(in crate::report) tasks: BTreeMap<usize, (Stamp, Option<Stamp>)>,
    pub(in crate::report) nodes: BTreeMap<String, NodeStory>,
    pub(in crate::report) lives: BTreeMap<MemberId, Life>,
    /// Whom each member that answers takes for the leader; 0 for none.
    followed: BTreeMap<String, MemberId>,
    /// Each new leader or term, in order; leader 0 where nobody that answers knew one.
    pub(in crate::report) reigns: Vec<Reign>,
    /// Work on the whole cluster.
    pub(in crate::report) whole: Vec<(Work, Stamp, Duration)>,
    pub(in crate::report) clients: BTreeMap<String, Client>,
    pub(in crate::report) silence: Silence,
    pub(in crate::report) broken: Broken,
    pub(in crate::report) notes: Notes,
    addresses: BTreeMap<Ipv4Addr, String>,
    /// When seen, number of the event, what it may be late by.
    recent: VecDeque<(Stamp, u64, Option<u64>)>,
}

/// What happened on one node.
#[derive(Debug, Default)]
pub(in crate::report) struct NodeStory {
    pub(in crate::report) works: Vec<(Work, Stamp, Duration)>,
    pub(in crate::report) runs: Vec<Kubeadm>,
    pub(in crate::report) spans: Vec<(SpanKind, Stamp, Duration)>,
    /// From when to when its member gave no answer, after it had given one.
    pub(in crate::report) silent: Vec<(Stamp, Option<Stamp>)>,
    pub(in crate::report) usages: Usages,
    /// Its etcd's processes, by its log.
    processes: Vec<Process>,
    answered: bool,
}

/// A process of etcd's on its way to its clients.
#[derive(Debug)]
struct Process {
    began: Stamp,
    /// Did it have to tell its name a second time, behind the publish timeout?
    late: bool,
    serves: Option<Stamp>,
}

/// One kubeadm command.
#[derive(Debug)]
pub(in crate::report) struct Kubeadm {
    /// `init`, `join`.
    pub(in crate::report) command: String,
    pub(in crate::report) began: Stamp,
    pub(in crate::report) ended: Option<Stamp>,
    /// Did it end well?
    pub(in crate::report) passed: bool,
    /// Did it not end by itself?
    pub(in crate::report) killed: bool,
    pub(in crate::report) error: Option<String>,
    pub(in crate::report) phases: Vec<(String, Stamp)>,
    /// When the learner slot was first refused to it, and how often.
    pub(in crate::report) refused: Option<(Stamp, u32)>,
    /// Its last lines.
    pub(in crate::report) tail: VecDeque<String>,
}

/// The life of one member.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Life {
    /// Its node, once that is known.
    pub(in crate::report) owner: Option<String>,
    pub(in crate::report) moments: BTreeMap<Moment, Sight>,
}

/// A moment as it was seen: when, and how much earlier it may have been.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Sight {
    pub(in crate::report) at: Stamp,
    pub(in crate::report) unsure: Duration,
}

/// Who leads, from when on.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Reign {
    pub(in crate::report) from: Stamp,
    pub(in crate::report) leader: MemberId,
    pub(in crate::report) term: u64,
}

/// What a reader should know.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Notes {
    /// When, is it a warning, in words.
    pub(in crate::report) kept: Vec<(Stamp, bool, String)>,
    /// How many more there were.
    pub(in crate::report) more: usize,
}

impl Notes {
    pub(in crate::report) fn hear(&mut self, told: &Told) {
        let note = if let Event::Warning { text } = &told.event {
            (told.at, true, text.clone())
        } else if let Event::Note { text } = &told.event {
            (told.at, false, text.clone())
        } else {
            return;
        };
        if self.kept.len() < MOST_NOTES {
            self.kept.push(note);
        } else {
            self.more += 1;
        }
    }
}

impl History {
    /// Of a case that begins now. `before` was told before it.
    pub(in crate::report) fn new(zero: Stamp, now: Stamp, before: Notes) -> Self {
        Self {
            zero,
            last: now,
            tasks: BTreeMap::new(),
            nodes: BTreeMap::new(),
            lives: BTreeMap::new(),
            followed: BTreeMap::new(),
            reigns: Vec::new(),
            whole: Vec::new(),
            clients: BTreeMap::new(),
            silence: Silence::default(),
            broken: Broken::default(),
            notes: before,
            addresses: BTreeMap::new(),
            recent: VecDeque::new(),
        }
    }

    /// Takes an event in.
    pub(in crate::report) fn hear(&mut self, told: &Told) {
        self.last = self.last.max(told.at);
        match &told.event {
            Event::TaskStarted { index, .. } => drop(self.tasks.insert(*index, (told.at, None))),
            Event::TaskFinished { index, .. } => {
                if let Some(task) = self.tasks.get_mut(index) {
                    task.1 = Some(told.at);
                }
            }
            Event::Worked { work, on, began, took } => self.worked(*work, on, *began, *took),
            Event::NodeUp { node, address } => {
                self.addresses.insert(*address, node.clone());
                self.node(node);
            }
            Event::KubeadmStarted { node, argv } => {
                let command = argv.get(1).cloned().unwrap_or_else(|| "kubeadm".into());
                self.node(node).runs.push(Kubeadm::new(command, told.at));
            }
            Event::KubeadmPhase { node, seen, phase } => {
                if let Some(run) = self.node(node).runs.last_mut() {
                    run.phases.push((phase.clone(), *seen));
                }
            }
            Event::KubeadmLine { node, seen, line } => {
                if let Some(run) = self.node(node).runs.last_mut() {
                    run.line(*seen, line);
                }
            }
            Event::KubeadmFinished { node, code, error, .. } => {
                if let Some(run) = self.node(node).runs.last_mut() {
                    run.ended = Some(told.at);
                    run.passed = *code == Some(0);
                    run.killed = code.is_none();
                    run.error = (!run.passed).then(|| error.clone().unwrap_or_else(|| "it was killed".into()));
                    if run.passed {
                        run.tail.clear();
                    }
                }
            }
            Event::Etcd { node, sample } => self.sample(told.seq, node, sample),
            Event::Member { id, name, moment, seen } => self.moment(*id, name, *moment, *seen),
            Event::Used { node, component, seen, usage } => self.node(node).usages.used(component, *seen, usage),
            Event::Metrics { node, seen, metrics } => self.node(node).usages.metrics(*seen, metrics),
            Event::Span { node, span, began, took } => self.node(node).spans.push((*span, *began, *took)),
            Event::Called { call } => {
                self.silence.called(call);
                self.clients.entry(call.client.clone()).or_default().called(call);
            }
            Event::Note { .. } | Event::Warning { .. } => self.notes.hear(told),
            Event::Fault { index, id, what, moment, .. } => self.broken.fault((*index, id, what), moment, told.at),
            Event::Proxied { node, call } => self.broken.proxied(node, call),
            Event::Noticed { node, seen, notice: Notice::EtcdLog { word, .. } } => self.node(node).etcd_says(*word, *seen),
            Event::Noticed { .. }
            | Event::RunStarted { .. }
            | Event::CaseStarted { .. }
            | Event::CaseFinished { .. }
            | Event::Output { .. }
            | Event::Judged { .. }
            | Event::Cleaned { .. }
            | Event::RunFinished { .. } => {}
        }
    }

    fn node(&mut self, name: &str) -> &mut NodeStory {
        self.nodes.entry(name.to_owned()).or_default()
    }

    fn worked(&mut self, work: Work, on: &str, began: Stamp, took: Duration) {
        match work {
            Work::CreateNode | Work::Boot | Work::Init | Work::Join => self.node(on).works.push((work, began, took)),
            Work::CreateNodes | Work::Joins | Work::Ready | Work::Delete => self.whole.push((work, began, took)),
        }
    }

    fn sample(&mut self, seq: u64, node: &str, sample: &EtcdSample) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((sample.seen, seq, sample.gap_ms));
        for member in sample.members.iter().flatten() {
            let at = member.peer_urls.iter().find_map(|url| self.addresses.get(&host(url)?)).cloned();
            let owner = if member.started() { Some(member.name.clone()) } else { at };
            if let Some(owner) = owner {
                self.lives.entry(member.id).or_default().owner = Some(owner);
            }
        }
        match &sample.status {
            Some(status) => drop(self.followed.insert(node.to_owned(), status.leader)),
            None => drop(self.followed.remove(node)),
        }
        let leaderless = !self.followed.is_empty() && self.followed.values().all(|leader| leader.0 == 0);
        if let Some(last) = self.reigns.last().copied().filter(|last| leaderless && last.leader.0 != 0) {
            self.reigns.push(Reign { from: sample.seen, leader: MemberId(0), term: last.term });
        }
        if let Some(status) = sample.status.as_ref().filter(|status| status.leader.0 != 0) {
            let new =
                self.reigns.last().is_none_or(|last| (status.term, status.leader) != (last.term, last.leader) && status.term >= last.term);
            if new {
                self.reigns.push(Reign { from: sample.seen, leader: status.leader, term: status.term });
            }
        }
        let story = self.node(node);
        let answers = sample.members.is_some() || sample.status.is_some();
        match (answers, story.silent.last_mut()) {
            (true, Some(silence)) if silence.1.is_none() => silence.1 = Some(sample.seen),
            (false, Some(silence)) if silence.1.is_none() => {}
            (false, _) if story.answered => story.silent.push((sample.seen, None)),
            (true | false, _) => {}
        }
        story.answered |= answers;
    }

    fn moment(&mut self, id: MemberId, name: &str, moment: Moment, seen: Stamp) {
        let gap = self.recent.iter().rev().find(|recent| recent.0 == seen).and_then(|recent| recent.2);
        let life = self.lives.entry(id).or_default();
        if !name.is_empty() {
            life.owner = Some(name.to_owned());
        }
        // the first list of a member may be as old as its first answer
        life.moments.entry(moment).or_insert(Sight { at: seen, unsure: gap.map_or(Duration::from_secs(1), Duration::from_millis) });
    }
}

impl NodeStory {
    fn etcd_says(&mut self, word: EtcdWord, seen: Stamp) {
        let full = self.processes.len() == MOST_PROCESSES;
        match (word, self.processes.last_mut()) {
            (EtcdWord::Starting, _) if !full => {
                self.processes.push(Process { began: seen, late: false, serves: None });
            }
            (EtcdWord::PublishFailed, Some(process)) => process.late = true,
            (EtcdWord::Serving, Some(process)) => drop(process.serves.get_or_insert(seen)),
            (
                EtcdWord::Starting
                | EtcdWord::PublishFailed
                | EtcdWord::Serving
                | EtcdWord::Added
                | EtcdWord::Promoted
                | EtcdWord::Removed
                | EtcdWord::Published,
                _,
            ) => {}
        }
    }

    /// From when to when its etcd served nobody because of the publish timeout.
    pub(super) fn late(&self, now: Stamp) -> impl Iterator<Item = (Stamp, Stamp)> {
        self.processes.iter().filter(|process| process.late).map(move |process| (process.began, process.serves.unwrap_or(now)))
    }
}

impl Kubeadm {
    fn new(command: String, began: Stamp) -> Self {
        Self {
            command,
            began,
            ended: None,
            passed: false,
            killed: false,
            error: None,
            phases: Vec::new(),
            refused: None,
            tail: VecDeque::new(),
        }
    }

    fn line(&mut self, seen: Stamp, line: &str) {
        // etcd's client writes JSON between kubeadm's lines, which say the same for people
        if line.starts_with('{') {
            return;
        }
        if line.contains(SLOT_TAKEN) {
            let refused = self.refused.get_or_insert((seen, 0));
            refused.1 += 1;
        }
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
    }
}
