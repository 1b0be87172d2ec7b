//! What is known of a run: its cases, their tasks, verdicts and nodes. Filled from events; draws nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::nodes::Nodes;
use super::sample;
use crate::event::{Event, INVARIANTS, Judgement, Outcome, TaskPlan, Told, Verdict};
use crate::sys::clock::{Stamp, human};

/// Lines of output that are shown below a task that failed.
pub(super) const TAIL: usize = 20;

/// One run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Its first event.
    pub(super) began: Option<Stamp>,
    /// Its id, joinder's version, the engine.
    pub(super) about: Option<(String, String, String)>,
    /// The cases that ended.
    pub(super) done: Vec<Case>,
    /// The case that is on.
    pub(super) case: Option<Case>,
    /// Exit code and time.
    pub(super) finished: Option<(u8, Duration)>,
}

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) index: usize,
    pub(super) of: usize,
    pub(super) name: String,
    /// The command that runs it again; may be empty.
    repeat: String,
    pub(super) folder: String,
    pub(super) file: String,
    pub(super) summary: String,
    /// The language of its file: 1 is kinder's.
    pub(super) language: u32,
    pub(super) choice: Vec<(String, String)>,
    pub(super) round: u32,
    pub(super) rounds: u32,
    pub(super) seed: u64,
    pub(super) image: String,
    pub(super) kubernetes: String,
    pub(super) etcd: String,
    pub(super) began: Stamp,
    pub(super) tasks: Vec<Task>,
    pub(super) nodes: Nodes,
    /// What its invariants came to, as far as it was told.
    pub(super) invariants: Vec<Seen>,
    /// What could not be removed.
    pub(super) left: Vec<String>,
    /// How long it took, once it has ended.
    pub(super) took: Option<Duration>,
    flags: Flags,
    samples: Samples,
}

/// What [`Event::CaseFinished`] says beyond what its tasks do.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    failed: bool,
    undecided: bool,
    left: bool,
}

/// The samples that verdicts may point to. Lists repeat, so each is kept once.
#[derive(Debug, Default)]
struct Samples {
    by_number: BTreeMap<u64, (Stamp, Arc<str>)>,
    texts: BTreeSet<Arc<str>>,
    last_list: Option<u64>,
}

/// One task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) plan: TaskPlan,
    pub(super) state: State,
    pub(super) verdicts: Vec<Seen>,
    /// Its last lines of output.
    pub(super) tail: VecDeque<String>,
    /// Was its begin told?
    pub(super) begun: bool,
    slow: bool,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    Running { began: Stamp },
    Ended { outcome: Outcome, counts: bool, took: Duration },
}

/// A verdict and the samples that show it, in words.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) judgement: Judgement,
    pub(super) shown: Vec<Shown>,
    /// What its samples' times are counted from.
    began: Stamp,
}

impl Seen {
    /// The samples in words, one a line.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.shown.iter().map(|shown| shown.line(self.began))
    }
}

/// A sample that shows a verdict.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// The number of its event.
    pub(super) seq: u64,
    /// When it was seen and what it says; `None` for an event that says nothing in words.
    pub(super) sample: Option<(Stamp, Arc<str>)>,
    /// Is it only the last one before the verdict, and not named by it?
    pub(super) last: bool,
}

impl Shown {
    /// In one line, with the time since `began`.
    pub(super) fn line(&self, began: Stamp) -> String {
        let last = if self.last { "last seen: " } else { "" };
        match &self.sample {
            Some((at, text)) => format!("{last}event {} at {:.1}s: {text}", self.seq, at.since(began).as_secs_f64()),
            None => format!("event {}", self.seq),
        }
    }
}

/// What a case came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CaseEnd {
    Failed,
    Stopped,
    Undecided,
    Left,
    Passed,
}

