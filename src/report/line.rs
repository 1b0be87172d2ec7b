//! One event in words, or nothing where it is not worth a line. Pure.

use super::model::{Case, CaseEnd};
use super::tone::{Tone, verdict};
use crate::event::{Event, FaultMoment, INVARIANTS, Moment, Outcome, Told, Verdict, Work};
use crate::sys::clock::human;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// What people want to know.
    Normal,
    /// Phases, nodes and their times too.
    Verbose,
}

/// The line for an event, without its time and colour; all that there is.
pub fn plain_words(told: &Told) -> Option<String> {
    words(told, Verbosity::Verbose).map(|(_, line)| line)
}

/// The line for an event, without its time.
pub(super) fn words(told: &Told, verbosity: Verbosity) -> Option<(Tone, String)> {
    let verbose = verbosity == Verbosity::Verbose;
    let line = match &told.event {
        Event::RunStarted { run, joinder, engine, .. } => (Tone::Faint, format!("joinder {joinder}, run {run}, {engine}")),
        Event::CaseStarted { index, of, case, choice, file, summary, image, kubernetes, etcd, .. } => {
            let place = if *of > 1 { format!("case {index} of {of}: ") } else { String::new() };
            let choice = if choice.is_empty() { String::new() } else { format!(" ({case})") };
            let etcd = if etcd.is_empty() { "kubeadm's choice" } else { etcd };
            let summary =
                if summary.is_empty() { String::new() } else { format!("\n         {}", summary.trim_end().replace('\n', "\n         ")) };
            // a workflow that makes no node has no image
            let made = match (image.is_empty(), kubernetes.is_empty()) {
                (true, _) => String::new(),
                (false, true) => format!("\n         etcd {etcd}, image {image}"),
                (false, false) => format!("\n         Kubernetes {kubernetes}, etcd {etcd}, image {image}"),
            };
            (Tone::Plain, format!("{place}{file}{choice}{summary}{made}"))
        }
        Event::TaskStarted { name, .. } => (Tone::Plain, format!("▶ {name}")),
        Event::TaskFinished { name, outcome, counts, took, .. } => finished(name, outcome, *counts, &human(*took)),
        Event::Worked { work, on, took, .. } => worked(*work, on, &human(*took), verbose)?,
        Event::NodeUp { node, address } => verbose.then(|| (Tone::Faint, format!("  {node} is up at {address}")))?,
        Event::KubeadmStarted { node, argv } => verbose.then(|| (Tone::Faint, format!("  {node}: {}", argv.join(" "))))?,
        Event::KubeadmPhase { node, phase, .. } => verbose.then(|| (Tone::Faint, format!("  {node}: [{phase}]")))?,
        Event::Output { node, line, .. } if verbose => {
            let node = if node.is_empty() { String::new() } else { format!("{node}: ") };
            (Tone::Faint, format!("    | {node}{}", line.replace('\n', " ")))
        }
        Event::KubeadmFinished { node, error: Some(error), phase, .. } => {
            (Tone::Bad, format!("  {node}: kubeadm failed in phase {}: {error}", phase.as_deref().unwrap_or("before the first")))
        }
        Event::Member { id, name, moment, .. } => member(&id.to_string(), name, *moment),
        Event::Fault { id, node, what, moment, .. } => fault(id, node, what, moment),
        // sixteen lines at each end: the summary has them in two
        Event::Judged { index: 0, task, judgement } if task == INVARIANTS && judgement.verdict != Verdict::Fail && !verbose => return None,
        Event::Judged { judgement: j, .. } => {
            let (tone, word) = verdict(j.verdict);
            (tone, format!("  {word} {}: wanted {}; saw {}", j.name, j.wanted, j.saw))
        }
        Event::Cleaned { removed, left } if left.is_empty() => (Tone::Faint, format!("  removed {} objects, nothing left", removed.len())),
        Event::Cleaned { left, .. } => {
            (Tone::Bad, format!("  LEFT BEHIND: {} (`joinder gc` removes it once this process has ended)", left.join("; ")))
        }
        Event::Note { text } => (Tone::Faint, format!("  {text}")),
        Event::Warning { text } => (Tone::Doubt, format!("  warning: {text}")),
        Event::CaseFinished { .. }
        | Event::Output { .. }
        | Event::KubeadmFinished { .. }
        | Event::KubeadmLine { .. }
        | Event::Etcd { .. }
        | Event::Used { .. }
        | Event::Metrics { .. }
        | Event::Span { .. }
        | Event::Called { .. }
        | Event::Proxied { .. }
        | Event::Noticed { .. }
        | Event::RunFinished { .. } => {
            return None;
        }
    };
    Some(line)
}

