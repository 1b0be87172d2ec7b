//! The lanes of a case on one time axis: tasks, leader, learner slot, clients, and for each node kubeadm's phases, its member and
//! its spans.

use std::collections::BTreeMap;

use serde::Serialize;

use super::clients::Client;
use super::history::{History, Kubeadm, Life, NodeStory};
use super::scale::{Scale, Ticks};
use super::ways;
use crate::event::{MemberId, Moment, Work};
use crate::report::model::{Case, State};
use crate::sys::clock::{Stamp, human};

/// Heights in pixels.
const AXIS: u32 = 22;
const ROW: u32 = 20;
const LOW: u32 = 15;
const GAP: u32 = 3;
const BETWEEN: u32 = 10;
/// Nodes that wait for the slot that are drawn below it; each is also drawn on its own lane.
const MOST_WAITING: usize = 6;

/// All that is drawn.
#[derive(Debug, Serialize)]
pub(super) struct Timeline {
    height: u32,
    labels: Vec<Label>,
    bands: Vec<(String, String, String)>,
    bars: Vec<Bar>,
    flags: Vec<Flag>,
    marks: Vec<Mark>,
    marks_y: u32,
    scales: Vec<Ticks>,
    /// Classes of bars that appear, for the legend.
    legend: Vec<(&'static str, &'static str)>,
    /// What there is, in a sentence.
    about: String,
    /// What some of its bars mean.
    explains: Vec<&'static str>,
    /// What could have been there and was not recorded.
    missing: Vec<&'static str>,
}

/// The name of a lane.
#[derive(Debug, Serialize)]
struct Label {
    y: u32,
    h: u32,
    text: String,
    class: &'static str,
}

/// A stretch of time.
#[derive(Debug, Serialize)]
struct Bar {
    x: String,
    w: String,
    y: u32,
    h: u32,
    class: String,
    text: String,
    title: String,
    /// The least stretch at which the text fits; 0 for none.
    z: u32,
}

/// A moment on a lane.
#[derive(Debug, Serialize)]
struct Flag {
    x: String,
    y: u32,
    h: u32,
    text: &'static str,
    title: String,
    /// Does its text lie before it?
    left: bool,
}

/// A sample that verdicts point to.
#[derive(Debug, Serialize)]
struct Mark {
    seq: u64,
    x: String,
    class: &'static str,
    title: String,
    /// The least stretch at which its number lies free; 0 for none.
    z: u32,
}

struct Drawing<'a> {
    history: &'a History,
    case: &'a Case,
    scale: Scale,
    y: u32,
    labels: Vec<Label>,
    bars: Vec<Bar>,
    flags: Vec<Flag>,
}

pub(super) fn timeline(history: &History, case: &Case, scale: Scale) -> Timeline {
    let mut drawing = Drawing { history, case, scale, y: AXIS, labels: Vec::new(), bars: Vec::new(), flags: Vec::new() };
    drawing.tasks();
    let marks_y = drawing.y;
    let marks = drawing.marks();
    drawing.faults();
    drawing.leader();
    drawing.slot();
    drawing.clients();
    for node in case.nodes.iter() {
        drawing.node(&node.name);
    }
    let any = |found: fn(&NodeStory) -> bool| history.nodes.values().any(found);
    let mut missing = Vec::new();
    for (there, what) in [
        // an etcd alone has none
        (any(|story| !story.spans.is_empty()) || !any(|story| !story.runs.is_empty()), "named spans of the joins"),
        (!history.clients.is_empty(), "client calls, so nothing is known of write gaps"),
        (!history.reigns.is_empty(), "leaders and terms"),
    ] {
        if !there {
            missing.push(what);
        }
    }
    let Drawing { y, labels, bars, flags, .. } = drawing;
    let class = |class: &str| bars.iter().any(|bar| bar.class.split(' ').any(|word| word == class));
    Timeline {
        height: y + AXIS,
        bands: bands(history, case, scale),
        legend: LEGEND.iter().copied().filter(|(name, _)| class(name)).collect(),
        explains: class("late").then_some(PUBLISH_TIMEOUT).into_iter().collect(),
        about: format!("{} nodes over {:.0} seconds; the tables below hold the same", case.nodes.iter().count(), scale.seconds()),
        labels,
        bars,
        flags,
        marks,
        marks_y,
        scales: scale.ticks(),
        missing,
    }
}

