//! What a run came to, at its end: where the time went, the verdicts with the failures first, and how to see one again. Pure.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::frame;
use super::line::{came_to, case_ended};
use super::model::{Case, CaseEnd, Run, Seen, State, Task};
use super::rounds;
use super::tone::{Tone, fit, paint, plain, verdict, width};
use crate::event::{Moment, Outcome, Verdict, Work};
use crate::sys::clock::human;

/// What the reporter has to say to its caller.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Where the artifacts lie, or why they are not whole.
    pub artifacts: Option<Result<PathBuf, String>>,
}

/// The closing lines.
pub(super) fn text(run: &Run, artifacts: Option<&Result<PathBuf, String>>, colour: bool) -> String {
    let Some((exit, took)) = run.finished else { return String::new() };
    let mut lines: Vec<(Tone, String)> = Vec::new();
    let several = run.done.iter().any(|case| case.of > 1);
    if !several {
        lines.extend(run.done.iter().flat_map(table).map(|line| (Tone::Plain, line)));
    }
    let mut cases: Vec<&Case> = run.done.iter().collect();
    cases.sort_by_key(|case| case.end());
    for case in cases {
        // What only passed needs no line among hundreds.
        if several && case.end() != CaseEnd::Passed {
            lines.push((came_to(case.end()).0, case_ended(case)));
        }
        lines.extend(steps(case));
        lines.extend(broken(case));
        lines.extend(verdicts(case, Verdict::Undecided..=Verdict::Fail));
        if let (Some(command), CaseEnd::Failed | CaseEnd::Undecided) = (case.repeat(), case.end()) {
            lines.push((Tone::Plain, format!("again      {command}")));
        }
        let rest = if several { Verdict::Known..=Verdict::Known } else { Verdict::Pass..=Verdict::Known };
        lines.extend(verdicts(case, rest));
        if !several {
            lines.extend(invariants(case));
        }
        if !case.left.is_empty() {
            lines.push((Tone::Bad, format!("LEFT       {}", case.left.join("; "))));
        }
    }
    match artifacts {
        Some(Ok(path)) => lines.push((Tone::Plain, format!("artifacts  {}", path.display()))),
        Some(Err(why)) => lines.push((Tone::Bad, format!("artifacts  incomplete: {why}"))),
        None => {}
    }
    if several {
        lines.push((Tone::Plain, format!("cases      {}", frame::cases(run))));
    }
    lines.extend(rounds::lines(run).into_iter().map(|line| (Tone::Plain, format!("rounds     {line}"))));
    let tone = if exit == 0 { Tone::Good } else { Tone::Bad };
    // cli/run.rs: a pass whose record is torn is none that anybody could check
    let torn = exit == 0 && artifacts.is_some_and(Result::is_err);
    let known = exit == 0 && run.done.iter().flat_map(|case| &case.tasks).flat_map(|task| &task.verdicts).any(is_known);
    let code = match (torn, known) {
        (true, _) => "not counted as passed: its record is incomplete".to_owned(),
        (false, true) => format!("exit code {exit}: what failed is known, and failed in just that way"),
        (false, false) => format!("exit code {exit}"),
    };
    let parts = [tasks(run), judged(run)].into_iter().flatten().map(|part| part + "; ").collect::<String>();
    lines.push((tone, format!("result     {parts}{}, {}{code}", human(took), signal(exit))));
    lines.into_iter().fold("\n".to_owned(), |text, (tone, line)| text + &paint(tone, &plain(&line), colour) + "\n")
}

fn is_known(seen: &Seen) -> bool {
    seen.judgement.verdict == Verdict::Known
}

/// The exit codes of signals, in words (docs/exit-codes.md).
fn signal(exit: u8) -> &'static str {
    match exit {
        130 => "stopped by SIGINT, ",
        143 => "stopped by SIGTERM, ",
        _ => "",
    }
}

/// What became of the tasks, in numbers.
fn tasks(run: &Run) -> Option<String> {
    let (mut passed, mut failed, mut ignored, mut skipped, mut stopped) = (0, 0, 0, 0, 0);
    for task in run.done.iter().flat_map(|case| &case.tasks) {
        match &task.state {
            State::Ended { counts: true, .. } => failed += 1,
            State::Ended { outcome: Outcome::Skipped { .. }, .. } => skipped += 1,
            State::Ended { outcome: Outcome::Passed, .. } => passed += 1,
            State::Ended { outcome: Outcome::Stopped, .. } | State::Waiting | State::Running { .. } => stopped += 1,
            State::Ended { outcome: Outcome::Failed { .. } | Outcome::NotStarted { .. } | Outcome::TimedOut { .. }, .. } => ignored += 1,
        }
    }
    counted(
        "tasks",
        &[(passed, "passed"), (failed, "failed"), (ignored, "failed and forgiven"), (skipped, "skipped"), (stopped, "stopped")],
    )
}