impl Run {
    /// Takes an event in. Returns the place in [`Run::done`] of the case that it ended.
    pub(super) fn hear(&mut self, told: &Told) -> Option<usize> {
        let began = *self.began.get_or_insert(told.at);
        if let Some(case) = &mut self.case {
            // as on its page, and in the verdicts' own words (event/bus.rs)
            case.hear(told, if case.of > 1 { case.began } else { began });
        }
        match &told.event {
            Event::CaseStarted { .. } => {
                let closed = self.close(told.at);
                self.case = Case::begin(told);
                closed
            }
            Event::CaseFinished { .. } => self.close(told.at),
            Event::RunFinished { exit, took } => {
                self.finished = Some((*exit, *took));
                self.close(told.at)
            }
            Event::RunStarted { run, joinder, engine, .. } => {
                self.about = Some((run.clone(), joinder.clone(), engine.clone()));
                None
            }
            Event::TaskStarted { .. }
            | Event::TaskFinished { .. }
            | Event::Output { .. }
            | Event::Worked { .. }
            | Event::NodeUp { .. }
            | Event::KubeadmStarted { .. }
            | Event::KubeadmLine { .. }
            | Event::KubeadmPhase { .. }
            | Event::KubeadmFinished { .. }
            | Event::Etcd { .. }
            | Event::Used { .. }
            | Event::Metrics { .. }
            | Event::Span { .. }
            | Event::Called { .. }
            | Event::Fault { .. }
            | Event::Proxied { .. }
            | Event::Noticed { .. }
            | Event::Member { .. }
            | Event::Judged { .. }
            | Event::Cleaned { .. }
            | Event::Note { .. }
            | Event::Warning { .. } => None,
        }
    }

    fn close(&mut self, at: Stamp) -> Option<usize> {
        let mut case = self.case.take()?;
        case.took.get_or_insert(at.since(case.began));
        case.samples = Samples::default();
        self.done.push(case);
        Some(self.done.len() - 1)
    }

    /// All cases, the one that is on last.
    pub(super) fn cases(&self) -> impl Iterator<Item = &Case> {
        self.done.iter().chain(&self.case)
    }

    /// How many of the cases that ended came to `end`.
    pub(super) fn count(&self, end: CaseEnd) -> usize {
        self.done.iter().filter(|case| case.end() == end).count()
    }

    /// Tasks that run for longer than one would like, each told once.
    pub(super) fn slow(&mut self, now: Stamp) -> Vec<String> {
        let Some(case) = &mut self.case else { return Vec::new() };
        let nodes: Vec<String> = case
            .nodes
            .iter()
            .filter(|node| node.doing.busy() && !node.gone)
            .map(|node| format!("{} in {} for {}", case.nodes.short(&node.name), node.doing.words(), human(now.since(node.since))))
            .collect();
        let doing = match nodes.len() {
            0 => String::new(),
            1..=5 => format!("; {}", nodes.join(", ")),
            more => format!("; {}, and {} more", nodes[..5].join(", "), more - 5),
        };
        let groups: Vec<usize> = case.tasks.iter().filter_map(|task| task.plan.group).collect();
        let mut notices = Vec::new();
        for task in &mut case.tasks {
            if let State::Running { began } = task.state
                && !task.slow
                // it is as slow as its tasks, which say so
                && !groups.contains(&task.plan.index)
                && now.since(began) >= (task.plan.limit / 2).min(SLOW)
            {
                task.slow = true;
                notices.push(format!(
                    "slow: {} runs for {} of at most {}{doing}",
                    task.plan.name,
                    human(now.since(began)),
                    human(task.plan.limit)
                ));
            }
        }
        notices
    }
}

/// A task that runs for so long is slow, however much it may take.
const SLOW: Duration = Duration::from_mins(1);

impl Case {
    fn begin(told: &Told) -> Option<Self> {
        let Event::CaseStarted {
            index,
            of,
            case,
            language,
            choice,
            repeat,
            folder,
            file,
            summary,
            tasks,
            round,
            rounds,
            seed,
            vars: _,
            image,
            kubernetes,
            etcd,
        } = &told.event
        else {
            return None;
        };
        Some(Self {
            index: *index,
            of: *of,
            name: case.clone(),
            repeat: repeat.clone(),
            folder: folder.clone(),
            file: file.clone(),
            summary: summary.clone(),
            language: *language,
            choice: choice.clone(),
            round: *round,
            rounds: *rounds,
            seed: *seed,
            image: image.clone(),
            kubernetes: kubernetes.clone(),
            etcd: etcd.clone(),
            began: told.at,
            tasks: tasks.iter().cloned().map(Task::planned).collect(),
            nodes: Nodes::default(),
            invariants: Vec::new(),
            left: Vec::new(),
            took: None,
            flags: Flags::default(),
            samples: Samples::default(),
        })
    }

