//! GitHub Actions: a group a case, an annotation a failure, and the job's summary.
//!
//! The runner reads commands from both streams of a step: `::name key=value::data` where a line begins so, spaces in front not
//! counted, and `##[name]data` anywhere in a line (`ActionCommand.cs` of actions/runner). Standard output is for data, so all goes
//! to standard error, and no text of another's may look like a command there.

use std::fmt::Write;

use super::frame;
use super::model::{Case, CaseEnd, Run, Seen, Task};
use super::names;
use super::tone::{one_line, plain};
use crate::event::{INVARIANTS, Verdict};
use crate::sys::clock::human;

/// A job's summary takes 1 MiB; a run of thousands of cases is cut before.
const MOST: usize = 1_000_000;

/// Opens a case's group.
pub(super) fn opened(case: &Case) -> String {
    let name = if case.name.is_empty() { &case.file } else { &case.name };
    format!("::group::{}\n", data(name))
}

/// Closes it; what failed is told behind it, where it is not folded away.
pub(super) fn closed(case: &Case) -> String {
    let mut text = "::endgroup::\n".to_owned();
    text.extend(case.tasks.iter().flat_map(problems).chain(broken(case)).map(|problem| annotation(&problem, case)));
    if !case.left.is_empty() {
        let text_left = format!("could not be removed: {}", case.left.join("; "));
        text += &annotation(&Problem { level: "error", title: "left behind".into(), text: text_left }, case);
    }
    text
}

/// A run that ended before its first case.
pub(super) fn without_case(exit: u8) -> String {
    format!("::error title=joinder::joinder ended with exit code {exit} before its first case began; the lines below say why\n")
}

