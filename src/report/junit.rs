//! `junit_runner.xml` of a case, in kinder's shape: one `<testsuite>` as root, a testcase `task-NN-NAME` for each task, and behind it
//! one for each of its expectations, `task-NN-NAME / members`.
//!
//! How things are told, and why:
//!
//! - A task whose step did what it should passes, also where an expectation failed: that one is a testcase of its own, and one
//!   failure is counted once.
//! - Undecided is an `<error>`: JUnit's word for a test that could not be carried out, against `<failure>` for one that saw something
//!   wrong. Both make a job red; neither passes for the other.
//! - Known to fail, and failed in just that way, is `<skipped>` with the issue.
//! - A failure that is ignored is a pass, as with kinder, and a `<system-out>` says what was ignored.
//! - Invariants are behind the tasks, `invariants / I2 same-list`; one that could not be seen is skipped.
//! - A task that runs while the file is written is an `<error>`: the file stays like that only when joinder was killed or broke, and
//!   must not look like a pass then. One whose turn has not come is skipped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event as Xml};

use super::kinder;
use super::model::{Case, Seen, State, Task};
use super::names;
use super::tone::{one_line, plain};
use crate::event::{Event, INVARIANTS, Outcome, Verdict};
use crate::sys::clock::{Stamp, human};

/// The file's name.
pub(super) const FILE: &str = "junit_runner.xml";

/// The class of what belongs to no case. A case's own is its name: readers take two testcases of one class and name for the same.
const CLASS: &str = "joinder";

struct Testcase {
    name: String,
    took: Duration,
    result: Ending,
    /// More to know.
    out: Option<String>,
}

enum Ending {
    Passed,
    Failure(String),
    Error(String),
    Skipped(String),
}

/// Does the file of a case change with this event?
pub(super) fn changes(event: &Event) -> bool {
    match event {
        Event::CaseStarted { .. } | Event::TaskStarted { .. } | Event::TaskFinished { .. } | Event::Judged { .. } => true,
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
        | Event::Cleaned { .. }
        | Event::Note { .. }
        | Event::Warning { .. }
        | Event::RunFinished { .. } => false,
    }
}

/// The file for what is known of a case at `now`.
///
/// # Errors
/// None that a vector could give; the writer's signature has them.
pub(super) fn xml(case: &Case, now: Stamp) -> io::Result<Vec<u8>> {
    if kinder::is_it(case) {
        return kinder::junit(case, now);
    }
    let mut all: Vec<Testcase> = case.tasks.iter().flat_map(|task| of_task(task, case, now)).collect();
    all.extend(case.invariants.iter().map(of_invariant));
    if !case.left.is_empty() {
        let text = format!("could not be removed: {}", case.left.join("; "));
        all.push(Testcase { name: "nothing is left".into(), took: Duration::ZERO, result: Ending::Error(text), out: None });
    }
    let mut times = BTreeMap::new();
    for testcase in &mut all {
        let same = times.entry(testcase.name.clone()).or_insert(0);
        *same += 1;
        if *same > 1 {
            testcase.name = format!("{} ({same})", testcase.name);
        }
    }
    let class = one_line(&case.name);
    let mut properties = vec![("kubernetes", case.kubernetes.as_str()), ("etcd", &case.etcd), ("image", &case.image)];
    let repeat = case.repeat();
    properties.extend(repeat.map(|command| ("repeat", command)));
    write(&all, &class, case.took.unwrap_or_else(|| now.since(case.began)), &properties)
}

/// The file of a run that ended before its first case.
///
/// # Errors
/// As [`xml`].
pub(super) fn without_case(exit: u8, took: Duration) -> io::Result<Vec<u8>> {
    let text = format!("joinder ended with exit code {exit} before its first case began; its standard error says why");
    write(&[Testcase { name: "joinder".into(), took, result: Ending::Error(text), out: None }], CLASS, took, &[])
}

