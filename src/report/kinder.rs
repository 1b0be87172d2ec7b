//! What a case in kinder's language leaves, in kinder's own shape: the header of a task's log, and `junit_runner.xml` without what kinder
//! does not write. Pure.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event as Xml};

use super::junit::seconds;
use super::logs::rule;
use super::model::{Case, State, Task};
use super::names;
use super::tone::{one_line, plain};
use crate::event::{Event, Outcome, TaskPlan};
use crate::sys::clock::Stamp;

/// kinder's class for all testcases.
const CLASS: &str = "kinder.test.workflow";
/// The version of kinder's language.
const VERSION: u32 = 1;

/// Is a case in kinder's language?
pub(super) fn is_it(case: &Case) -> bool {
    case.language == VERSION
}

/// The first lines of a task's log.
pub(super) fn header(task: &Task) -> String {
    let plan = &task.plan;
    let rule = rule();
    let description = if plan.description.is_empty() { String::new() } else { format!("{}\n", plain(&plan.description)) };
    format!(
        "{rule}\n{}\n{description}command : {}\ntimeout : {}\nforce   : {}\n{rule}\n\n",
        names::task(plan.index, &plan.name),
        plain(&plan.what),
        go(plan.limit),
        plan.force
    )
}

/// A length of time as Go shows it: `5m0s`, `1.5s`, `300ms`.
pub(super) fn go(time: Duration) -> String {
    let (seconds, nanoseconds) = (time.as_secs(), time.subsec_nanos());
    let fraction = |whole: u64, part: u32, digits: usize| {
        let fraction = format!("{part:0digits$}");
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
    };
    match (seconds, nanoseconds) {
        (0, 0) => "0s".into(),
        (0, 1..1_000) => format!("{nanoseconds}ns"),
        (0, 1_000..1_000_000) => format!("{}µs", fraction(u64::from(nanoseconds / 1_000), nanoseconds % 1_000, 3)),
        (0, _) => format!("{}ms", fraction(u64::from(nanoseconds / 1_000_000), nanoseconds % 1_000_000, 6)),
        _ => {
            let mut text = String::new();
            if seconds >= 3_600 {
                let _ = write!(text, "{}h", seconds / 3_600);
            }
            if seconds >= 60 {
                let _ = write!(text, "{}m", seconds / 60 % 60);
            }
            text + &fraction(seconds % 60, nanoseconds, 9) + "s"
        }
    }
}

/// What is told of a task inside its testcase: the element and its text.
fn inside(task: &Task) -> Option<(&'static str, String)> {
    match &task.state {
        State::Waiting => Some(("skipped", "it did not run".into())),
        State::Running { .. } => {
            Some(("failure", "it ran when this was written; nothing came after it: joinder was killed, or broke".into()))
        }
        State::Ended { outcome, counts, .. } => ended(outcome, *counts),
    }
}

/// The same of one that has ended; nothing of one that passed.
fn ended(outcome: &Outcome, counts: bool) -> Option<(&'static str, String)> {
    let failure = |text: String| Some(("failure", text));
    match outcome {
        Outcome::Passed => None,
        // an ignored error is a pass, of which nothing is said
        Outcome::Failed { .. } if !counts => None,
        Outcome::Failed { reason } | Outcome::NotStarted { reason } => failure(reason.clone()),
        Outcome::TimedOut { limit } => failure(format!("timeout. The task did not complete in less than {} as expected", go(*limit))),
        Outcome::Stopped => failure("task was canceled by the user".into()),
        Outcome::Skipped { reason } => Some(("skipped", reason.clone())),
    }
}

/// kinder's lines for a terminal or a build's log: each task with its whole command, then how it ended. Pure.
#[derive(Debug, Default)]
pub struct KinderLines {
    tasks: Vec<TaskPlan>,
}

impl KinderLines {
    /// The lines that an event brings, with their ends; mostly none.
    pub fn hear(&mut self, event: &Event) -> String {
        if let Event::CaseStarted { language, tasks, .. } = event {
            self.tasks = if *language == VERSION { tasks.clone() } else { Vec::new() };
        }
        let known = |index: usize| self.tasks.iter().find(|task| task.index == index);
        if let Event::TaskStarted { index, .. } = event {
            return known(*index).map(Self::begin).unwrap_or_default();
        }
        let Event::TaskFinished { index, outcome, counts, .. } = event else { return String::new() };
        let Some(task) = known(*index) else { return String::new() };
        let begin = if matches!(outcome, Outcome::Skipped { .. }) { Self::begin(task) } else { String::new() };
        let end = ended(outcome, *counts).map_or_else(|| "completed!".to_owned(), |(_, text)| text);
        format!("{begin} {}\n\n", plain(&end))
    }