/// `text` in which no line is a command. What is before the first `::` of a line is looked at for anything that is to be seen:
/// readers differ in what they take for a space.
pub(super) fn neutral(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "## [");
        match line.find("::") {
            Some(at) if !line[..at].contains(|c: char| c.is_ascii_graphic()) => format!("{}: :{}", &line[..at], &line[at + 2..]),
            Some(_) | None => line,
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

struct Problem {
    level: &'static str,
    title: String,
    text: String,
}

/// Invariants that broke.
fn broken(case: &Case) -> Vec<Problem> {
    let one = |seen: &Seen| {
        let j = &seen.judgement;
        let text = std::iter::once(format!("wanted {}; saw {}", j.wanted, j.saw)).chain(seen.lines()).collect::<Vec<_>>().join("\n");
        Problem { level: "error", title: format!("{INVARIANTS} / {}", j.name), text }
    };
    case.invariants(Verdict::Fail).map(one).collect()
}

/// What is wrong with a task: each once.
fn problems(task: &Task) -> Vec<Problem> {
    let name = names::task(task.plan.index, &task.plan.name);
    let mut all = Vec::new();
    if let (Some(text), true) = (task.trouble(), task.failed()) {
        all.push(Problem { level: "error", title: name.clone(), text });
    }
    for seen in &task.verdicts {
        let j = &seen.judgement;
        let level = match j.verdict {
            Verdict::Fail if !task.forgiven() => "error",
            Verdict::Undecided => "warning",
            Verdict::Fail | Verdict::Known | Verdict::Pass | Verdict::NotApplicable => continue,
        };
        let mut text = format!("wanted {}; saw {}", j.wanted, j.saw);
        text.extend(seen.lines().flat_map(|sample| ["\n".to_owned(), sample]));
        all.push(Problem { level, title: format!("{name} / {}", j.name), text });
    }
    all
}

fn annotation(problem: &Problem, case: &Case) -> String {
    let repeat = case.repeat().map(|command| format!("\n{command}")).unwrap_or_default();
    let (file, title) = (property(&case.file), property(&problem.title));
    format!("::{} file={file},title={title}::{}\n", problem.level, data(&format!("{}{repeat}", problem.text)))
}

/// A command's text: as the runner reads it back, with what could command a terminal made visible.
fn data(text: &str) -> String {
    plain(text).replace("##[", "## [").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a command's property.
fn property(text: &str) -> String {
    data(&one_line(text)).replace(':', "%3A").replace(',', "%2C")
}

/// The Markdown that goes to `$GITHUB_STEP_SUMMARY`.
pub(super) fn step_summary(run: &Run) -> String {
    if run.done.is_empty() {
        return "### joinder: ended before its first case\n".to_owned();
    }
    let mut text = format!("### joinder: {}\n\n| case | came to | tasks | time |\n|---|---|---|---|\n", markdown(&frame::cases(run)));
    for case in &run.done {
        let name = if case.name.is_empty() { &case.file } else { &case.name };
        let took = human(case.took.unwrap_or_default());
        let _ = writeln!(text, "| {} | {} | {} | {took} |", markdown(name), came_to(case.end()), case.tasks.len());
    }
    for case in run.done.iter().filter(|case| case.end() != CaseEnd::Passed) {
        let name = if case.name.is_empty() { &case.file } else { &case.name };
        let _ = write!(text, "\n#### {}\n\n", markdown(name));
        for problem in case.tasks.iter().flat_map(problems).chain(broken(case)) {
            let _ = writeln!(text, "- **{}** {}", markdown(&problem.title), markdown(&problem.text));
        }
        if !case.left.is_empty() {
            let _ = writeln!(text, "- **left behind** {}", markdown(&case.left.join("; ")));
        }
        if let Some(command) = case.repeat() {
            let _ = writeln!(text, "\nAgain: <code>{}</code>", markdown(command));
        }
        if text.len() > MOST {
            text.truncate(text.floor_char_boundary(MOST));
            text += "\n\n… cut here; the artifacts have all of it.\n";
            break;
        }
    }
    text
}

fn came_to(end: CaseEnd) -> &'static str {
    match end {
        CaseEnd::Failed => "❌ failed",
        CaseEnd::Stopped => "⏹ stopped",
        CaseEnd::Undecided => "❔ undecided",
        CaseEnd::Left => "🧹 not cleaned up",
        CaseEnd::Passed => "✅ passed",
    }
}

/// Text that Markdown, also inside of a table, shows as it is.
fn markdown(text: &str) -> String {
    let mut all = String::new();
    for c in plain(text).chars() {
        match c {
            '\n' => all += "<br>",
            '<' => all += "&lt;",
            '>' => all += "&gt;",
            '&' => all += "&amp;",
            // a mention or an issue would be linked
            '@' => all += "&#64;",
            '#' => all += "&#35;",
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' => {
                all.push('\\');
                all.push(c);
            }
            c => all.push(c),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, run_of};
    use super::*;

    #[test]
    fn no_line_of_anothers_is_a_command() {
        for (text, want) in [
            ("::set-output name=x::y", ": :set-output name=x::y"),
            ("ok\n \t ::error::x", "ok\n \t : :error::x"),
            ("\u{a0}\u{3000}::debug::x", "\u{a0}\u{3000}: :debug::x"),
            ("[::1]:6443 and std::fs", "[::1]:6443 and std::fs"),
            ("x ##[command]y ##[error]", "x ## [command]y ## [error]"),
            (":::error::", ": ::error::"),
        ] {
            assert_eq!(neutral(text), want);
            let command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
            assert!(!neutral(text).lines().any(command), "{text:?}");
        }
    }

    #[test]
    fn commands_are_one_line_and_escaped() {
        for script in [Script::failing(), Script::hostile(), Script::left()] {
            let run = run_of(&script);
            let text = opened(&run.done[0]) + &closed(&run.done[0]);
            assert!(
                text.lines()
                    .all(|line| ["::group::", "::endgroup::", "::error file=", "::warning file="].iter().any(|c| line.starts_with(c))),
                "{text}"
            );
        }
        let hostile = run_of(&Script::hostile());
        insta::assert_snapshot!("github_hostile", opened(&hostile.done[0]) + &closed(&hostile.done[0]));
    }

    #[test]
    fn the_summary_is_a_table_and_what_failed() {
        insta::assert_snapshot!("github_summary_matrix", step_summary(&run_of(&Script::matrix())));
        insta::assert_snapshot!("github_summary_hostile", step_summary(&run_of(&Script::hostile())));
    }
}