fn of_task(task: &Task, case: &Case, now: Stamp) -> Vec<Testcase> {
    let name = names::task(task.plan.index, &task.plan.name);
    let known = task.verdicts.iter().find(|seen| seen.judgement.verdict == Verdict::Known);
    let (result, took, ignored) = match &task.state {
        State::Waiting => (Ending::Skipped("it did not run".into()), Duration::ZERO, None),
        State::Running { began } => {
            let why = "it ran when this was written; nothing came after it: joinder was killed, or broke";
            (Ending::Error(why.into()), now.since(*began), None)
        }
        State::Ended { outcome, counts, took } => {
            let result = match outcome {
                Outcome::Passed => Ending::Passed,
                Outcome::Failed { reason } => Ending::Failure(with_tail(reason, task)),
                Outcome::NotStarted { reason } => Ending::Failure(with_tail(&format!("it could not be started: {reason}"), task)),
                // kinder's words
                Outcome::TimedOut { limit } => Ending::Failure(with_tail(
                    &format!("timeout. The task did not complete in less than {} as expected", human(*limit)),
                    task,
                )),
                Outcome::Stopped => Ending::Failure(match case.invariants(Verdict::Fail).next() {
                    Some(broken) => format!("stopped: {} does not hold", broken.judgement.name),
                    None => "task was canceled by the user".into(),
                }),
                Outcome::Skipped { reason } => Ending::Skipped(reason.clone()),
            };
            match (result, known) {
                (Ending::Failure(_), Some(known)) if !counts => (Ending::Skipped(known_words(known)), *took, None),
                (Ending::Failure(text), _) if !counts && *outcome != Outcome::Stopped => {
                    (Ending::Passed, *took, Some(format!("failed, which is ignored: {text}")))
                }
                (result, _) => (result, *took, None),
            }
        }
    };
    let mut all = vec![Testcase { name: name.clone(), took, result, out: ignored }];
    all.extend(task.verdicts.iter().map(|seen| of_verdict(&name, seen, task, case)));
    all
}

fn of_verdict(task_name: &str, seen: &Seen, task: &Task, case: &Case) -> Testcase {
    let j = &seen.judgement;
    let text = std::iter::once(format!("wanted {}; saw {}", j.wanted, j.saw)).chain(seen.lines()).collect::<Vec<_>>().join("\n");
    let (result, out) = match j.verdict {
        Verdict::Pass => (Ending::Passed, None),
        Verdict::NotApplicable => (Ending::Skipped(format!("not applicable: {}", j.saw)), None),
        Verdict::Known => (Ending::Skipped(known_words(seen)), None),
        Verdict::Undecided => (Ending::Error(format!("undecided: {text}")), None),
        Verdict::Fail if task.forgiven() => (Ending::Passed, Some(format!("failed, which is ignored: {text}"))),
        Verdict::Fail => (Ending::Failure(text), None),
    };
    // The cluster's name may be another in each run.
    let cluster = case.nodes.cluster.as_ref().map(|cluster| format!("{cluster}-"));
    let name = cluster.map_or_else(|| j.name.clone(), |prefix| j.name.replace(&prefix, ""));
    Testcase { name: format!("{task_name} / {}", one_line(&name)), took: Duration::ZERO, result, out }
}

/// An invariant that nobody could see is skipped: it does not leave a run undecided either.
fn of_invariant(seen: &Seen) -> Testcase {
    let j = &seen.judgement;
    let text = std::iter::once(format!("wanted {}; saw {}", j.wanted, j.saw)).chain(seen.lines()).collect::<Vec<_>>().join("\n");
    let result = match j.verdict {
        Verdict::Pass => Ending::Passed,
        Verdict::Known => Ending::Skipped(known_words(seen)),
        Verdict::Undecided => Ending::Skipped(format!("not seen: {}", j.saw)),
        Verdict::NotApplicable => Ending::Skipped(format!("not applicable: {}", j.saw)),
        Verdict::Fail => Ending::Failure(text),
    };
    Testcase { name: format!("{INVARIANTS} / {}", one_line(&j.name)), took: Duration::ZERO, result, out: None }
}

fn known_words(seen: &Seen) -> String {
    let j = &seen.judgement;
    format!("known to fail: {}: wanted {}; saw {}", j.name, j.wanted, j.saw)
}

fn with_tail(reason: &str, task: &Task) -> String {
    let mut text = reason.to_owned();
    if !task.tail.is_empty() {
        let _ = write!(text, "\n\nlast lines of {}:", names::log(task.plan.index, &task.plan.name));
        text.extend(task.tail.iter().flat_map(|line| ["\n", line]));
    }
    text
}

/// As attributes have them.
pub(super) fn seconds(took: Duration) -> String {
    format!("{:.3}", took.as_secs_f64())
}

