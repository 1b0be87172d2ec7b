//! The lines that an event brings, in the words of the line view and the commands of a CI system. Pure.

use super::line::{self, Verbosity, words};
use super::mode::{Mode, Reader, View};
use super::model::{Case, Run, Task};
use super::tone::{Tone, paint, plain};
use super::{github, gitlab};
use crate::event::{Event, Told};
use crate::sys::clock::Stamp;

/// What is printed for an event that `run` knows of already; `ended` is the case that it ended.
pub(super) fn text(told: &Told, run: &Run, ended: Option<usize>, mode: Mode) -> String {
    let mut text = String::new();
    if let Some(case) = ended.and_then(|at| run.done.get(at)) {
        text += &closed(case, told.at, run, mode);
    }
    let at = at(told.at, run);
    let verbosity = if mode.view == View::Verbose { Verbosity::Verbose } else { Verbosity::Normal };
    let line = words(told, verbosity).map(|(tone, line)| shown(&at, tone, &line, mode));
    if let (Event::RunFinished { exit, .. }, Reader::GitHub, true) = (&told.event, mode.reader, run.done.is_empty()) {
        text += &github::without_case(*exit);
    }
    let Some(case) = &run.case else { return text + &line.unwrap_or_default() };
    match &told.event {
        Event::CaseStarted { .. } => {
            text += &match mode.reader {
                Reader::People => String::new(),
                Reader::GitHub => github::opened(case),
                Reader::GitLab => gitlab::opened(case, told.at),
            };
            text += &line.unwrap_or_default();
        }
        Event::TaskStarted { index, .. } => {
            if let (Reader::GitLab, Some(task)) = (mode.reader, outer(case, *index)) {
                text += &gitlab::task_opened(case, task.plan.index, told.at);
            }
            text += &line.unwrap_or_default();
        }
        Event::TaskFinished { index, .. } => {
            // How it ended stands behind its section, where it is not folded away.
            if let (Reader::GitLab, Some(task)) = (mode.reader, outer(case, *index).filter(|task| task.begun)) {
                text += &gitlab::task_closed(case, task.plan.index, told.at);
            }
            text += &line.unwrap_or_default();
            // -v has shown them.
            if let (Some(task), false) = (case.tasks.iter().find(|task| task.plan.index == *index), mode.view == View::Verbose) {
                text += &tail(task, &at, mode);
            }
        }
        Event::RunStarted { .. }
        | Event::CaseFinished { .. }
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
        | Event::Warning { .. }
        | Event::RunFinished { .. } => text += &line.unwrap_or_default(),
    }
    text
}

/// A line that no event brings.
pub(super) fn notice(text: &str, now: Stamp, run: &Run, mode: Mode) -> String {
    shown(&at(now, run), Tone::Doubt, &format!("  {text}"), mode)
}

/// Lines of ours, with nothing in them that who reads them would take for a command.
pub(super) fn safe(text: &str, reader: Reader) -> String {
    match reader {
        Reader::GitHub => github::neutral(text),
        Reader::People | Reader::GitLab => text.to_owned(),
    }
}

fn closed(case: &Case, at: Stamp, run: &Run, mode: Mode) -> String {
    let line =
        if case.of > 1 { shown(&self::at(at, run), line::came_to(case.end()).0, &line::case_ended(case), mode) } else { String::new() };
    match mode.reader {
        Reader::People => line,
        Reader::GitHub => github::closed(case) + &line,
        Reader::GitLab => gitlab::closed(case, at) + &line,
    }
}

fn at(now: Stamp, run: &Run) -> String {
    format!("{:7.1}s ", run.began.map(|began| now.since(began)).unwrap_or_default().as_secs_f64())
}

fn shown(at: &str, tone: Tone, line: &str, mode: Mode) -> String {
    format!("{at}{}\n", paint(tone, &safe(&plain(line), mode.reader), mode.colour))
}

/// A task that is in no group: sections do not overlap.
fn outer(case: &Case, index: usize) -> Option<&Task> {
    case.tasks.iter().find(|task| task.plan.index == index && task.plan.group.is_none())
}