/// What bars of this kind mean (docs/findings/etcd-publish-timeout.md).
const PUBLISH_TIMEOUT: &str = "publish timeout: a new etcd member serves no client until it knows that the others have heard its name. Once etcd has \
    compacted its log, the new member gets that within a snapshot and does not notice, so it asks again after 7s. All the while it is in the list, and \
    may be promoted; its metrics answer, its clients wait, and kube-apiserver beside it cannot start.";

const LEGEND: [(&str, &str); 22] = [
    ("f-armed", "fault that waits for its trigger"),
    ("f-done", "fault at work"),
    ("k-boot", "create and boot"),
    ("k-check", "preflight"),
    ("k-prep", "certificates, kubeconfigs, manifests"),
    ("k-kubelet", "kubelet"),
    ("k-etcd", "etcd"),
    ("k-wait", "waits for the control plane"),
    ("k-finish", "marks, tokens, addons"),
    ("k-other", "other phases"),
    ("waits", "waits for the learner slot"),
    ("m-announced", "announced, not started"),
    ("m-learner", "learner"),
    ("m-voter", "voter"),
    ("m-silent", "its etcd does not answer"),
    ("late", "etcd's publish timeout"),
    ("s-span", "span"),
    ("s-slot-wait", "span: slot-wait"),
    ("w-ok", "calls succeed"),
    ("w-gap", "no call succeeds"),
    ("w-fail", "call failed"),
    ("w-unknown", "call may have been carried out"),
];

/// Left edge, width and class of tasks as bands behind everything; those of a group lie in the group's.
pub(super) fn bands(history: &History, case: &Case, scale: Scale) -> Vec<(String, String, String)> {
    let tops = case.tasks.iter().filter(|task| task.plan.group.is_none());
    let ran = tops.filter_map(|task| history.tasks.get(&task.plan.index));
    ran.enumerate()
        .map(|(at, (from, to))| {
            let (x, w) = scale.stretch(*from, to.unwrap_or(history.last));
            (x, w, format!("band{}", at % 2))
        })
        .collect()
}

