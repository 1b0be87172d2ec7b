//! The cases of an earlier run that failed or were undecided, from its events.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::rebuild::{RebuildError, each};
use crate::event::{Event, Told};

/// A case to be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlucky {
    /// Its name.
    pub name: String,
    /// Its file, as it was named then; empty where no file made it.
    pub file: String,
    /// Its choice of the matrix.
    pub choice: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// Values that the command line gave.
    pub vars: Vec<(String, String)>,
    /// The command that runs it again.
    pub repeat: String,
}

/// Those of the run in `dir`, in its order, and what a reader should know of the events. A case without an end was killed, and counts.
///
/// # Errors
/// When the events cannot be used, or tell of nothing that failed and are not whole.
pub fn unlucky(dir: &Path) -> Result<(Vec<Unlucky>, Vec<String>), RebuildError> {
    let path = || dir.join("events.jsonl");
    let mut open = BTreeMap::new();
    let (mut ended, mut began, mut of) = (None, BTreeSet::new(), 0);
    let doubts = each(dir, |told| {
        hear(told, &mut open);
        if let Event::RunFinished { exit, .. } = &told.event {
            ended = Some(*exit);
        } else if let Event::CaseStarted { index, of: all, .. } = &told.event {
            began.insert(*index);
            of = *all;
        }
    })?;
    let mut doubts = doubts.words(ended.is_some());
    // it stops at the first that fails where it was told to
    let missing = of.saturating_sub(began.len());
    if missing > 0 {
        doubts.push(format!("of {of} cases {missing} never began"));
    }
    // a case that failed, or was undecided
    let bad = ended.filter(|exit| [100, 102].contains(exit));
    match bad {
        Some(exit) if open.is_empty() => Err(RebuildError::NotWhole { path: path(), exit }),
        None if open.is_empty() && !doubts.is_empty() => Err(RebuildError::Doubtful { path: path(), doubts }),
        Some(_) | None => Ok((open.into_values().collect(), doubts)),
    }
}

fn hear(told: &Told, open: &mut BTreeMap<usize, Unlucky>) {
    if let Event::CaseStarted { index, case, file, choice, seed, vars, repeat, .. } = &told.event {
        let (name, file, choice) = (case.clone(), file.clone(), choice.clone());
        open.insert(*index, Unlucky { name, file, choice, seed: *seed, vars: vars.clone(), repeat: repeat.clone() });
    } else if let Event::CaseFinished { index, failed: None, undecided: false, .. } = &told.event {
        open.remove(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::script::Script;

    #[test]
    fn what_failed_and_what_has_no_end_is_run_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let script = Script::matrix();
        let lines: Vec<String> = script.told.iter().map(|told| serde_json::to_string(told).expect("JSON")).collect();
        std::fs::write(dir.path().join("events.jsonl"), lines.join("\n") + "\n").expect("written");
        let found = unlucky(dir.path()).expect("read").0.into_iter().map(|case| (case.choice[0].1.clone(), case.seed));
        assert_eq!(found.collect::<Vec<_>>(), [("parallel".to_owned(), 7), ("it's all".to_owned(), 7)]);
        assert!(unlucky(&dir.path().join("no-such-run")).is_err());
        let failing = Script::failing().told.into_iter().filter(|told| !matches!(told.event, Event::CaseStarted { .. }));
        let lost: Vec<String> = failing.map(|told| serde_json::to_string(&told).expect("JSON")).collect();
        std::fs::write(dir.path().join("events.jsonl"), lost.join("\n") + "\n").expect("written");
        let why = unlucky(dir.path()).expect_err("what failed is lost").to_string();
        assert!(why.contains("exit code 100, and tells of no case that failed"), "{why}");
        // a run that was stopped behind its first case, which passed
        let first = Script::matrix().told.into_iter().take_while(|told| !matches!(told.event, Event::CaseStarted { index: 2, .. }));
        let stopped: Vec<String> = first.map(|told| serde_json::to_string(&told).expect("JSON")).collect();
        std::fs::write(dir.path().join("events.jsonl"), stopped.join("\n") + "\n").expect("written");
        let why = unlucky(dir.path()).expect_err("the others may have failed").to_string();
        assert!(why.contains("the run has no end") && why.contains("never began"), "{why}");
    }
}