    /// What stands before a task, and is all of a dry run.
    pub fn begin(task: &TaskPlan) -> String {
        format!("# {}\n{}\n\n", names::task(task.index, &task.name), plain(&task.what))
    }
}

/// `junit_runner.xml` for what is known of a case at `now`.
///
/// # Errors
/// None that a vector could give; the writer's signature has them.
pub(super) fn junit(case: &Case, now: Stamp) -> io::Result<Vec<u8>> {
    let class = if case.of > 1 { one_line(&case.name) } else { CLASS.to_owned() };
    let all: Vec<(&Task, Option<(&str, String)>)> = case.tasks.iter().map(|task| (task, inside(task))).collect();
    let failures = all.iter().filter(|(_, inside)| inside.as_ref().is_some_and(|(element, _)| *element == "failure")).count();
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Xml::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuite")
        .with_attribute(("failures", failures.to_string().as_str()))
        .with_attribute(("tests", all.len().to_string().as_str()))
        .with_attribute(("time", seconds(case.took.unwrap_or_else(|| now.since(case.began))).as_str()))
        .write_inner_content(|writer| {
            for (task, inside) in &all {
                let took = match &task.state {
                    State::Waiting => Duration::ZERO,
                    State::Running { began } => now.since(*began),
                    State::Ended { took, .. } => *took,
                };
                let element = writer
                    .create_element("testcase")
                    .with_attribute(("classname", class.as_str()))
                    .with_attribute(("name", names::task(task.plan.index, &task.plan.name).as_str()))
                    .with_attribute(("time", seconds(took).as_str()));
                match inside {
                    None => element.write_empty()?,
                    Some((tag, text)) => element.write_inner_content(|writer| {
                        writer.create_element(*tag).write_text_content(BytesText::new(&plain(text))).map(drop)
                    })?,
                };
            }
            Ok(())
        })?;
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, run_of};
    use super::*;

    /// A script whose case is in kinder's language.
    fn kinders(mut script: Script) -> Script {
        for told in &mut script.told {
            if let Event::CaseStarted { language, .. } = &mut told.event {
                *language = VERSION;
            }
        }
        script
    }

    #[test]
    fn lengths_are_shown_as_go_shows_them() {
        for (ns, want) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5µs"),
            (300_000_000, "300ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (300_000_000_000, "5m0s"),
            (5_400_000_000_000, "1h30m0s"),
            (3_600_000_000_000, "1h0m0s"),
        ] {
            assert_eq!(go(Duration::from_nanos(ns)), want);
        }
    }

    #[test]
    fn the_file_has_kinders_shape_and_nothing_else() {
        let mut script = Script::new();
        script.case_of(&[("pass", 300), ("fail", 300), ("late", 300), ("ignored", 300), ("task-05", 300), ("skipped", 300)]);
        script.starts(1, "pass");
        script.ends(1, "pass", Outcome::Passed, false);
        script.ends(2, "fail", Outcome::Failed { reason: "exit status 3".into() }, true);
        script.ends(3, "late", Outcome::TimedOut { limit: Duration::from_mins(5) }, true);
        script.ends(4, "ignored", Outcome::Failed { reason: "exit status 4".into() }, false);
        script.ends(5, "task-05", Outcome::Stopped, true);
        script.ends(6, "skipped", Outcome::Skipped { reason: "skipping because a predecessor task failed".into() }, false);
        let script = kinders(script);
        let run = run_of(&script);
        let case = run.cases().next().expect("a case");
        let text = String::from_utf8(junit(case, script.now()).expect("written")).expect("UTF-8");
        insta::assert_snapshot!("kinders_junit", text);
    }

    #[test]
    fn lines_are_kinders() {
        let mut script = Script::new();
        script.case_of(&[("pass", 300), ("fail", 300), ("skipped", 300)]);
        script.starts(1, "pass");
        script.ends(1, "pass", Outcome::Passed, false);
        script.starts(2, "fail");
        script.ends(2, "fail", Outcome::Failed { reason: "exit status 3".into() }, true);
        script.ends(3, "skipped", Outcome::Skipped { reason: "skipping because a predecessor task failed".into() }, false);
        let of = |script: &Script| {
            let mut lines = KinderLines::default();
            script.told.iter().map(|told| lines.hear(&told.event)).collect::<Vec<_>>().concat()
        };
        assert_eq!(of(&script), "", "of version 2 kinder says nothing");
        insta::assert_snapshot!("kinders_lines", of(&kinders(script)));
    }

    #[test]
    fn a_log_begins_with_kinders_header() {
        let run = run_of(&kinders(Script::failing()));
        let case = run.cases().next().expect("a case");
        insta::assert_snapshot!("kinders_header", header(&case.tasks[1]));
    }
}
