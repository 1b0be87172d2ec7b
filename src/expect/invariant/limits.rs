//! I11: each task ends by itself inside its limit. One whose failure is ignored, or known, is not held to it.

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Outcome, Told};
use crate::sys::clock::human;

/// How many tasks ended.
#[derive(Default)]
pub(super) struct Limits {
    ended: u64,
    last: u64,
}

impl Rule for Limits {
    fn hear(&mut self, told: &Told, _: &View) -> Option<Shown> {
        let Event::TaskFinished { name, outcome, counts, .. } = &told.event else { return None };
        match outcome {
            Outcome::TimedOut { limit } if *counts => {
                Some(Shown::new(format!("task {name:?} was ended at its limit of {}", human(*limit)), [told.seq]))
            }
            Outcome::Skipped { .. } => None,
            Outcome::TimedOut { .. } | Outcome::Passed | Outcome::Failed { .. } | Outcome::NotStarted { .. } | Outcome::Stopped => {
                (self.ended, self.last) = (self.ended + 1, told.seq);
                None
            }
        }
    }

    fn end(&self, _: &View) -> End {
        match self.ended {
            0 => End::Unseen("no task ended".into()),
            ended => End::Held(Shown::new(format!("{ended} tasks ended, none that counts at its limit"), [self.last])),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tale::Tale;
    use crate::event::{Outcome, Verdict};
    use crate::spec::Invariant;

    #[test]
    fn a_task_that_had_to_be_ended_breaks_it_unless_that_is_ignored() {
        let late = || Outcome::TimedOut { limit: Duration::from_mins(5) };
        let judged = |outcome, counts| Tale::new(1).task("join", outcome, counts).judged(Invariant::Limits);
        assert_eq!(judged(late(), true), (Verdict::Fail, "task \"join\" was ended at its limit of 5m00s".into()));
        assert_eq!(judged(late(), false).0, Verdict::Pass);
        assert_eq!(judged(Outcome::Failed { reason: "x".into() }, true).0, Verdict::Pass);
        assert_eq!(Tale::new(1).judged(Invariant::Limits).0, Verdict::Undecided);
    }
}