/// How a case ended, for a run that has several.
pub(super) fn case_ended(case: &Case) -> String {
    let failed: Vec<&str> = case.tasks.iter().filter(|task| task.failed()).map(|task| task.plan.name.as_str()).collect();
    let tasks = if failed.is_empty() { String::new() } else { format!(": {}", failed.join(", ")) };
    let took = human(case.took.unwrap_or_default());
    format!("case {} of {}, {}: {} in {took}{tasks}", case.index, case.of, case.name, came_to(case.end()).1)
}

/// The colour and the words of a case's end.
pub(super) fn came_to(end: CaseEnd) -> (Tone, &'static str) {
    match end {
        CaseEnd::Failed => (Tone::Bad, "failed"),
        CaseEnd::Stopped => (Tone::Doubt, "stopped"),
        CaseEnd::Undecided => (Tone::Doubt, "undecided"),
        CaseEnd::Left => (Tone::Bad, "passed, but not cleaned up"),
        CaseEnd::Passed => (Tone::Good, "passed"),
    }
}

fn finished(name: &str, outcome: &Outcome, counts: bool, took: &str) -> (Tone, String) {
    let ignored = if counts { "" } else { " (ignored)" };
    match outcome {
        Outcome::Passed if counts => (Tone::Bad, format!("✘ {name}: done in {took}, but an expectation failed")),
        Outcome::Passed => (Tone::Good, format!("✔ {name} {took}")),
        Outcome::Failed { reason } => {
            (Tone::Bad, format!("✘ {name} failed after {took}{ignored}: {}", reason.replace('\n', "\n         ")))
        }
        Outcome::NotStarted { reason } => (Tone::Bad, format!("✘ {name} could not be started{ignored}: {reason}")),
        Outcome::TimedOut { limit } => (Tone::Bad, format!("✘ {name} was stopped at its limit of {}{ignored}", human(*limit))),
        Outcome::Stopped => (Tone::Doubt, format!("◼ {name} stopped after {took}")),
        Outcome::Skipped { reason } => (Tone::Faint, format!("- {name} skipped: {reason}")),
    }
}

fn worked(work: Work, on: &str, took: &str, verbose: bool) -> Option<(Tone, String)> {
    match work {
        Work::CreateNodes => Some((Tone::Plain, format!("  nodes of {on} up in {took}"))),
        Work::Init => Some((Tone::Plain, format!("  {on}: init in {took}"))),
        Work::Join => Some((Tone::Plain, format!("  {on}: kubeadm join in {took}"))),
        Work::Ready => Some((Tone::Plain, format!("  all nodes of {on} Ready after {took}"))),
        Work::CreateNode | Work::Boot => verbose.then(|| (Tone::Faint, format!("  {on}: {work:?} in {took}"))),
        Work::Joins | Work::Delete => None,
    }
}

fn fault(id: &str, node: &str, what: &str, of: &FaultMoment) -> (Tone, String) {
    let at = if node.is_empty() { String::new() } else { format!(" on {node}") };
    let (tone, words) = moment(what, of);
    (tone, format!("  fault {id}{at}: {words}"))
}

/// How far a fault is.
pub(super) fn moment(what: &str, of: &FaultMoment) -> (Tone, String) {
    match of {
        FaultMoment::Armed => (Tone::Faint, format!("armed: {what}")),
        FaultMoment::Done { by, .. } => (Tone::Doubt, format!("{what}, set off by {by}")),
        FaultMoment::Bit { proof } => (Tone::Doubt, format!("took effect: {proof}")),
        FaultMoment::Healed => (Tone::Faint, "undone".into()),
        FaultMoment::NeverTriggered => (Tone::Bad, "never triggered".into()),
        FaultMoment::Failed { why } => (Tone::Bad, format!("failed: {why}")),
        FaultMoment::NotApplicable { why } => (Tone::Doubt, format!("does not apply: {why}")),
    }
}

fn member(id: &str, name: &str, moment: Moment) -> (Tone, String) {
    let who = if name.is_empty() { format!("member {id}") } else { format!("member {id} ({name})") };
    let what = match moment {
        Moment::Announced => "added as a learner",
        Moment::Founded => "is a voter",
        Moment::Started => "has started",
        Moment::Promoted => "promoted to voter",
        Moment::CaughtUp => "has caught up",
        Moment::PeerActive => "is connected to each voter",
        Moment::GatePassed => "no longer holds the next one up",
        Moment::Removed => "removed",
    };
    (Tone::Plain, format!("  etcd: {who} {what}"))
}
