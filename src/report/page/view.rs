//! All that a page shows, in words: the header, the verdicts with the failures first, the tables.

use serde::Serialize;

use super::history::History;
use super::learners::{Learner, learners};
use super::plots::{Plot, plots};
use super::scale::Scale;
use super::short::sentences;
use super::timeline::{self, Timeline, timeline};
use super::ways::{Way, ways};
use crate::event::{INVARIANTS, Outcome, Verdict};
use crate::report::model::{Case, CaseEnd, Run, Seen, State, Task};
use crate::report::summary::figures;
use crate::report::tone;
use crate::sys::clock::{Stamp, human};

/// A case's page.
#[derive(Debug, Serialize)]
pub(in crate::report) struct View {
    pub(super) title: String,
    pub(super) outcome: Ending,
    pub(super) summary: String,
    /// What to know before all tables.
    short: Vec<String>,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) repeat: Option<String>,
    /// Verdicts and failed steps that a reader must look at, the worst first.
    pub(super) findings: Vec<Finding>,
    /// Those that passed.
    pub(super) passed: Vec<Finding>,
    /// Invariants, those that broke first.
    pub(super) invariants: Vec<Finding>,
    /// How many held, in words: the table is folded while none is broken.
    invariants_sum: String,
    invariants_held: bool,
    timeline: Timeline,
    learners: Vec<Learner>,
    /// Each join, span by span.
    ways: Vec<Way>,
    /// kubeadm's calls to etcd, a head and a row each.
    calls: Vec<Vec<String>>,
    plots: Vec<Plot>,
    bands: Vec<(String, String)>,
    /// How long the axis is.
    seconds: String,
    pub(super) figures: Vec<Vec<String>>,
    pub(super) tasks: Vec<TaskRow>,
    warnings: Vec<(String, String)>,
    notes: Vec<(String, String)>,
    more_notes: usize,
    left: Vec<String>,
    /// Of the page of several cases, from here.
    up: Option<&'static str>,
}

/// What a case came to.
#[derive(Debug, Serialize)]
pub(in crate::report) struct Ending {
    pub(super) class: &'static str,
    pub(super) word: &'static str,
    pub(super) sentence: String,
}

/// A verdict, or a step that failed.
#[derive(Debug, Serialize)]
pub(in crate::report) struct Finding {
    pub(super) class: &'static str,
    pub(super) word: &'static str,
    pub(super) task: String,
    pub(super) name: String,
    pub(super) wanted: String,
    pub(super) saw: String,
    evidence: Vec<Evidence>,
    tails: Vec<Tail>,
}

#[derive(Debug, Serialize)]
struct Evidence {
    seq: u64,
    time: Option<String>,
    text: String,
    last: bool,
}

/// The last lines of something that failed.
#[derive(Debug, Serialize)]
struct Tail {
    title: String,
    lines: Vec<String>,
}

/// A task of the table.
#[derive(Debug, Serialize)]
pub(in crate::report) struct TaskRow {
    index: usize,
    /// Of a group?
    inside: bool,
    pub(super) name: String,
    what: String,
    limit: String,
    class: &'static str,
    outcome: String,
    pub(super) took: String,
}

/// The page of a case that has ended, or of one that breaks off.
pub(in crate::report) fn view(run: &Run, case: &Case, history: &History) -> View {
    view_on(run, case, history, Scale::new(history.zero, history.last))
}