fn write(all: &[Testcase], class: &str, took: Duration, properties: &[(&str, &str)]) -> io::Result<Vec<u8>> {
    let count = |wanted: fn(&Ending) -> bool| all.iter().filter(|testcase| wanted(&testcase.result)).count().to_string();
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Xml::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuite")
        .with_attribute(("failures", count(|r| matches!(r, Ending::Failure(_))).as_str()))
        .with_attribute(("errors", count(|r| matches!(r, Ending::Error(_))).as_str()))
        .with_attribute(("skipped", count(|r| matches!(r, Ending::Skipped(_))).as_str()))
        .with_attribute(("tests", all.len().to_string().as_str()))
        .with_attribute(("time", seconds(took).as_str()))
        .write_inner_content(|writer| {
            if !properties.is_empty() {
                writer.create_element("properties").write_inner_content(|writer| {
                    for (name, value) in properties {
                        let element = writer.create_element("property").with_attribute(("name", *name));
                        element.with_attribute(("value", one_line(value).as_str())).write_empty()?;
                    }
                    Ok(())
                })?;
            }
            all.iter().try_for_each(|testcase| write_one(writer, testcase, class))
        })?;
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn write_one(writer: &mut Writer<Vec<u8>>, testcase: &Testcase, class: &str) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", class))
        .with_attribute(("name", testcase.name.as_str()))
        .with_attribute(("time", seconds(testcase.took).as_str()));
    let result = match &testcase.result {
        Ending::Passed => None,
        Ending::Failure(text) => Some(("failure", text)),
        Ending::Error(text) => Some(("error", text)),
        Ending::Skipped(text) => Some(("skipped", text)),
    };
    let inside: Vec<(&str, &String)> = result.into_iter().chain(testcase.out.as_ref().map(|out| ("system-out", out))).collect();
    if inside.is_empty() {
        return element.write_empty().map(drop);
    }
    let write = |writer: &mut Writer<Vec<u8>>| {
        inside.iter().try_for_each(|(tag, text)| writer.create_element(*tag).write_text_content(BytesText::new(&plain(text))).map(drop))
    };
    element.write_inner_content(write).map(drop)
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;

    use super::super::script::{Script, judged, run_of};
    use super::*;

    fn text(script: &Script) -> String {
        let run = run_of(script);
        let case = run.cases().next().expect("a case");
        String::from_utf8(xml(case, script.now()).expect("written")).expect("UTF-8")
    }

    /// Reads it back: names and their results, and that all is well formed and of legal characters.
    fn read(text: &str) -> Vec<(String, String)> {
        let legal = |c: char| c == '\n' || (c >= ' ' && !matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'));
        assert!(text.chars().all(legal), "{text:?}");
        let mut reader = Reader::from_str(text);
        let mut found: Vec<(String, String)> = Vec::new();
        loop {
            match reader.read_event().expect("well formed") {
                Xml::Start(tag) | Xml::Empty(tag) => match tag.name().as_ref() {
                    "testcase" => {
                        let name = tag.try_get_attribute("name").expect("attributes").expect("a name");
                        let name = quick_xml::escape::unescape(&name.value).expect("escaped").into_owned();
                        found.push((name, "passed".into()));
                    }
                    result @ ("failure" | "error" | "skipped" | "system-out") => {
                        found.last_mut().expect("inside one").1 = result.to_owned();
                    }
                    _ => {}
                },
                Xml::Eof => return found,
                Xml::End(_)
                | Xml::Text(_)
                | Xml::CData(_)
                | Xml::Comment(_)
                | Xml::Decl(_)
                | Xml::PI(_)
                | Xml::DocType(_)
                | Xml::GeneralRef(_) => {}
            }
        }
    }

    fn results(script: &Script) -> Vec<(String, String)> {
        read(&text(script))
    }

    #[test]
    fn each_way_to_end_has_its_element() {
        let text = text(&Script::failing());
        insta::assert_snapshot!("junit_failing", text);
        read(&text);
        insta::assert_snapshot!("junit_passing", self::text(&Script::passing()));
        let left = results(&Script::left());
        assert_eq!(left.last(), Some(&("nothing is left".to_owned(), "error".to_owned())));
        assert!(results(&Script::stopped()).contains(&("task-02-join".to_owned(), "failure".to_owned())));
    }

    #[test]
    fn invariants_are_testcases_and_one_that_was_not_seen_is_skipped() {
        insta::assert_snapshot!("junit_broken", text(&Script::broken()));
    }

    #[test]
    fn hostile_names_and_texts_stay_text() {
        let text = text(&Script::hostile());
        insta::assert_snapshot!("junit_hostile", text);
        let found = read(&text);
        assert_eq!(found[0].0, "task-01-a/../b \\u{1b}[2J]]><x>&\\u{0}\\n::set-output name=x::y");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn after_every_event_the_file_tells_what_is_known() {
        let whole = Script::failing();
        let names = results(&whole);
        let mut script = Script::failing();
        script.told.clear();
        for told in &whole.told {
            script.told.push(told.clone());
            let run = run_of(&script);
            let Some(case) = run.cases().next() else { continue };
            let found = read(&String::from_utf8(xml(case, told.at).expect("written")).expect("UTF-8"));
            let tasks: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).filter(|name| !name.contains(" / ")).collect();
            assert_eq!(tasks, ["task-01-init", "task-02-join", "task-03-delete"], "after event {}", told.seq);
            assert!(found.iter().all(|(name, _)| names.iter().any(|(known, _)| known == name)), "{found:?}");
            let running = case.tasks.iter().filter(|task| matches!(task.state, State::Running { .. })).count();
            let undone = found.iter().filter(|(name, result)| !name.contains(" / ") && result == "error").count();
            assert_eq!(undone, running, "what runs is no pass");
        }
    }

    #[test]
    fn names_hold_nothing_that_another_run_has_otherwise() {
        let names = |cluster: &str| {
            let mut script = Script::passing();
            let json = serde_json::to_string(&script.told).expect("json").replace("joinder-control", &format!("{cluster}-control"));
            script.told = serde_json::from_str(&json.replace("\"on\":\"joinder\"", &format!("\"on\":\"{cluster}\""))).expect("events");
            results(&script)
        };
        let here = names("joinder");
        assert!(here.contains(&("task-02-join / promotion control-plane-2".into(), "passed".into())), "{here:?}");
        assert_eq!(here, names("ci-4711"));
    }

    #[test]
    fn what_is_ignored_passes_with_a_note_and_what_is_known_is_skipped() {
        let mut script = Script::new();
        script.case_of(&[("a", 60), ("b", 60)]);
        script.starts(1, "a");
        script.judges(1, "a", judged("members", Verdict::Fail, "voters 2", &[]));
        script.ends(1, "a", Outcome::Failed { reason: "exit code 3".into() }, false);
        script.starts(2, "b");
        script.judges(2, "b", judged("known kubernetes/kubeadm#3317", Verdict::Known, "residue: voter", &[]));
        script.judges(2, "b", judged("members", Verdict::Pass, "x", &[]));
        script.judges(2, "b", judged("members", Verdict::Pass, "y", &[]));
        script.ends(2, "b", Outcome::Failed { reason: "can only promote".into() }, false);
        let pairs = [
            ("task-01-a", "system-out"),
            ("task-01-a / members", "system-out"),
            ("task-02-b", "skipped"),
            ("task-02-b / known kubernetes/kubeadm#3317", "skipped"),
            ("task-02-b / members", "passed"),
            ("task-02-b / members (2)", "passed"),
        ];
        assert_eq!(results(&script), pairs.map(|(name, result)| (name.to_owned(), result.to_owned())));
        assert!(text(&script).contains("kubernetes/kubeadm#3317"));
    }

    #[test]
    fn what_is_judged_behind_its_tasks_end_counts() {
        let mut script = Script::new();
        script.case_of(&[("dead", 60)]);
        script.starts(1, "dead");
        script.ends(1, "dead", Outcome::Passed, false);
        script.judges(1, "dead", judged("fault dead", Verdict::Fail, "it could not be undone", &[]));
        assert!(results(&script).contains(&("task-01-dead / fault dead".to_owned(), "failure".to_owned())), "{:?}", results(&script));
    }

    #[test]
    fn a_run_without_a_case_has_a_file_too() {
        let text = String::from_utf8(without_case(4, Duration::from_secs(1)).expect("written")).expect("UTF-8");
        assert_eq!(read(&text), [("joinder".to_owned(), "error".to_owned())]);
    }
}