/// What was judged, in numbers. A failed verdict without weight is not counted as one.
fn judged(run: &Run) -> Option<String> {
    let all = || run.done.iter().flat_map(|case| &case.tasks).flat_map(|task| task.verdicts.iter().map(move |seen| (task, seen)));
    let count = |v: Verdict| all().filter(|(task, seen)| seen.judgement.verdict == v && !(v == Verdict::Fail && task.forgiven())).count();
    counted(
        "verdicts",
        &[
            (count(Verdict::Pass), "passed"),
            (count(Verdict::Fail), "failed"),
            (count(Verdict::Undecided), "undecided"),
            (count(Verdict::Known), "known"),
        ],
    )
}

/// `verdicts 3 passed, 1 known`: what there is none of is left out.
fn counted(what: &str, numbers: &[(usize, &str)]) -> Option<String> {
    let there: Vec<String> = numbers.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    (!there.is_empty()).then(|| format!("{what} {}", there.join(", ")))
}

/// Steps that failed, and the one that a signal met.
fn steps(case: &Case) -> Vec<(Tone, String)> {
    let line = |task: &Task| {
        if let State::Ended { outcome: Outcome::Stopped, took, .. } = &task.state {
            return Some((Tone::Bad, format!("{:<10} {}: after {}", "STOPPED", task.plan.name, human(*took))));
        }
        let (tone, word) = if task.failed() { (Tone::Bad, "FAIL") } else { (Tone::Doubt, "IGNORED") };
        Some((tone, format!("{word:<10} {}: {}", task.plan.name, task.trouble()?.replace('\n', "\n           "))))
    };
    case.tasks.iter().filter_map(line).collect()
}

/// Invariants that broke, with the samples that show it.
fn broken(case: &Case) -> Vec<(Tone, String)> {
    let mut lines = Vec::new();
    for (seen, (tone, word)) in case.invariants(Verdict::Fail).map(|seen| (seen, verdict(Verdict::Fail))) {
        let j = &seen.judgement;
        lines.push((tone, format!("{word:<10} {}: wanted {}; saw {}", j.name, j.wanted, j.saw)));
        lines.extend(seen.lines().map(|sample| (Tone::Faint, format!("           {sample}"))));
    }
    lines
}

/// So many invariants that were not seen, or had nothing to be about, have their reasons beside them.
const MOST_REASONS: usize = 4;

/// All others in some lines: which held, which nobody could see, and which had nothing to be about.
fn invariants(case: &Case) -> Vec<(Tone, String)> {
    let names = |verdict| case.invariants(verdict).map(|seen| seen.judgement.name.as_str()).collect::<Vec<_>>().join(", ");
    // Of many the names are enough: there was no cluster to look at. The page has all reasons.
    let reasoned = |verdict| {
        let few = case.invariants(verdict).count() <= MOST_REASONS;
        let reason = |seen: &Seen| if few { format!(" ({})", seen.judgement.saw) } else { String::new() };
        case.invariants(verdict).map(|seen| seen.judgement.name.clone() + &reason(seen)).collect::<Vec<_>>().join(", ")
    };
    let line = |what: &str, names: String| (!names.is_empty()).then(|| (Tone::Faint, format!("{what:<10} {names}")));
    let all = [
        line("held", names(Verdict::Pass)),
        line("known", names(Verdict::Known)),
        line("not seen", reasoned(Verdict::Undecided)),
        line("n/a", reasoned(Verdict::NotApplicable)),
    ];
    all.into_iter().flatten().collect()
}

/// Verdicts, the worst first, each that did not pass with the samples that show it.
fn verdicts(case: &Case, which: RangeInclusive<Verdict>) -> Vec<(Tone, String)> {
    let mut sorted: Vec<(&Task, &Seen)> = case.tasks.iter().flat_map(|task| task.verdicts.iter().map(move |seen| (task, seen))).collect();
    sorted.retain(|(_, seen)| which.contains(&seen.judgement.verdict));
    sorted.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.judgement.verdict));
    let mut lines = Vec::new();
    for (task, seen) in sorted {
        let j = &seen.judgement;
        let (tone, word) = match (j.verdict, task.forgiven()) {
            (Verdict::Fail, true) => (Tone::Doubt, "IGNORED"),
            (v, _) => verdict(v),
        };
        let passed = j.verdict == Verdict::Pass;
        let numbers: Vec<String> = j.evidence.iter().map(u64::to_string).collect();
        let events = if passed && !numbers.is_empty() { format!(" (events {})", numbers.join(", ")) } else { String::new() };
        lines.push((tone, format!("{word:<10} {} / {}: wanted {}; saw {}{events}", task.plan.name, j.name, j.wanted, j.saw)));
        if !passed {
            lines.extend(seen.lines().map(|sample| (Tone::Faint, format!("           {sample}"))));
        }
    }
    lines
}