pub(super) fn view_on(run: &Run, case: &Case, history: &History, scale: Scale) -> View {
    let mut findings: Vec<(u8, usize, Finding)> = Vec::new();
    let mut passed = Vec::new();
    for task in &case.tasks {
        // a group fails by its tasks, which say why
        let steps = step(task, case, history, scale).filter(|_| !fails_inside(case, task));
        findings.extend(steps.map(|finding| (u8::from(!task.failed()) * 3, task.plan.index, finding)));
        for seen in &task.verdicts {
            let finding = finding(task, seen, scale);
            match (seen.judgement.verdict, task.forgiven()) {
                (Verdict::Pass | Verdict::NotApplicable, _) => passed.push(finding),
                (Verdict::Fail, false) => findings.push((0, task.plan.index, finding)),
                (Verdict::Undecided, _) => findings.push((1, task.plan.index, finding)),
                (Verdict::Known, _) => findings.push((2, task.plan.index, finding)),
                (Verdict::Fail, true) => findings.push((3, task.plan.index, finding)),
            }
        }
    }
    findings.sort_by_key(|(rank, task, _)| (*rank, *task));
    let notes = |warnings: bool| {
        let of = history.notes.kept.iter().filter(move |note| note.1 == warnings);
        of.map(|(at, _, text)| (scale.time(*at), text.clone())).collect::<Vec<_>>()
    };
    View {
        title: case.name.clone(),
        outcome: ending(case),
        summary: case.summary.clone(),
        short: sentences(history, case, scale),
        facts: facts(run, case),
        repeat: case.repeat().map(str::to_owned),
        findings: findings.into_iter().map(|(_, _, finding)| finding).collect(),
        passed,
        invariants: invariants(case, scale),
        invariants_sum: invariants_sum(case),
        invariants_held: case.invariants(Verdict::Fail).next().is_none(),
        timeline: timeline(history, case, scale),
        learners: learners(history, &case.nodes),
        ways: ways(history, &case.nodes, scale),
        calls: history.broken.calls(&case.nodes),
        plots: plots(history, case, scale),
        bands: timeline::bands(history, case, scale).into_iter().map(|(x, w, _)| (x, w)).collect(),
        seconds: format!("{:.1}s", scale.seconds()),
        figures: figures(case),
        tasks: case.tasks.iter().map(row).collect(),
        warnings: notes(true),
        notes: notes(false),
        more_notes: history.notes.more,
        left: case.left.clone(),
        up: (case.of > 1).then_some("../index.html"),
    }
}

/// Is it a group of which a task failed?
fn fails_inside(case: &Case, group: &Task) -> bool {
    case.tasks.iter().any(|task| task.plan.group == Some(group.plan.index) && task.trouble().is_some())
}

/// The first expectations that did not hold, by name.
fn failing(case: &Case) -> String {
    const MOST: usize = 3;
    let all = case.tasks.iter().flat_map(|task| task.verdicts.iter().map(move |seen| (task, &seen.judgement)));
    let failed = all.filter(|(_, judgement)| judgement.verdict == Verdict::Fail);
    let mut names: Vec<String> = failed.map(|(task, judgement)| format!("{} / {}", task.plan.name, judgement.name)).collect();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

/// A verdict's class of style.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Known | Verdict::NotApplicable => "known",
        Verdict::Undecided => "undecided",
        Verdict::Fail => "fail",
    }
}

pub(super) fn ending(case: &Case) -> Ending {
    let failed = case.verdicts(Verdict::Fail);
    let undecided = case.verdicts(Verdict::Undecided);
    let known = case.verdicts(Verdict::Known);
    let all = failed + undecided + known + case.verdicts(Verdict::Pass);
    let (class, word, mut sentence) = match case.end() {
        CaseEnd::Failed => {
            let failed_steps = case.tasks.iter().filter(|task| task.failed() && task.trouble().is_some() && !fails_inside(case, task));
            let steps: Vec<&str> = failed_steps.map(|task| task.plan.name.as_str()).collect();
            let ended = |task: &&Task| matches!(task.state, State::Ended { outcome: Outcome::Stopped, .. });
            let stopped: Vec<&str> = case.tasks.iter().filter(ended).map(|task| task.plan.name.as_str()).collect();
            let steps = match (steps.is_empty(), stopped.is_empty()) {
                (false, _) => format!("What failed: {}", steps.join(", ")),
                (true, false) => format!("Ended before it was done: {}", stopped.join(", ")),
                (true, true) => "Every step ran".to_owned(),
            };
            let verdicts = match (failed, all) {
                (_, 0) => String::new(),
                (0, _) => "; no expectation failed".to_owned(),
                (_, _) => format!("; {failed} of {all} expectations did not hold: {}", failing(case)),
            };
            let broken: Vec<&str> = case.invariants(Verdict::Fail).map(|seen| seen.judgement.name.as_str()).collect();
            let broken = if broken.is_empty() { String::new() } else { format!(" What must always hold did not: {}.", broken.join(", ")) };
            ("fail", "Failed", format!("{steps}{verdicts}.{broken}"))
        }
        CaseEnd::Stopped => ("undecided", "Stopped", stopped(case)),
        CaseEnd::Undecided => {
            ("undecided", "Undecided", format!("Nothing failed, but {undecided} of {all} expectations could not be decided."))
        }
        CaseEnd::Left => {
            ("fail", "Passed, not cleaned up", format!("All {all} expectations held; what could not be removed is named below."))
        }
        CaseEnd::Passed if all == 0 => ("pass", "Passed", "Every step ran; nothing was expected of it.".to_owned()),
        CaseEnd::Passed => ("pass", "Passed", format!("{} of {all} expectations held.", all - known)),
    };
    if known > 0 {
        sentence = format!("{sentence} {known} failed in a way that is known.");
    }
    Ending { class, word, sentence }
}