impl Drawing<'_> {
    fn label(&mut self, text: &str, class: &'static str, h: u32) {
        self.labels.push(Label { y: self.y, h, text: text.to_owned(), class });
    }

    /// A bar on the lane that is drawn.
    fn bar(&mut self, (from, to): (Stamp, Stamp), h: u32, class: &str, text: &str, title: &str) {
        let (x, w) = self.scale.stretch(from, to);
        let times = format!("{title}\n{} to {} ({})", self.scale.time(from), self.scale.time(to), human(to.since(from)));
        let z = self.scale.fits(text, from, to);
        self.bars.push(Bar { x, w, y: self.y, h, class: class.to_owned(), text: text.to_owned(), title: times, z });
    }

    fn tasks(&mut self) {
        let mut all = Vec::new();
        for task in &self.case.tasks {
            let Some((from, to)) = self.history.tasks.get(&task.plan.index) else { continue };
            let class = match &task.state {
                _ if task.failed() => "t-fail",
                State::Ended { outcome, .. } if outcome.passed() => "t-pass",
                State::Ended { .. } | State::Waiting | State::Running { .. } => "t-other",
            };
            all.push((*from, to.unwrap_or(self.history.last), class, task.plan.name.clone(), task.plan.what.clone()));
        }
        let spans: Vec<(Stamp, Stamp)> = all.iter().map(|task| (task.0, task.1)).collect();
        let (rows, lines) = pack(&spans);
        let top = self.y;
        self.label("tasks", "head", ROW);
        for ((from, to, class, name, what), row) in all.into_iter().zip(rows) {
            self.y = top + row * (ROW + GAP);
            self.bar((from, to), ROW, class, &name, &format!("task {name}: {what}"));
        }
        self.y = top + lines.max(1) * (ROW + GAP) + GAP;
    }

    fn marks(&mut self) -> Vec<Mark> {
        let mut found: BTreeMap<(Stamp, u64), (&'static str, String)> = BTreeMap::new();
        for seen in self.case.tasks.iter().flat_map(|task| &task.verdicts).chain(&self.case.invariants) {
            for shown in &seen.shown {
                let Some((at, text)) = &shown.sample else { continue };
                let title = format!("event {} at {}: {text}\nshows: {}", shown.seq, self.scale.time(*at), seen.judgement.name);
                found.entry((*at, shown.seq)).or_insert((super::view::class(seen.judgement.verdict), title));
            }
        }
        let places: Vec<Stamp> = found.keys().map(|(at, _)| *at).collect();
        let mut marks: Vec<Mark> = Vec::new();
        for (place, ((at, seq), (class, title))) in found.into_iter().enumerate() {
            let next = places.get(place + 1).copied().unwrap_or(self.history.last);
            let z = self.scale.fits(&format!(" {seq}"), at, next);
            marks.push(Mark { seq, x: self.scale.stretch(at, at).0, class, title, z });
        }
        if !marks.is_empty() {
            self.label("evidence", "head", LOW);
            self.y += LOW + GAP;
        }
        marks
    }

    /// Each on a line of its own: when it waited, and when it was at work.
    fn faults(&mut self) {
        for fault in &self.history.broken.faults {
            let end = fault.ended.unwrap_or_else(|| self.watched());
            let said: Vec<String> = fault.moments.iter().map(|(at, text)| format!("{}: {text}", self.scale.time(*at))).collect();
            let title = format!("fault {}\n{}", fault.id, said.join("\n"));
            self.label(&format!("fault {}", fault.id), "head", LOW);
            self.bar((fault.armed, fault.began.unwrap_or(end)), LOW, "f-armed", "", &title);
            if let Some(began) = fault.began {
                self.bar((began, end), LOW, "f-done", &fault.id, &title);
            }
            self.y += LOW + GAP;
        }
    }

    fn leader(&mut self) {
        if self.history.reigns.is_empty() {
            return;
        }
        self.label("leader, term", "head", LOW);
        let mut known = Vec::new();
        for (at, reign) in self.history.reigns.iter().enumerate() {
            let to = self.history.reigns.get(at + 1).map_or(self.watched(), |next| next.from);
            if reign.leader == MemberId(0) {
                self.bar((reign.from, to), LOW, "w-fail", "no leader", "no member that answers knows a leader");
                continue;
            }
            let place = known.iter().position(|id| *id == reign.leader).unwrap_or_else(|| {
                known.push(reign.leader);
                known.len() - 1
            });
            let owner = self.history.lives.get(&reign.leader).and_then(|life| life.owner.as_deref());
            let who = owner.map_or_else(|| reign.leader.to_string(), |name| self.brief(name));
            let text = format!("{who}, term {}", reign.term);
            self.bar((reign.from, to), LOW, &format!("lead l{}", place % 4), &text, &format!("leader {text}"));
        }
        self.y += LOW + GAP;
    }

    /// `cp2` for `control-plane-2`, as selectors have it.
    fn brief(&self, name: &str) -> String {
        let cluster = self.case.nodes.cluster.as_ref().map(|cluster| format!("{cluster}-")).unwrap_or_default();
        name.replace(&cluster, "").replace("control-plane-", "cp")
    }

    /// Until when members were watched: the cluster is gone with its `delete`.
    fn watched(&self) -> Stamp {
        let gone = self.history.whole.iter().filter(|work| work.0 == Work::Delete).map(|work| work.1);
        gone.max().unwrap_or(self.history.last)
    }

    fn slot(&mut self) {
        let held: Vec<(Stamp, Stamp, String)> = self
            .history
            .lives
            .values()
            .filter_map(|life| {
                let from = life.moments.get(&Moment::Announced)?.at;
                Some((from, self.learned_until(life), self.owner(life)))
            })
            .collect();
        if held.is_empty() {
            return;
        }
        self.label("learner slot", "head", LOW);
        for (from, to, who) in &held {
            self.bar((*from, *to), LOW, "m-learner", who, &format!("{who} holds the learner slot"));
        }
        self.y += LOW + GAP;
        let names: Vec<String> = self.case.nodes.iter().map(|node| node.name.clone()).collect();
        let mut waits: Vec<(Stamp, Stamp, String, String)> = Vec::new();
        for name in names {
            let short = self.brief(&name);
            waits.extend(self.waits(&name).into_iter().map(|(from, to, why)| (from, to, short.clone(), format!("{short} {why}"))));
        }
        waits.sort();
        let (rows, lines) = pack(&waits.iter().map(|wait| (wait.0, wait.1)).collect::<Vec<_>>());
        let top = self.y;
        for ((from, to, text, title), row) in waits.iter().zip(rows) {
            if (row as usize) < MOST_WAITING {
                self.y = top + row * (LOW + GAP);
                self.bar((*from, *to), LOW, "waits", text, title);
            }
        }
        self.y = top;
        let drawn = lines.min(u32::try_from(MOST_WAITING).unwrap_or(u32::MAX));
        if drawn > 0 {
            self.label(if lines > drawn { "wait for it (some)" } else { "wait for it" }, "sub", LOW);
        }
        self.y += drawn * (LOW + GAP);
    }

    fn owner(&self, life: &Life) -> String {
        life.owner.as_deref().map_or_else(|| "?".to_owned(), |name| self.brief(name))
    }

    fn learned_until(&self, life: &Life) -> Stamp {
        let ends = [Moment::Promoted, Moment::Removed];
        let at = ends.iter().filter_map(|moment| life.moments.get(moment)).map(|sight| sight.at).min();
        at.unwrap_or_else(|| self.watched())
    }

    /// When a node waited for the learner slot: as its spans say, else from the first refusal to its member's announcement.
    fn waits(&self, node: &str) -> Vec<(Stamp, Stamp, String)> {
        let Some(story) = self.history.nodes.get(node) else { return Vec::new() };
        let lives = self.history.lives.values().filter(|life| life.owner.as_deref() == Some(node));
        let announced: Vec<Stamp> = lives.filter_map(|life| life.moments.get(&Moment::Announced)).map(|sight| sight.at).collect();
        let wait = |run: &Kubeadm| {
            let (from, times) = run.refused?;
            let to = announced.iter().copied().filter(|at| *at >= from).min().or(run.ended).unwrap_or(self.history.last);
            Some((from, to, format!("waits, refused {times}×")))
        };
        story.runs.iter().filter_map(wait).collect()
    }

    fn clients(&mut self) {
        for (name, client) in &self.history.clients {
            let (Some(first), Some(last)) = (client.calls.first(), client.last_end()) else { continue };
            let (from, to) = (first.began, last);
            let word = if client.writes { "writes" } else { "reads" };
            self.label(&self.brief(name), "sub", LOW);
            // behind its last success nothing is green, whether calls failed or none was made
            let good = client.succeeded().unwrap_or(from);
            self.bar((from, good), LOW, "w-ok", "", &about_client(name, client, word));
            if good < to {
                self.bar((good, to), LOW, "w-gap", &human(to.since(good)), &format!("{name}: none of its {word} succeeded any more"));
            }
            for (from, to) in &client.gaps {
                self.bar((*from, *to), LOW, "w-gap", &human(to.since(*from)), &format!("{name}: none of its {word} succeeded"));
            }
            for (call, times) in &client.failures {
                let class = if call.unknown { "w-unknown" } else { "w-fail" };
                let times = if *times > 1 { format!("{times} calls, the first: ") } else { String::new() };
                self.bar((call.began, call.ended), LOW, class, "", &format!("{name}: {times}{}", call.why.as_deref().unwrap_or_default()));
            }
            self.y += LOW + GAP;
        }
    }

    fn node(&mut self, name: &str) {
        let Some(story) = self.history.nodes.get(name) else { return };
        self.y += BETWEEN;
        self.label(self.case.nodes.short(name).to_owned().as_str(), "node", ROW);
        for (work, began, took) in &story.works {
            let (text, title) = match work {
                Work::CreateNode => ("create", "the container is made"),
                Work::Boot => ("boot", "boots, up to containerd's socket"),
                // their phases say more
                Work::Init | Work::Join | Work::CreateNodes | Work::Joins | Work::Ready | Work::Delete => continue,
            };
            self.bar((*began, after(*began, *took)), ROW, "k-boot", text, title);
        }
        for run in &story.runs {
            self.kubeadm(run);
        }
        self.y += ROW + GAP;
        self.member(name, story);
        if !story.spans.is_empty() {
            self.label("spans", "sub", LOW);
            for (span, began, took) in &story.spans {
                let word = span.as_str();
                // the whole join would lie on top of its parts
                if *span != crate::event::SpanKind::Join {
                    let late = ways::is_late(*span, *took);
                    let (class, text) = if late { (" late", "publish timeout") } else { ("", word) };
                    let title = format!("span {word}: {}", ways::words(*span));
                    self.bar((*began, after(*began, *took)), LOW, &format!("s-span s-{word}{class}"), text, &title);
                }
            }
            self.y += LOW + GAP;
        }
    }

    fn kubeadm(&mut self, run: &Kubeadm) {
        let end = run.ended.unwrap_or_else(|| self.watched());
        let command = &run.command;
        let first = run.phases.first().map_or(end, |(_, seen)| *seen);
        self.bar((run.began, first), ROW, "k-other", "", &format!("kubeadm {command} starts"));
        for (at, (phase, seen)) in run.phases.iter().enumerate() {
            let to = run.phases.get(at + 1).map_or(end, |(_, next)| *next);
            self.bar((*seen, to), ROW, kind(phase), phase, &format!("kubeadm {command}: {phase}"));
        }
        if let (Some(error), Some(ended)) = (&run.error, run.ended) {
            let text = if run.killed { "killed" } else { "failed" };
            let title = format!("kubeadm {command} {text} at {}: {error}", self.scale.time(ended));
            let left = self.scale.part(ended) > 0.9;
            self.flags.push(Flag { x: self.scale.stretch(ended, ended).0, y: self.y, h: ROW, text, title, left });
        }
    }

    fn member(&mut self, name: &str, story: &NodeStory) {
        let lives: Vec<&Life> = self.history.lives.values().filter(|life| life.owner.as_deref() == Some(name)).collect();
        let waits = self.waits(name);
        if lives.is_empty() && waits.is_empty() {
            return;
        }
        self.label("member", "sub", LOW);
        for (from, to, text) in &waits {
            self.bar((*from, *to), LOW, "waits", text, text);
        }
        for life in lives {
            let end = life.moments.get(&Moment::Removed).map_or(self.watched(), |sight| sight.at);
            let steps: Vec<(Moment, Stamp)> = life.moments.iter().map(|(moment, sight)| (*moment, sight.at)).collect();
            for (class, text, from, to) in states(&steps, end) {
                self.bar((from, to), LOW, class, text, &format!("member {text}"));
            }
        }
        for (from, to) in story.late(self.watched()) {
            self.bar((from, to), LOW, "m-silent late", "publish timeout", "its etcd serves no client: its name is told again after 7s");
        }
        for (from, to) in &story.silent {
            let to = to.unwrap_or_else(|| self.watched()).max(*from);
            if *from < self.watched() {
                self.bar((*from, to), LOW, "m-silent", "no answer", "its etcd gives no answer");
            }
        }
        self.y += LOW + GAP;
    }
}