    /// Its name without the round.
    pub(super) fn base(&self) -> &str {
        let round = format!(" round {}", self.round);
        self.name.strip_suffix(&round).filter(|_| self.rounds > 1).unwrap_or(&self.name)
    }

    fn hear(&mut self, told: &Told, began: Stamp) {
        self.nodes.hear(told);
        if let Some(text) = sample::words(&told.event) {
            self.samples.keep(told, &text);
        }
        match &told.event {
            Event::TaskStarted { index, name } => {
                let task = self.task(*index, name);
                task.state = State::Running { began: told.at };
                task.begun = true;
            }
            Event::TaskFinished { index, name, outcome, counts, took } => {
                self.task(*index, name).state = State::Ended { outcome: outcome.clone(), counts: *counts, took: *took };
            }
            Event::Output { index, node, line, .. } => {
                let task = self.task(*index, "");
                if task.tail.len() == TAIL {
                    task.tail.pop_front();
                }
                task.tail.push_back(if node.is_empty() { line.clone() } else { format!("{node}: {line}") });
            }
            Event::Judged { index, task, judgement } => {
                let seen = Seen { judgement: judgement.clone(), shown: self.samples.shown(judgement), began };
                match (index, task.as_str()) {
                    (0, INVARIANTS) => self.invariants.push(seen),
                    _ => self.task(*index, task).judged(seen),
                }
            }
            Event::CaseFinished { failed, undecided, left, took, .. } => {
                self.flags = Flags { failed: failed.is_some(), undecided: *undecided, left: *left };
                self.took = Some(*took);
            }
            Event::Cleaned { left, .. } => self.left.clone_from(left),
            Event::RunStarted { .. }
            | Event::CaseStarted { .. }
            | Event::Worked { .. }
            | Event::NodeUp { .. }
            | Event::KubeadmStarted { .. }
            | Event::KubeadmLine { .. }
            | Event::KubeadmPhase { .. }
            | Event::KubeadmFinished { .. }
            | Event::Etcd { .. }
            | Event::Used { .. }
            | Event::Metrics { .. }
            | Event::Span { .. }
            | Event::Called { .. }
            | Event::Fault { .. }
            | Event::Proxied { .. }
            | Event::Noticed { .. }
            | Event::Member { .. }
            | Event::Note { .. }
            | Event::Warning { .. }
            | Event::RunFinished { .. } => {}
        }
    }

    /// The task of that number; one that was not planned is added.
    fn task(&mut self, index: usize, name: &str) -> &mut Task {
        let at = self.tasks.iter().position(|task| task.plan.index == index).unwrap_or_else(|| {
            let plan = TaskPlan {
                index,
                group: None,
                name: name.to_owned(),
                what: String::new(),
                description: String::new(),
                limit: Duration::MAX,
                force: false,
            };
            self.tasks.push(Task::planned(plan));
            self.tasks.len() - 1
        });
        &mut self.tasks[at]
    }

    /// What it came to, as far as it is known.
    pub(super) fn end(&self) -> CaseEnd {
        let any = |wanted: fn(&Task) -> bool| self.tasks.iter().any(wanted);
        if self.flags.failed || any(Task::failed) {
            CaseEnd::Failed
        } else if any(Task::stopped) {
            CaseEnd::Stopped
        } else if self.flags.undecided || any(|task| task.verdicts.iter().any(|seen| seen.judgement.verdict == Verdict::Undecided)) {
            CaseEnd::Undecided
        } else if self.flags.left || !self.left.is_empty() {
            CaseEnd::Left
        } else {
            CaseEnd::Passed
        }
    }

    /// The command that runs it again, where a file of the user's made it.
    pub(super) fn repeat(&self) -> Option<&str> {
        Some(self.repeat.as_str()).filter(|command| !command.is_empty())
    }

    /// Invariants of this verdict.
    pub(super) fn invariants(&self, verdict: Verdict) -> impl Iterator<Item = &Seen> {
        self.invariants.iter().filter(move |seen| seen.judgement.verdict == verdict)
    }

    /// So many of its verdicts.
    pub(super) fn verdicts(&self, verdict: Verdict) -> usize {
        self.tasks.iter().flat_map(|task| &task.verdicts).filter(|seen| seen.judgement.verdict == verdict).count()
    }
}