/// The columns of the table: a node's work and its member's moments, and the cluster's below the same heads.
const COLUMNS: [(&str, Cell); 7] = [
    ("create", Cell::Of(Work::CreateNode, Work::CreateNodes)),
    ("boot", Cell::Of(Work::Boot, Work::Boot)),
    ("init", Cell::Of(Work::Init, Work::Init)),
    ("join", Cell::Of(Work::Join, Work::Joins)),
    ("ready", Cell::Of(Work::Ready, Work::Ready)),
    ("→started", Cell::Between(Moment::Announced, Moment::Started)),
    ("→promoted", Cell::Between(Moment::Started, Moment::Promoted)),
];

#[derive(Clone, Copy)]
enum Cell {
    /// Work on a node, and the work on all of them.
    Of(Work, Work),
    /// From one moment of its member to another.
    Between(Moment, Moment),
}

/// Node × span. `→started` is from the member's announcement on, `→promoted` from its start on. Columns without a
/// value are left out.
fn table(case: &Case) -> Vec<String> {
    let grid = figures(case);
    let columns = grid.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns).map(|at| grid.iter().map(|row| width(&row[at])).max().unwrap_or_default()).collect();
    // Names to the left, times to the right.
    let line = |row: Vec<String>| {
        let cells = row.iter().zip(&widths).skip(1).map(|(cell, width)| format!("  {cell:>width$}"));
        fit(&row[0], widths[0]) + &cells.collect::<String>()
    };
    let mut lines: Vec<String> = grid.into_iter().map(line).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The same in cells, the heads first; empty where nothing is known.
pub(super) fn figures(case: &Case) -> Vec<Vec<String>> {
    let mut rows: Vec<(String, Vec<Option<Duration>>)> = Vec::new();
    for node in case.nodes.iter() {
        let cell = |cell: &Cell| match cell {
            Cell::Of(work, _) => node.spans.get(work).copied(),
            Cell::Between(from, to) => Some(node.moments.get(to)?.since(*node.moments.get(from)?)),
        };
        rows.push((plain(case.nodes.short(&node.name)), COLUMNS.iter().map(|(_, kind)| cell(kind)).collect()));
    }
    let whole = |cell: &Cell| match cell {
        Cell::Of(_, work) => case.nodes.whole.get(work).copied(),
        Cell::Between(..) => None,
    };
    rows.push(("all".to_owned(), COLUMNS.iter().map(|(_, kind)| whole(kind)).collect()));
    rows.retain(|(_, cells)| cells.iter().any(Option::is_some));
    if rows.is_empty() {
        return Vec::new();
    }
    let used: Vec<usize> = (0..COLUMNS.len()).filter(|&at| rows.iter().any(|(_, cells)| cells[at].is_some())).collect();
    let mut grid = vec![[vec!["node".to_owned()], used.iter().map(|&at| COLUMNS[at].0.to_owned()).collect()].concat()];
    for (name, cells) in rows {
        grid.push([vec![name], used.iter().map(|&at| cells[at].map_or("-".into(), human)).collect()].concat());
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, run_of};
    use super::*;

    fn of(script: &Script) -> String {
        text(&run_of(script), Some(&Ok("_artifacts/k3v9x2ab".into())), false)
    }

    #[test]
    fn the_table_and_the_verdicts_are_shown_failures_first() {
        insta::assert_snapshot!("summary_passing", of(&Script::passing()));
        insta::assert_snapshot!("summary_failing", of(&Script::failing()));
    }

    #[test]
    fn invariants_have_a_line_or_two_and_broken_ones_their_samples() {
        insta::assert_snapshot!("summary_broken", of(&Script::broken()));
    }

    #[test]
    fn of_several_cases_only_what_failed_has_lines() {
        insta::assert_snapshot!("summary_matrix", of(&Script::matrix()));
    }

    #[test]
    fn many_rounds_of_a_case_say_how_sure_they_make_one() {
        insta::assert_snapshot!("summary_rounds", of(&Script::rounds()));
    }

    #[test]
    fn what_was_left_and_what_is_hostile_is_told_in_plain_text() {
        assert!(of(&Script::left()).contains("\nLEFT       network joinder: it has endpoints\n"));
        let hostile = text(&run_of(&Script::hostile()), Some(&Err("disk full".into())), false);
        assert!(hostile.chars().all(|c| c == '\n' || !c.is_control()), "{hostile:?}");
        assert!(hostile.contains("artifacts  incomplete: disk full"));
        assert_eq!(text(&Run::default(), None, false), "", "a run that did not finish has no summary");
    }
}
