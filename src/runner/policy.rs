//! What follows from how a task ended. Applied after the outcome is known, and recorded beside it.

use crate::event::{Judgement, Outcome, Verdict};

/// Does this make the run fail? `ignoreError` covers every way in which a task can fail, also a command that could not be
/// started and a limit that passed; kinder's covers only an exit code that is not 0.
pub(super) fn counts(outcome: &Outcome, judgements: &[Judgement], ignore_error: bool) -> bool {
    let failed = match outcome {
        Outcome::Passed | Outcome::Skipped { .. } | Outcome::Stopped => false,
        Outcome::Failed { .. } | Outcome::NotStarted { .. } | Outcome::TimedOut { .. } => true,
    };
    !ignore_error && (failed || judgements.iter().any(|j| j.verdict == Verdict::Fail))
}

/// Does this leave the run undecided?
pub(super) fn undecided(judgements: &[Judgement], ignore_error: bool) -> bool {
    !ignore_error && judgements.iter().any(|j| j.verdict == Verdict::Undecided)
}

/// What becomes of a task before it is started.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It runs.
    Run,
    /// It is not its turn any more, or never is here: why.
    Skip(String),
}

/// A forced task always runs; another one only while nothing failed and nobody stopped the run.
pub(super) fn turn(force: bool, ended_by: Option<&str>, stopped: bool) -> Turn {
    if force {
        return Turn::Run;
    }
    match ended_by {
        Some(why) => Turn::Skip(why.to_owned()),
        None if stopped => Turn::Skip("the run was stopped".into()),
        None => Turn::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_verdict_counts_like_a_failed_step_unless_ignored() {
        let fail =
            Judgement { name: "members".into(), verdict: Verdict::Fail, wanted: String::new(), saw: String::new(), evidence: vec![] };
        assert!(counts(&Outcome::Passed, std::slice::from_ref(&fail), false));
        assert!(!counts(&Outcome::Passed, &[fail], true));
        assert!(counts(&Outcome::Failed { reason: String::new() }, &[], false));
        assert!(!counts(&Outcome::Stopped, &[], false), "the exit code tells of the stop");
    }

    #[test]
    fn cleanup_runs_after_a_failure_and_after_a_stop() {
        assert_eq!(turn(true, Some("task \"join\" failed"), true), Turn::Run);
        assert_ne!(turn(false, Some("task \"join\" failed"), false), Turn::Run);
        assert_ne!(turn(false, None, true), Turn::Run);
        assert_eq!(turn(false, None, false), Turn::Run);
    }
}