impl Task {
    fn planned(plan: TaskPlan) -> Self {
        Self { plan, state: State::Waiting, verdicts: Vec::new(), tail: VecDeque::new(), begun: false, slow: false }
    }

    /// Does it make the case fail?
    pub(super) fn failed(&self) -> bool {
        matches!(self.state, State::Ended { counts: true, .. })
    }

    /// Did it not come to its end?
    fn stopped(&self) -> bool {
        match &self.state {
            State::Waiting | State::Running { .. } => true,
            State::Ended { outcome, .. } => *outcome == Outcome::Stopped,
        }
    }

    /// Why its step failed, if it did.
    pub(super) fn trouble(&self) -> Option<String> {
        let State::Ended { outcome, .. } = &self.state else { return None };
        match outcome {
            Outcome::Failed { reason } => Some(reason.clone()),
            Outcome::NotStarted { reason } => Some(format!("it could not be started: {reason}")),
            Outcome::TimedOut { limit } => Some(format!("not done at its limit of {}", human(*limit))),
            Outcome::Passed | Outcome::Stopped | Outcome::Skipped { .. } => None,
        }
    }

    /// What is judged behind a task's end, as a fault that lasted until the run's, counts whatever the task may do.
    fn judged(&mut self, seen: Seen) {
        if let State::Ended { counts, .. } = &mut self.state {
            *counts |= seen.judgement.verdict == Verdict::Fail;
        }
        self.verdicts.push(seen);
    }

    /// Is a failed verdict of it without weight?
    pub(super) fn forgiven(&self) -> bool {
        matches!(self.state, State::Ended { counts: false, .. })
    }
}

impl Samples {
    fn keep(&mut self, told: &Told, text: &str) {
        let text: Arc<str> = self.texts.get(text).cloned().unwrap_or_else(|| Arc::from(text));
        self.texts.insert(text.clone());
        if let Event::Etcd { sample, .. } = &told.event
            && sample.members.is_some()
        {
            self.last_list = Some(told.seq);
        }
        self.by_number.insert(told.seq, (sample::seen(told), text));
    }

    /// The samples that a verdict names. A verdict on the member list that names none is shown with the last list seen before
    /// it: the list that decided was asked for once and is in no event.
    fn shown(&self, judgement: &Judgement) -> Vec<Shown> {
        let shown = |seq: u64, last| Shown { seq, sample: self.by_number.get(&seq).cloned(), last };
        if judgement.evidence.is_empty() && judgement.name == "members" && judgement.verdict != Verdict::Pass {
            return self.last_list.map(|seq| shown(seq, true)).into_iter().collect();
        }
        judgement.evidence.iter().map(|seq| shown(*seq, false)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, run_of};
    use super::*;

    #[test]
    fn what_a_case_came_to_is_the_worst_of_it() {
        for (script, end) in [
            (Script::passing(), CaseEnd::Passed),
            (Script::failing(), CaseEnd::Failed),
            (Script::stopped(), CaseEnd::Stopped),
            (Script::undecided(), CaseEnd::Undecided),
            (Script::left(), CaseEnd::Left),
        ] {
            assert_eq!(run_of(&script).done[0].end(), end);
        }
    }

    #[test]
    fn a_slow_task_is_told_once_at_half_its_limit_or_a_minute() {
        for (limit, slow_at) in [(20_u64, 10_u64), (300, 60)] {
            let mut script = Script::new();
            script.case_of(&[("join", limit)]);
            let started = script.starts(1, "join");
            script.kubeadm("joinder-control-plane-2", "join");
            let mut run = run_of(&script);
            let after = |s: u64| Stamp { mono: started.at.mono + s * 1_000_000_000, ..started.at };
            assert!(run.slow(after(slow_at - 1)).is_empty());
            let notices = run.slow(after(slow_at));
            assert_eq!(notices.len(), 1);
            assert!(notices[0].contains("joinder-control-plane-2 in join begins"), "{notices:?}");
            assert!(run.slow(after(slow_at + 1)).is_empty(), "twice");
        }
    }

    #[test]
    fn a_group_leaves_it_to_its_tasks_to_be_slow() {
        let mut script = Script::grouped();
        script.ends(3, "exec in all", Outcome::Passed, false);
        let notices = run_of(&script).slow(super::super::script::stamp(120_000));
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with("slow: join others runs for"), "{notices:?}");
    }
}
