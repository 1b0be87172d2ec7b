//! What the live view shows at one moment: nodes, tasks and totals as lines that fit the terminal. Pure.

use super::model::{Case, CaseEnd, Run, State};
use super::nodes::Node;
use super::tone::{Tone, cut, fit, plain, width};
use crate::event::Verdict;
use crate::sys::clock::{Stamp, human};

/// A terminal's size in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Columns of a member's state (`not started`) and of a time (`12m03s`).
const MEMBER: usize = 11;
const TIME: usize = 6;

/// A phase that is cut to fewer columns tells nothing.
const LEAST_PHASE: usize = 14;

/// The lines, none wider than the terminal, and together lower.
pub(super) fn lines(run: &Run, now: Stamp, size: Size) -> Vec<(Tone, String)> {
    let mut below = Vec::new();
    if let Some(case) = &run.case {
        below.extend(tasks(case, now));
    }
    below.push((Tone::Faint, totals(run, now)));
    // What was printed before stays in sight above.
    let room = (size.rows * 2 / 3).saturating_sub(below.len()).max(1);
    let mut all = run.case.as_ref().map(|case| nodes(case, now, size.columns, room)).unwrap_or_default();
    all.extend(below);
    // The last column stays free: some terminals wrap when it is written.
    all.into_iter().map(|(tone, line)| (tone, cut(&plain(&line).replace('\n', " "), size.columns.saturating_sub(1)))).collect()
}

fn nodes(case: &Case, now: Stamp, columns: usize, room: usize) -> Vec<(Tone, String)> {
    let there: Vec<&Node> = case.nodes.iter().filter(|node| !node.gone).collect();
    let shown = choose(&there, room);
    let longest = there.iter().map(|node| width(&plain(case.nodes.short(&node.name)))).max().unwrap_or_default();
    // Two columns in front, three between, one free at the end.
    let free = columns.saturating_sub(MEMBER + TIME + 6);
    let name = if free.saturating_sub(longest) >= LEAST_PHASE { longest } else { longest.min(free / 2) };
    let phase = free.saturating_sub(name).min(36);
    let mut lines: Vec<(Tone, String)> = shown
        .iter()
        .map(|node| {
            let tone = if node.doing.busy() { Tone::Plain } else { Tone::Faint };
            let member = node.member.map_or("-", super::nodes::Membership::word);
            let line = format!(
                "  {} {} {} {:>TIME$}",
                fit_end(&plain(case.nodes.short(&node.name)), name),
                fit(&plain(&node.doing.words()), phase),
                fit(member, MEMBER),
                human(now.since(node.since))
            );
            (tone, line)
        })
        .collect();
    if shown.len() < there.len() {
        lines.push((Tone::Faint, format!("  … and {} more", there.len() - shown.len())));
    }
    lines
}

/// The end of a name tells nodes apart.
fn fit_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return fit(text, columns);
    }
    let mut end = String::new();
    for c in text.chars().rev() {
        if width(&end) + width(c.encode_utf8(&mut [0; 4])) + 1 > columns {
            break;
        }
        end.insert(0, c);
    }
    fit(&format!("…{end}"), columns)
}

/// Those that there is room for, in their order: the busy ones and those that changed last. One line says how many are missing.
fn choose<'a>(nodes: &[&'a Node], room: usize) -> Vec<&'a Node> {
    if nodes.len() <= room {
        return nodes.to_vec();
    }
    let mut places: Vec<usize> = (0..nodes.len()).collect();
    places.sort_by_key(|&at| (!nodes[at].doing.busy(), std::cmp::Reverse(nodes[at].changed)));
    places.truncate(room - 1);
    places.sort_unstable();
    places.into_iter().map(|at| nodes[at]).collect()
}

fn tasks(case: &Case, now: Stamp) -> impl Iterator<Item = (Tone, String)> {
    case.tasks.iter().filter_map(move |task| {
        let State::Running { began } = task.state else { return None };
        let indent = if task.plan.group.is_some() { "  " } else { "" };
        let limit = if task.plan.limit == std::time::Duration::MAX { String::new() } else { format!(" of {}", human(task.plan.limit)) };
        Some((Tone::Plain, format!("{indent}▶ {} {}{limit}", task.plan.name, human(now.since(began)))))
    })
}