/// What a member is between its moments.
fn states(moments: &[(Moment, Stamp)], end: Stamp) -> Vec<(&'static str, &'static str, Stamp, Stamp)> {
    let mut sorted: Vec<(Moment, Stamp)> = moments.iter().filter(|(moment, _)| *moment != Moment::Removed).copied().collect();
    sorted.sort_by_key(|(moment, at)| (*at, *moment));
    let mut states: Vec<(&'static str, &'static str, Stamp, Stamp)> = Vec::new();
    for (moment, at) in sorted {
        let voter = states.last().is_some_and(|state| state.0 == "m-voter");
        let (class, text) = match moment {
            Moment::Announced => ("m-announced", "announced"),
            Moment::Started if voter => continue,
            Moment::Started => ("m-learner", "learner"),
            Moment::Founded | Moment::Promoted => ("m-voter", "voter"),
            // what is between these is the same state
            Moment::PeerActive | Moment::CaughtUp | Moment::GatePassed | Moment::Removed => continue,
        };
        if let Some(last) = states.last_mut() {
            last.3 = at;
        }
        states.push((class, text, at, end.max(at)));
    }
    states
}

fn about_client(name: &str, client: &Client, word: &str) -> String {
    let longest = human(std::time::Duration::from_nanos(client.longest_ns));
    format!("{name}: {} {word}, {} failed, {} of unknown end; longest gap {longest}", client.total, client.failed, client.unknown)
}

