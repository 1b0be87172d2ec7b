//! `joinder report`: from `events.jsonl` alone to all that is made of it. The file may be torn, damaged, hostile, or of another version.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::files::{Drawn, Pages};
use super::model::Run;
use super::page;
use super::{junit, summary};
use crate::event::{Event, FORMAT, Told};
use crate::sys::clock::Stamp;
use crate::sys::file::{open_regular, write_atomic};

/// A longer line is no event of joinder's.
const LONGEST: u64 = 64 << 20;

/// What was made.
#[derive(Debug)]
pub struct Rebuilt {
    /// The page to begin with.
    pub page: PathBuf,
    /// The run's closing lines; empty for one that did not end.
    pub summary: String,
    /// What a reader should know of the events, in words.
    pub doubts: Vec<String>,
}

/// Why nothing was made.
#[derive(Debug, Error)]
pub enum RebuildError {
    /// The events cannot be read.
    #[error("cannot read {}: {source}; name a folder that a run has left, see `joinder get artifacts`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another version's.
    #[error("{} is in format {found}, and this joinder reads format {FORMAT}: use the version that wrote it{}", path.display(), writer(joinder.as_deref()))]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The version that wrote it.
        joinder: Option<String>,
    },
    /// Not one event.
    #[error("{} holds no event that can be read", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Nothing that a page could be about.
    #[error("{} tells of no case that began: there is nothing to draw, and an older page there is not this run's", path.display())]
    NoCase {
        /// The file.
        path: PathBuf,
    },
    /// Something failed, and what it was is lost.
    #[error("{} says that its run ended with exit code {exit}, and tells of no case that failed: its events are not whole", path.display())]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// The run's exit code.
        exit: u8,
    },
    /// Nothing failed by what can be read, which is not all.
    #[error("{} tells of no case that failed, but it does not tell all: {}", path.display(), doubts.join("; "))]
    Doubtful {
        /// The file.
        path: PathBuf,
        /// What is missing.
        doubts: Vec<String>,
    },
    /// A case would be written somewhere else.
    #[error("{} names folder {folder:?} for a case, which is not below its own: this is no file of joinder's", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: String,
    },
    /// Nothing to lay side by side.
    #[error("{} and {} have no case in common, and not one case each: nothing can be compared", a.display(), b.display())]
    NothingInCommon {
        /// The one.
        a: PathBuf,
        /// The other.
        b: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn writer(joinder: Option<&str>) -> String {
    joinder.map_or_else(String::new, |version| format!(" ({version})"))
}

/// Makes the pages, traces and JUnit files of the run in `dir` anew; with `other` also the page that compares the two.
///
/// # Errors
/// When the events cannot be used, or a file cannot be written.
pub fn rebuild(dir: &Path, other: Option<&Path>) -> Result<Rebuilt, RebuildError> {
    let ours = read(dir, other.is_some())?;
    for (path, bytes) in &ours.files {
        put(dir, path, bytes.as_ref())?;
    }
    let several = ours.run.cases().any(|case| case.of > 1);
    let mut first = dir.join(if several { page::INDEX } else { page::FILE });
    let mut doubts = ours.doubts.clone();
    if let Some(other) = other {
        let theirs = read(other, true)?;
        doubts.extend(theirs.doubts.iter().map(|doubt| format!("{}: {doubt}", other.display())));
        first = compare(dir, &ours, other, &theirs)?;
    }
    Ok(Rebuilt { page: first, summary: summary::text(&ours.run, None, false), doubts })
}

/// A run as its events tell of it.
struct Heard {
    run: Run,
    pages: Pages,
    files: Vec<Drawn>,
    doubts: Vec<String>,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
    joinder: Option<String>,
}

fn read(dir: &Path, keep: bool) -> Result<Heard, RebuildError> {
    let mut heard = Heard { run: Run::default(), pages: Pages::keeping(keep), files: Vec::new(), doubts: Vec::new() };
    let doubts = each(dir, |told| heard.hear(told))?;
    heard.end(doubts.last);
    if heard.run.cases().next().is_none() {
        return Err(RebuildError::NoCase { path: dir.join("events.jsonl") });
    }
    heard.doubts = doubts.words(heard.run.finished.is_some());
    Ok(heard)
}

/// How whole the events were.
pub(super) struct Doubts {
    last: Stamp,
    unknown: usize,
    damaged: usize,
    torn: bool,
    /// Numbers that no event has.
    missing: usize,
    /// Events whose number is not above those before.
    astray: usize,
}

impl Doubts {
    /// In words, of a run that has ended or not.
    pub(super) fn words(&self, ended: bool) -> Vec<String> {
        let Self { unknown, damaged, torn, missing, astray, .. } = *self;
        let count = |n: usize, one: &str, more: &str| if n == 1 { format!("1 event {one}") } else { format!("{n} events {more}") };
        let mut words = Vec::new();
        if unknown > 0 {
            words.push(format!("{} that this version does not know, and left out", count(unknown, "is of a kind", "are of kinds")));
        }
        if damaged > 0 {
            words.push(format!("{} damaged, and left out", count(damaged, "is", "are")));
        }
        // of those left out the numbers are missing, too
        let missing = missing.saturating_sub(unknown + damaged);
        if missing > 0 {
            words.push(format!("{} missing by their numbers: what is shown is not all that was seen", count(missing, "is", "are")));
        }
        if astray > 0 {
            words.push(format!("{} twice or behind later ones: what is shown may be wrong", count(astray, "is there", "are there")));
        }
        if torn {
            words.push("the last line is torn: the run was killed, or still goes on".into());
        }
        if !ended {
            words.push("the run has no end: it was killed, or still goes on".into());
        }
        words
    }
}

/// Hands each event of the run in `dir` on, in order, trusting none of them.
pub(super) fn each(dir: &Path, mut hear: impl FnMut(&Told)) -> Result<Doubts, RebuildError> {
    let path = dir.join("events.jsonl");
    let failed = |source| RebuildError::Read { path: path.clone(), source };
    let mut reader = BufReader::new(open_regular(&path).map_err(failed)?);
    let (mut unknown, mut damaged, mut torn, mut last) = (0_usize, 0_usize, false, None::<Stamp>);
    let (mut highest, mut missing, mut astray) = (0_u64, 0_usize, 0_usize);
    while let Some(line) = line(&mut reader).map_err(failed)? {
        let Line { bytes, whole } = line;
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        if last.is_none()
            && let Ok(head) = serde_json::from_slice::<Head>(&bytes)
            && head.format != FORMAT
        {
            return Err(RebuildError::Format { path, found: head.format, joinder: head.joinder });
        }
        match serde_json::from_slice::<Told>(&bytes) {
            Ok(told) => {
                last = Some(told.at);
                if told.seq > highest {
                    missing = missing.saturating_add(usize::try_from(told.seq - highest - 1).unwrap_or(usize::MAX));
                    highest = told.seq;
                } else {
                    astray += 1;
                }
                if let Event::CaseStarted { folder, .. } = &told.event
                    && !Path::new(folder).components().all(|part| matches!(part, Component::Normal(_)))
                {
                    return Err(RebuildError::Folder { path, folder: folder.clone() });
                }
                hear(&told);
            }
            Err(_) if !whole => torn = true,
            // serde's own words for a variant that the types do not have
            Err(e) if e.to_string().starts_with("unknown variant") => unknown += 1,
            Err(_) => damaged += 1,
        }
    }
    let last = last.ok_or(RebuildError::Empty { path })?;
    Ok(Doubts { last, unknown, damaged, torn, missing, astray })
}

struct Line {
    bytes: Vec<u8>,
    /// Did it end with a line feed?
    whole: bool,
}

/// The next line; of one that is too long its begin, which is no event.
fn line(reader: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    if reader.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let mut whole = bytes.ends_with(b"\n");
    if !whole && bytes.len() as u64 == LONGEST {
        whole = reader.skip_until(b'\n')? > 0;
    }
    Ok(Some(Line { bytes, whole }))
}

impl Heard {
    fn hear(&mut self, told: &Told) {
        let ended = self.run.hear(told);
        let Self { run, pages, files, .. } = self;
        if let Some(case) = ended.and_then(|at| run.done.get(at)) {
            files.push((Path::new(&case.folder).join(junit::FILE), junit::xml(case, told.at)));
        }
        files.extend(pages.hear(told, run, ended));
        if let (Event::RunFinished { exit, took }, true) = (&told.event, run.done.is_empty()) {
            files.push((junit::FILE.into(), junit::without_case(*exit, *took)));
        }
    }

    fn end(&mut self, last: Stamp) {
        if let Some(case) = &self.run.case {
            self.files.push((Path::new(&case.folder).join(junit::FILE), junit::xml(case, last)));
        }
        self.files.extend(self.pages.finish(&self.run));
    }
}

fn put(dir: &Path, name: &Path, bytes: Result<&Vec<u8>, &io::Error>) -> Result<(), RebuildError> {
    let path = dir.join(name);
    let written = bytes.map_err(|e| io::Error::other(e.to_string())).and_then(|bytes| write_atomic(&path, bytes, 0o644));
    written.map_err(|source| RebuildError::Write { path, source })
}

/// Cases of one name side by side, each in the folder of the first; one case each is compared whatever it is called.
fn compare(dir: &Path, ours: &Heard, other: &Path, theirs: &Heard) -> Result<PathBuf, RebuildError> {
    let (a, b) = (ours.cases(), theirs.cases());
    let lone = a.len() == 1 && b.len() == 1;
    let mut first = None;
    for (case, history) in &a {
        let Some((their_case, their_history)) = b.iter().find(|(their, _)| lone || their.name == case.name) else { continue };
        let bytes = page::compare((&ours.run, case, history), (&theirs.run, their_case, their_history));
        let name = Path::new(&case.folder).join(page::COMPARISON);
        put(dir, &name, bytes.as_ref())?;
        first.get_or_insert(dir.join(name));
    }
    first.ok_or_else(|| RebuildError::NothingInCommon { a: dir.to_owned(), b: other.to_owned() })
}

impl Heard {
    fn cases(&self) -> Vec<(&super::model::Case, &page::History)> {
        self.run.cases().zip(self.pages.histories()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::script::Script;
    use super::*;

    fn lines(script: &Script) -> Vec<String> {
        script.told.iter().map(|told| serde_json::to_string(told).expect("json")).collect()
    }

    /// A run's folder with these events, and what became of it.
    fn of(events: &str) -> (tempfile::TempDir, Result<Rebuilt, RebuildError>) {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("events.jsonl"), events).expect("written");
        let rebuilt = rebuild(dir.path(), None);
        (dir, rebuilt)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("listed").map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn all_of_a_run_is_made_from_its_events() {
        let (dir, rebuilt) = of(&(lines(&Script::failing()).join("\n") + "\n"));
        let rebuilt = rebuilt.expect("made");
        assert_eq!(names(dir.path()), ["events.jsonl", "junit_runner.xml", "report.html", "trace.json"]);
        assert_eq!((rebuilt.page, rebuilt.doubts.len()), (dir.path().join("report.html"), 0));
        assert!(rebuilt.summary.contains("exit code 100"), "{}", rebuilt.summary);
        let (dir, rebuilt) = of(&lines(&Script::matrix()).join("\n"));
        assert_eq!(rebuilt.expect("made").page, dir.path().join("index.html"));
        assert_eq!(names(dir.path()), ["01-case", "02-case", "03-case", "events.jsonl", "index.html"]);
        assert_eq!(names(&dir.path().join("02-case")), ["junit_runner.xml", "report.html", "trace.json"]);
    }

    #[test]
    fn wherever_the_file_is_torn_there_is_a_page_or_a_reason() {
        let whole = lines(&Script::passing()).join("\n") + "\n";
        for cut in (0..whole.len()).step_by(97) {
            let (dir, rebuilt) = of(&whole[..cut]);
            let case = whole[..cut].lines().any(|line| line.contains("case-started") && line.ends_with('}'));
            match rebuilt {
                Ok(rebuilt) => {
                    assert!(dir.path().join("report.html").is_file() && case, "cut at {cut}");
                    assert!(rebuilt.doubts.iter().any(|doubt| doubt.contains("has no end")), "cut at {cut}: {:?}", rebuilt.doubts);
                    let torn =
                        !whole[..cut].ends_with('\n') && serde_json::from_str::<Told>(whole[..cut].lines().last().expect("one")).is_err();
                    assert_eq!(rebuilt.doubts.iter().any(|doubt| doubt.contains("torn")), torn, "cut at {cut}");
                }
                Err(RebuildError::Empty { .. }) => assert!(cut < whole.find('\n').expect("a line"), "cut at {cut}"),
                Err(e) => assert!(matches!(e, RebuildError::NoCase { .. }) && !case, "cut at {cut}: {e}"),
            }
        }
    }

    #[test]
    fn what_is_new_or_damaged_is_left_out_and_counted() {
        let mut all = lines(&Script::passing());
        let new = r#"{"seq":5,"mono_ns":1,"wall":"2026-12-01T15:03:21Z","type":"teleported","node":"x"}"#;
        all.insert(4, new.into());
        all.insert(7, new.into());
        all.insert(9, "\0\0not json".into());
        all.insert(9, r#"{"type":"note"}"#.into());
        all.insert(12, String::new());
        // a line of 10 MiB is read; one of more than any event is not kept
        let long = "x".repeat(10 << 20);
        all.insert(6, format!(r#"{{"seq":5,"mono_ns":1000000000,"wall":"2026-12-01T15:03:21Z","type":"output","index":1,"node":"","error":false,"line":"{long}"}}"#));
        let (dir, rebuilt) = of(&all.join("\n"));
        let doubts = rebuilt.expect("made").doubts;
        assert_eq!(doubts.len(), 3, "{doubts:?}");
        assert!(doubts[0].starts_with("2 events are of kinds that this version does not know"), "{doubts:?}");
        assert!(doubts[1].starts_with("2 events are damaged"), "{doubts:?}");
        assert!(doubts[2].starts_with("1 event is there twice or behind later ones"), "{doubts:?}");
        assert!(dir.path().join("report.html").is_file());
    }

    #[test]
    fn lines_that_are_lost_doubled_or_moved_are_noticed_by_their_numbers() {
        let all = lines(&Script::passing());
        let doubts = |all: Vec<String>| of(&(all.join("\n") + "\n")).1.expect("made").doubts;
        assert_eq!(doubts(all.clone()), [""; 0]);
        let lost = [&all[..4], &all[6..]].concat();
        assert_eq!(doubts(lost), ["2 events are missing by their numbers: what is shown is not all that was seen"]);
        let doubled = [&all[..5], &all[4..]].concat();
        assert_eq!(doubts(doubled), ["1 event is there twice or behind later ones: what is shown may be wrong"]);
    }

    #[test]
    fn another_format_is_refused_with_its_number() {
        let text = lines(&Script::passing()).join("\n").replace(&format!("\"format\":{FORMAT}"), "\"format\":99,\"later\":true");
        let (dir, rebuilt) = of(&text);
        let error = rebuilt.expect_err("refused").to_string();
        assert!(error.contains("is in format 99") && error.contains("(0.1.0)"), "{error}");
        assert_eq!(names(dir.path()), ["events.jsonl"], "nothing is written");
    }

    #[test]
    fn a_fifo_in_place_of_the_events_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        nix::unistd::mkfifo(&dir.path().join("events.jsonl"), nix::sys::stat::Mode::S_IRWXU).expect("made");
        let error = rebuild(dir.path(), None).expect_err("refused").to_string();
        assert!(error.contains("events.jsonl is no regular file"), "{error}");
    }

    #[test]
    fn no_case_is_written_outside_of_its_run() {
        for folder in ["../elsewhere", "/tmp/elsewhere", "a/../../b"] {
            let text = lines(&Script::passing()).join("\n").replace("\"folder\":\"\"", &format!("\"folder\":\"{folder}\""));
            let (dir, rebuilt) = of(&text);
            assert!(matches!(rebuilt, Err(RebuildError::Folder { .. })), "{folder}");
            assert_eq!(names(dir.path()), ["events.jsonl"]);
        }
        assert!(matches!(rebuild(Path::new("/no/such/folder"), None), Err(RebuildError::Read { .. })));
    }

    #[test]
    fn two_runs_are_compared_case_by_case() {
        let (a, _) = of(&lines(&Script::passing()).join("\n"));
        let (b, _) = of(&lines(&Script::failing()).join("\n"));
        let (many, _) = of(&lines(&Script::matrix()).join("\n"));
        assert_eq!(rebuild(a.path(), Some(b.path())).expect("made").page, a.path().join("compare.html"));
        assert_eq!(rebuild(many.path(), Some(many.path())).expect("made").page, many.path().join("01-case/compare.html"));
        assert!(many.path().join("03-case/compare.html").is_file());
        let none = rebuild(a.path(), Some(many.path()));
        assert!(matches!(none, Err(RebuildError::NothingInCommon { .. })), "{none:?}");
    }
}