fn totals(run: &Run, now: Stamp) -> String {
    let mut parts = Vec::new();
    if let Some(case) = &run.case {
        let ended = case.tasks.iter().filter(|task| matches!(task.state, State::Ended { .. })).count();
        if case.of > 1 {
            parts.push(format!("case {} of {}", case.index, case.of));
        }
        parts.push(format!("{ended} of {} tasks", case.tasks.len()));
        let verdicts = [(Verdict::Fail, "failed"), (Verdict::Undecided, "undecided"), (Verdict::Known, "known"), (Verdict::Pass, "passed")];
        parts.extend(verdicts.iter().filter(|(v, _)| case.verdicts(*v) > 0).map(|(v, word)| format!("{} {word}", case.verdicts(*v))));
        if case.of > 1 {
            parts.push(format!("this case {}", human(now.since(case.began))));
        }
    }
    if run.cases().any(|case| case.of > 1) {
        parts.push(format!("cases: {}", cases(run)));
    }
    parts.push(format!("{} in all", human(run.began.map(|began| now.since(began)).unwrap_or_default())));
    parts.join(" · ")
}

/// How the cases ended, in words.
pub(super) fn cases(run: &Run) -> String {
    let ends = [
        (CaseEnd::Failed, "failed"),
        (CaseEnd::Stopped, "stopped"),
        (CaseEnd::Undecided, "undecided"),
        (CaseEnd::Left, "not cleaned up"),
        (CaseEnd::Passed, "passed"),
    ];
    let counted: Vec<String> =
        ends.iter().filter(|(end, _)| run.count(*end) > 0).map(|(end, word)| format!("{} {word}", run.count(*end))).collect();
    if counted.is_empty() { "none ended".into() } else { counted.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, name, run_of};
    use super::*;

    fn drawn(script: &Script, columns: usize, rows: usize) -> String {
        let lines = lines(&run_of(script), script.now(), Size { columns, rows });
        assert!(lines.iter().all(|(_, line)| width(line) < columns), "{lines:#?}");
        assert!(lines.len() < rows, "{} lines in {rows} rows", lines.len());
        lines.into_iter().map(|(_, line)| line.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn nodes_tasks_and_totals_fit_any_width() {
        for columns in [40, 80, 200] {
            insta::assert_snapshot!(format!("live_{columns}"), drawn(&Script::joining(), columns, 24));
        }
    }

    #[test]
    fn of_a_hundred_nodes_the_busy_ones_are_shown() {
        let mut script = Script::grown(99);
        for number in [7, 64, 100] {
            script.kubeadm(&name(number), "join");
        }
        let text = drawn(&script, 80, 24);
        insta::assert_snapshot!("live_100_nodes", text);
        for number in [7, 64, 100] {
            assert!(text.contains(&format!("control-plane-{number} ")), "{number} is busy");
        }
    }

    #[test]
    fn a_run_of_many_cases_tells_of_both_totals() {
        let mut script = Script::new();
        script.case((1, 3), "a", &[], &[("init", 300)]);
        script.starts(1, "init");
        script.ends(1, "init", crate::event::Outcome::Passed, false);
        script.case_finishes(1, None);
        script.case((2, 3), "b", &[], &[("init", 300)]);
        script.starts(1, "init");
        insta::assert_snapshot!("live_many_cases", drawn(&script, 100, 24));
    }

    #[test]
    fn tasks_of_a_group_stand_below_it() {
        let text = drawn(&Script::grouped(), 60, 24);
        assert!(text.starts_with("▶ together ") && text.contains("\n  ▶ join others ") && text.contains("\n  ▶ exec in all "), "{text}");
    }

    #[test]
    fn the_smallest_terminals_and_hostile_names_break_nothing() {
        let mut script = Script::hostile();
        script.told.truncate(5);
        for (columns, rows) in [(1, 4), (2, 5), (20, 5), (80, 24)] {
            let text = drawn(&script, columns, rows);
            assert!(!text.contains('\x1b') && !text.contains('\0'), "{text:?}");
        }
        drawn(&Script::joining(), 1, 4);
        drawn(&Script::joining(), 12, 6);
    }
}