fn after(began: Stamp, took: std::time::Duration) -> Stamp {
    Stamp { mono: began.mono.saturating_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)), ..began }
}

/// The colour of a phase of kubeadm's.
fn kind(phase: &str) -> &'static str {
    match phase {
        "init" | "preflight" | "discovery" => "k-check",
        "certs" | "download-certs" | "kubeconfig" | "control-plane" | "upload-config" | "upload-certs" | "patches" => "k-prep",
        "etcd" | "check-etcd" | "etcd-join" => "k-etcd",
        "kubelet" | "kubelet-start" | "kubelet-check" | "kubelet-finalize" | "kubelet-wait-bootstrap" | "tls-bootstrap" => "k-kubelet",
        "wait-control-plane" | "control-plane-check" => "k-wait",
        "mark-control-plane" | "bootstrap-token" | "addons" => "k-finish",
        _ => "k-other",
    }
}

/// For each stretch the first row where it lies beside no other; and how many rows that takes.
fn pack(stretches: &[(Stamp, Stamp)]) -> (Vec<u32>, u32) {
    let mut ends: Vec<Stamp> = Vec::new();
    let mut rows = Vec::new();
    for (from, to) in stretches {
        let row = ends.iter().position(|end| end <= from).unwrap_or_else(|| {
            ends.push(*to);
            ends.len() - 1
        });
        ends[row] = *to;
        rows.push(u32::try_from(row).unwrap_or(0));
    }
    (rows, u32::try_from(ends.len()).unwrap_or(0))
}
