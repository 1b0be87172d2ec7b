//! The files that a run leaves beside its events.

use std::io;
use std::path::{Path, PathBuf};

use super::jsonl::Artifacts;
use super::logs::Logs;
use super::model::{Case, Run};
use super::page::{self, History, Notes};
use super::{junit, trace};
use crate::event::{Event, Told};

/// The artifacts and what is written beside the events.
pub(super) struct Files {
    artifacts: Artifacts,
    logs: Logs,
    pages: Pages,
}

/// What the page of each case is drawn from: all of the case that is on, and of the one before it, which is drawn once more when
/// the run's end is known.
#[derive(Default)]
pub(super) struct Pages {
    history: Option<History>,
    /// What was told since the last case.
    between: Notes,
    /// The cases before, where they are asked for.
    kept: Option<Vec<History>>,
}

impl Files {
    pub(super) fn new(artifacts: Artifacts) -> Self {
        Self { logs: Logs::new(artifacts.dir()), artifacts, pages: Pages::default() }
    }

    /// Writes what an event brings; `run` knows of it already, and `ended` is the case that it ended.
    pub(super) fn keep(&mut self, told: &Told, run: &Run, ended: Option<usize>) {
        self.artifacts.keep(told);
        // Before the case that is on: both may lie in one folder.
        if let Some(case) = ended.and_then(|at| run.done.get(at)) {
            self.artifacts.put(&Path::new(&case.folder).join(junit::FILE), junit::xml(case, told.at));
        }
        for (path, bytes) in self.pages.hear(told, run, ended) {
            self.artifacts.put(&path, bytes);
        }
        if let Some(case) = &run.case {
            if junit::changes(&told.event) {
                self.artifacts.put(&Path::new(&case.folder).join(junit::FILE), junit::xml(case, told.at));
            }
            let written = self.logs.hear(told, case);
            self.artifacts.note(written);
        }
        if let (Event::RunFinished { exit, took }, true) = (&told.event, run.done.is_empty()) {
            self.artifacts.put(Path::new(junit::FILE), junit::without_case(*exit, *took));
        }
    }

    /// Where all is, or why something is missing.
    pub(super) fn finish(&mut self, run: &Run) -> Result<PathBuf, String> {
        for (path, bytes) in self.pages.finish(run) {
            self.artifacts.put(&path, bytes);
        }
        self.artifacts.finish()
    }
}

/// A file below the run's folder, and what is to be in it.
pub(super) type Drawn = (PathBuf, io::Result<Vec<u8>>);

impl Pages {
    /// Keeps the history of each case, if `all`.
    pub(super) fn keeping(all: bool) -> Self {
        Self { kept: all.then(Vec::new), ..Self::default() }
    }

    /// Takes an event in; returns the files that are to be written now.
    pub(super) fn hear(&mut self, told: &Told, run: &Run, ended: Option<usize>) -> Vec<Drawn> {
        let mut files = Vec::new();
        // The event that ends a case belongs to it, but for the one that begins the next.
        let begins = matches!(told.event, Event::CaseStarted { .. });
        match &mut self.history {
            Some(history) if !begins && (run.case.is_some() || ended.is_some()) => history.hear(told),
            Some(_) | None => self.between.hear(told),
        }
        if let Some((case, history)) = ended.and_then(|at| run.done.get(at)).zip(self.history.as_ref()) {
            files = drawn(run, case, history);
        }
        if begins {
            // What a terminal shows are times since the run began; of several cases each begins at zero.
            let zero = run.case.as_ref().filter(|case| case.of > 1).map(|case| case.began).or(run.began).unwrap_or(told.at);
            let new = Some(History::new(zero, told.at, std::mem::take(&mut self.between)));
            let old = std::mem::replace(&mut self.history, new);
            if let Some(kept) = &mut self.kept {
                kept.extend(old);
            }
        }
        files
    }

    /// The files that tell of the whole run.
    pub(super) fn finish(&self, run: &Run) -> Vec<Drawn> {
        let mut files = Vec::new();
        if let Some((case, history)) = run.cases().last().zip(self.history.as_ref()) {
            files.extend(drawn(run, case, history));
        }
        if run.cases().any(|case| case.of > 1) {
            files.push((page::INDEX.into(), page::index(run)));
        }
        files
    }

    /// Of all cases that were kept, and the last one.
    pub(super) fn histories(&self) -> impl Iterator<Item = &History> {
        self.kept.iter().flatten().chain(&self.history)
    }
}

fn drawn(run: &Run, case: &Case, history: &History) -> Vec<Drawn> {
    let folder = Path::new(&case.folder);
    vec![(folder.join(page::FILE), page::page(&page::view(run, case, history))), (folder.join(trace::FILE), trace::json(case, history))]
}
