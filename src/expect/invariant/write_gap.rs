//! I6: while there is a quorum, writes are acknowledged. Judged by joinder's own clients; without their load it cannot be seen.

use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{CallEnd, ClientCall, Event, Op, Told};
use crate::sys::clock::{Stamp, human};

/// No acknowledgement of any voter for so long breaks it: an election that nobody asked for takes one to two seconds.
const BOUND: Duration = Duration::from_secs(5);
/// The same while the second voter comes: from its promotion on it is needed for each write.
const SECOND: Duration = Duration::from_secs(10);
/// After a member was away, or a fault, so much is an election's.
const SETTLE: Duration = Duration::from_secs(5);

/// The wait for the next acknowledgement.
#[derive(Default)]
pub(super) struct WriteGap {
    /// When the last acknowledgement came.
    last: Option<(Stamp, u64)>,
    /// When the first write behind it was sent: without a load nothing waits.
    waits: Option<Stamp>,
    /// When there was no quorum last.
    no_quorum: Option<Stamp>,
    voters: usize,
    /// When the second voter came.
    second: Option<Stamp>,
    acknowledged: u64,
    longest: (Duration, Vec<u64>),
}

impl Rule for WriteGap {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        if let Event::Etcd { .. } = &told.event {
            self.quorum(view);
        }
        let Event::Called { call } = &told.event else { return None };
        if call.op == Op::Write { self.call(call, told.seq, view) } else { None }
    }

    fn end(&self, _: &View) -> End {
        if self.acknowledged == 0 {
            return End::Unseen("no client's write was acknowledged".into());
        }
        let (longest, evidence) = &self.longest;
        End::Held(Shown::new(format!("{} writes, at most {} between two", self.acknowledged, human(*longest)), evidence.clone()))
    }
}

impl WriteGap {
    fn quorum(&mut self, view: &View) {
        let Some(list) = view.latest() else {
            self.no_quorum = Some(view.now);
            return;
        };
        let voters = list.value.iter().filter(|member| !member.learner).count();
        if self.voters == 1 && voters == 2 {
            self.second = Some(view.now);
        }
        self.voters = voters;
        let answers = view.voters().filter(|(.., status)| list.value.iter().any(|m| m.id == status.value.id && !m.learner)).count();
        if answers <= voters / 2 {
            self.no_quorum = Some(view.now);
        }
    }

    fn call(&mut self, call: &ClientCall, seq: u64, view: &View) -> Option<Shown> {
        let waits = self.waits.map_or(call.began, |waits| waits.min(call.began));
        self.waits = Some(waits);
        let calm = view.disturbed().map(|at| at.after(SETTLE));
        let from = [Some(waits), self.last.map(|(at, _)| at), calm, self.no_quorum].into_iter().flatten().max()?;
        let gap = call.ended.since(from);
        let evidence: Vec<u64> = self.last.map(|(_, seq)| seq).into_iter().chain([seq]).collect();
        if gap > self.longest.0 {
            self.longest = (gap, evidence.clone());
        }
        let second = self.second.is_some_and(|at| from.mono <= at.after(SETTLE).mono && at <= call.ended);
        let bound = if second { SECOND } else { BOUND };
        if gap > bound {
            let saw = format!("no write was acknowledged for {}, with {} voters", human(gap), self.voters);
            return Some(Shown::new(saw, evidence));
        }
        match call.end {
            CallEnd::Ok => {
                self.acknowledged += 1;
                (self.last, self.waits) = (Some((call.ended, seq)), None);
            }
            CallEnd::Failed { .. } | CallEnd::Unknown { .. } => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::WriteGap;

    /// Writes that are not acknowledged for so long, with looks in between.
    fn silent(mut tale: Tale, seconds: u64) -> Tale {
        for _ in 0..seconds {
            tale = tale.wait(1_000).looks(1, &[1, 2, 3]).looks(2, &[1, 2, 3]).looks(3, &[1, 2, 3]).writes(1, 1_000, false);
        }
        tale
    }

    #[test]
    fn writes_that_nobody_acknowledges_break_it() {
        let tale = Tale::of_three().writes(1, 10, true);
        let (verdict, saw) = silent(tale.clone(), 4).writes(1, 900, true).judged(ONE);
        assert_eq!((verdict, saw.as_str()), (Verdict::Pass, "2 writes, at most 4.0s between two"));
        let (verdict, saw) = silent(tale, 6).judged(ONE);
        assert_eq!((verdict, saw.as_str()), (Verdict::Fail, "no write was acknowledged for 6.0s, with 3 voters"));
    }

    #[test]
    fn a_load_that_pauses_a_lost_quorum_and_no_load_at_all_do_not() {
        let paused = Tale::of_three().writes(1, 10, true).wait(60_000).looks(1, &[1, 2, 3]).writes(1, 10, true);
        assert_eq!(paused.judged(ONE).0, Verdict::Pass);
        let mut lost = Tale::of_three().writes(1, 10, true).down(2).down(3);
        for _ in 0..20 {
            lost = lost.wait(1_000).looks(1, &[1, 2, 3]).writes(1, 1_000, false);
        }
        assert_eq!(lost.judged(ONE).0, Verdict::Pass);
        assert_eq!(Tale::of_three().judged(ONE).0, Verdict::Undecided);
    }

    #[test]
    fn the_second_voter_has_a_bound_of_its_own() {
        let tale = || Tale::new(2).looks(1, &[1]).writes(1, 10, true);
        let silent = |mut tale: Tale, seconds| {
            for _ in 0..seconds {
                tale = tale.wait(1_000).looks(1, &[1, 2]).looks(2, &[1, 2]).writes(1, 1_000, false);
            }
            tale.judged(ONE).0
        };
        let second = || tale().looks(2, &[1, 2]).looks(1, &[1, 2]);
        assert_eq!(silent(second(), 9), Verdict::Pass);
        assert_eq!(silent(second(), 12), Verdict::Fail);
    }
}