fn stopped(case: &Case) -> String {
    let undone = |task: &&Task| match &task.state {
        State::Waiting | State::Running { .. } => true,
        State::Ended { outcome, .. } => *outcome == Outcome::Stopped,
    };
    let names: Vec<&str> = case.tasks.iter().filter(undone).map(|task| task.plan.name.as_str()).collect();
    format!("Did not come to its end: {}. Nothing is known of what would have come.", names.join(", "))
}

fn facts(run: &Run, case: &Case) -> Vec<(&'static str, String)> {
    let (id, joinder, engine) = run.about.clone().unwrap_or_default();
    let choice: Vec<String> = case.choice.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let wall = format!("{:.0}", case.began.wall).replace('T', " ").replace('Z', " UTC");
    let exit = run.finished.filter(|_| case.of == 1).map(|(exit, _)| exit.to_string()).unwrap_or_default();
    let of = if case.of > 1 { format!("{} of {}", case.index, case.of) } else { String::new() };
    let mut facts = vec![
        ("workflow", case.file.clone()),
        ("case", of),
        ("matrix", choice.join(", ")),
        ("Kubernetes", case.kubernetes.clone()),
        ("etcd", case.etcd.clone()),
        ("node image", case.image.clone()),
        ("engine", engine),
        ("joinder", joinder),
        ("run", id),
        ("seed", case.seed.to_string()),
        ("began", wall),
        ("took", case.took.map(human).unwrap_or_default()),
        ("exit code", exit),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// Why a step failed, with the last lines of what it ran.
fn step(task: &Task, case: &Case, history: &History, scale: Scale) -> Option<Finding> {
    let saw = task.trouble()?;
    let mut tails = Vec::new();
    if !task.tail.is_empty() {
        tails.push(Tail { title: "last lines of its output".into(), lines: task.tail.iter().cloned().collect() });
    }
    let ran = history.tasks.get(&task.plan.index).copied();
    let during = |at: Stamp| ran.is_some_and(|(from, to)| from <= at && to.is_none_or(|to| at <= to));
    let warnings = history.notes.kept.iter().filter(|(at, warning, _)| *warning && during(*at));
    let warnings: Vec<String> = warnings.map(|(at, _, text)| format!("{} {text}", scale.time(*at))).collect();
    if !warnings.is_empty() {
        tails.push(Tail { title: "warnings while it ran".into(), lines: warnings });
    }
    for node in case.nodes.iter() {
        let Some(story) = history.nodes.get(&node.name) else { continue };
        for run in story.runs.iter().filter(|run| !run.passed) {
            if during(run.began) {
                let how = run.ended.map_or_else(|| "never ended".to_owned(), |at| format!("ended at {}", scale.time(at)));
                let phase = run.phases.last().map_or("no phase", |(phase, _)| phase);
                let title = format!("kubeadm {} on {} {how}, in phase {phase}; its last lines", run.command, case.nodes.short(&node.name));
                tails.push(Tail { title, lines: run.tail.iter().cloned().collect() });
            }
        }
    }
    let (class, word) = if task.failed() { ("fail", "FAIL") } else { ("known", "IGNORED") };
    let name = "the step itself".to_owned();
    Some(Finding { class, word, task: task.plan.name.clone(), name, wanted: task.plan.what.clone(), saw, evidence: Vec::new(), tails })
}

fn finding(task: &Task, seen: &Seen, scale: Scale) -> Finding {
    let j = &seen.judgement;
    let (class, word) = match (j.verdict, task.forgiven()) {
        (Verdict::Fail, true) => ("known", "IGNORED"),
        (verdict, _) => (class(verdict), tone::verdict(verdict).1),
    };
    shown(&task.plan.name, seen, (class, word), scale)
}

/// `12 held, 1 broken, 2 not seen, 1 not applicable`: what there is none of is left out.
fn invariants_sum(case: &Case) -> String {
    let words = [
        (Verdict::Pass, "held"),
        (Verdict::Fail, "broken"),
        (Verdict::Known, "known"),
        (Verdict::Undecided, "not seen"),
        (Verdict::NotApplicable, "not applicable"),
    ];
    let counted = words.map(|(verdict, word)| (case.invariants(verdict).count(), word));
    counted.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
}

/// Invariants, the worst first. One that nobody could see is no doubt of the run.
fn invariants(case: &Case, scale: Scale) -> Vec<Finding> {
    let words = |verdict| match verdict {
        Verdict::Undecided => ("undecided", "NOT SEEN"),
        Verdict::NotApplicable => ("known", "NOT APPLICABLE"),
        Verdict::Fail | Verdict::Known | Verdict::Pass => (class(verdict), tone::verdict(verdict).1),
    };
    let order = [Verdict::Fail, Verdict::Known, Verdict::Pass, Verdict::Undecided, Verdict::NotApplicable];
    let sorted = order.into_iter().flat_map(|verdict| case.invariants(verdict));
    sorted.map(|seen| shown(INVARIANTS, seen, words(seen.judgement.verdict), scale)).collect()
}

fn shown(task: &str, seen: &Seen, (class, word): (&'static str, &'static str), scale: Scale) -> Finding {
    let j = &seen.judgement;
    let evidence = |shown: &crate::report::model::Shown| Evidence {
        seq: shown.seq,
        time: shown.sample.as_ref().map(|(at, _)| scale.time(*at)),
        text: shown.sample.as_ref().map(|(_, text)| text.to_string()).unwrap_or_default(),
        last: shown.last,
    };
    Finding {
        class,
        word,
        task: task.to_owned(),
        name: j.name.clone(),
        wanted: j.wanted.clone(),
        saw: j.saw.clone(),
        evidence: seen.shown.iter().map(evidence).collect(),
        tails: Vec::new(),
    }
}

fn row(task: &Task) -> TaskRow {
    let (class, outcome, took) = match &task.state {
        State::Waiting => ("undecided", "did not run".to_owned(), String::new()),
        State::Running { .. } => ("undecided", "ran when this was written".to_owned(), String::new()),
        State::Ended { outcome, counts, took } => {
            let word = match outcome {
                Outcome::Passed if *counts => "an expectation failed".to_owned(),
                Outcome::Passed => "passed".to_owned(),
                Outcome::Failed { .. } => "failed".to_owned(),
                Outcome::NotStarted { .. } => "not started".to_owned(),
                Outcome::TimedOut { .. } => "timed out".to_owned(),
                Outcome::Stopped => "stopped".to_owned(),
                Outcome::Skipped { reason } => format!("skipped: {reason}"),
            };
            let class = match (outcome, counts) {
                (_, true) => "fail",
                (Outcome::Passed, false) => "pass",
                (_, false) => "undecided",
            };
            (class, word, human(*took))
        }
    };
    let plan = &task.plan;
    let limit = if plan.limit == std::time::Duration::MAX { String::new() } else { human(plan.limit) };
    TaskRow {
        index: plan.index,
        inside: plan.group.is_some(),
        name: plan.name.clone(),
        what: plan.what.clone(),
        limit,
        class,
        outcome,
        took,
    }
}