fn tail(task: &Task, at: &str, mode: Mode) -> String {
    if task.trouble().is_none() {
        return String::new();
    }
    let pad = " ".repeat(at.len());
    task.tail.iter().map(|line| shown(&pad, Tone::Faint, &format!("    | {}", line.replace('\n', " ")), mode)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, stamp};
    use super::*;

    fn printed(script: &Script, mode: Mode) -> String {
        let mut run = Run::default();
        script.told.iter().fold(String::new(), |all, told| {
            let ended = run.hear(told);
            all + &text(told, &run, ended, mode)
        })
    }

    fn mode(view: View, reader: Reader) -> Mode {
        Mode { view, colour: false, reader }
    }

    #[test]
    fn plain_lines_show_output_only_below_what_failed() {
        let text = printed(&Script::failing(), mode(View::Plain, Reader::People));
        insta::assert_snapshot!("plain_failing", text);
        assert!(!text.contains("| joinder-control-plane-3: line 5 of"), "the last 20 alone");
        let colour = Mode { colour: true, ..mode(View::Plain, Reader::People) };
        insta::assert_snapshot!("plain_colour", printed(&Script::passing(), colour));
    }

    #[test]
    fn verbose_lines_show_phases_and_output_as_they_come() {
        insta::assert_snapshot!("verbose_failing", printed(&Script::failing(), mode(View::Verbose, Reader::People)));
    }

    #[test]
    fn each_case_of_a_matrix_has_its_line() {
        insta::assert_snapshot!("plain_matrix", printed(&Script::matrix(), mode(View::Plain, Reader::People)));
    }

    #[test]
    fn github_reads_our_commands_and_nobody_elses() {
        insta::assert_snapshot!("github_failing", printed(&Script::failing(), mode(View::Plain, Reader::GitHub)));
        for view in [View::Plain, View::Verbose] {
            let text = printed(&Script::hostile(), mode(view, Reader::GitHub));
            let commands: Vec<&str> = text.lines().filter(|l| l.trim_start().starts_with("::") || l.contains("##[")).collect();
            let ours = ["::group::", "::endgroup::", "::error file="];
            assert!(commands.iter().all(|c| ours.iter().any(|o| c.starts_with(o))), "{commands:#?}");
            assert_eq!(commands.len(), 4, "{commands:#?}");
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }

    #[test]
    fn a_broken_invariant_is_told_at_once_and_annotated() {
        insta::assert_snapshot!("github_broken", printed(&Script::broken(), mode(View::Plain, Reader::GitHub)));
        let passed = printed(&Script::broken(), mode(View::Plain, Reader::People));
        assert!(passed.contains("FAIL I2 same-list") && !passed.contains("I1 one-cluster"), "{passed}");
    }

    #[test]
    fn github_hears_of_a_run_that_never_had_a_case() {
        let text = printed(&Script::new().finish(4), mode(View::Plain, Reader::GitHub));
        assert!(text.contains("\n::error title=joinder::joinder ended with exit code 4 before its first case began"), "{text}");
    }

    #[test]
    fn gitlab_sections_open_and_close_in_pairs() {
        let text = printed(&Script::failing(), mode(View::Plain, Reader::GitLab));
        insta::assert_snapshot!("gitlab_failing", text.replace('\r', "\\r").replace('\x1b', "\\e"));
        for script in [Script::failing(), Script::matrix(), Script::hostile(), Script::stopped()] {
            let text = printed(&script, mode(View::Verbose, Reader::GitLab));
            let mut open: Vec<&str> = Vec::new();
            for marker in text.split("section_").skip(1).filter(|marker| marker.contains("\r\x1b[0K")) {
                let name = marker.split(':').nth(2).and_then(|rest| rest.split(['[', '\r']).next()).expect("a name");
                match marker.split(':').next() {
                    Some("start") => open.push(name),
                    Some("end") => assert_eq!(open.pop(), Some(name)),
                    other => panic!("{other:?}"),
                }
            }
            assert!(open.is_empty(), "{open:?}");
        }
    }

    #[test]
    fn a_notice_has_its_time() {
        let run = super::super::script::run_of(&Script::joining());
        let line = notice("slow: join runs", stamp(61_000), &run, mode(View::Plain, Reader::People));
        assert_eq!(line, "   61.0s   slow: join runs\n");
    }
}
