//! The cases of an earlier run that failed or were undecided, from its events.

use std::collections::BTreeMap;
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
}

/// Those of the run in `dir`, in its order. A case without an end was killed, and counts.
///
/// # Errors
/// When the events cannot be used.
pub fn unlucky(dir: &Path) -> Result<Vec<Unlucky>, RebuildError> {
    let mut open = BTreeMap::new();
    let mut bad = None;
    each(dir, |told| {
        hear(told, &mut open);
        if let Event::RunFinished { exit, .. } = &told.event {
            // a case that failed, or was undecided
            bad = Some(*exit).filter(|exit| [100, 102].contains(exit));
        }
    })?;
    match bad {
        Some(exit) if open.is_empty() => Err(RebuildError::NotWhole { path: dir.join("events.jsonl"), exit }),
        Some(_) | None => Ok(open.into_values().collect()),
    }
}

fn hear(told: &Told, open: &mut BTreeMap<usize, Unlucky>) {
    if let Event::CaseStarted { index, case, file, choice, seed, vars, .. } = &told.event {
        open.insert(*index, Unlucky { name: case.clone(), file: file.clone(), choice: choice.clone(), seed: *seed, vars: vars.clone() });
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
        let found = unlucky(dir.path()).expect("read").into_iter().map(|case| (case.choice[0].1.clone(), case.seed));
        assert_eq!(found.collect::<Vec<_>>(), [("parallel".to_owned(), 7), ("it's all".to_owned(), 7)]);
        assert!(unlucky(&dir.path().join("no-such-run")).is_err());
        let failing = Script::failing().told.into_iter().filter(|told| !matches!(told.event, Event::CaseStarted { .. }));
        let lost: Vec<String> = failing.map(|told| serde_json::to_string(&told).expect("JSON")).collect();
        std::fs::write(dir.path().join("events.jsonl"), lost.join("\n") + "\n").expect("written");
        let why = unlucky(dir.path()).expect_err("what failed is lost").to_string();
        assert!(why.contains("exit code 100, and tells of no case that failed"), "{why}");
    }
}
