//! I2: each voter holds the same member list, once a change has had its time to reach all.

use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::{Held, View, names};
use crate::event::{Event, Member, MemberStatus, Told};
use crate::sys::clock::human;

/// A change reaches a member with its next entries; on a busy machine that has taken more than a second. Behind it two lists stand
/// against each other, each in two samples at least.
const SPREAD: Duration = Duration::from_secs(3);
/// After a fault, or a member that was away, so long again.
const SETTLE: Duration = Duration::from_secs(5);

/// How far apart lists were.
#[derive(Default)]
pub(super) struct SameList {
    compared: u64,
    most: usize,
    longest: Duration,
    last: Vec<u64>,
}

type Voter<'a> = (&'a str, &'a Held<Vec<Member>>, &'a Held<MemberStatus>);

impl Rule for SameList {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        let Event::Etcd { node, .. } = &told.event else { return None };
        let voters: Vec<Voter<'_>> = view.voters().collect();
        let one = voters.iter().find(|(name, ..)| name == node)?;
        self.most = self.most.max(voters.len());
        for other in voters.iter().filter(|other| other.0 != one.0 && know_each_other(one, other)) {
            let (a, b) = (one.1, other.1);
            if a.value == b.value {
                self.compared += 1;
                self.last = vec![a.seq, b.seq];
                continue;
            }
            // as long as both were seen to hold theirs
            let apart = a.last.min(b.last).since(a.since.max(b.since));
            self.longest = self.longest.max(apart);
            if apart >= SPREAD && a.samples > 1 && b.samples > 1 && view.is_calm(SETTLE) {
                let saw = format!("for {} {} holds {}, and {} holds {}", human(apart), one.0, names(&a.value), other.0, names(&b.value));
                return Some(Shown::new(saw, [a.seq, b.seq]));
            }
        }
        None
    }

    fn end(&self, view: &View) -> End {
        if self.compared == 0 {
            return view.one_voter().unwrap_or_else(|| End::Unseen("there were never two voters that gave their lists".into()));
        }
        let apart = if self.longest.is_zero() { String::new() } else { format!(", apart for {} at the longest", human(self.longest)) };
        End::Held(Shown::new(format!("the same list {} times, on up to {} voters{apart}", self.compared, self.most), self.last.clone()))
    }
}

/// Whoever was removed may not know it; what the others hold is none of its business any more.
fn know_each_other(a: &Voter<'_>, b: &Voter<'_>) -> bool {
    let holds = |a: &Voter<'_>, b: &Voter<'_>| a.1.value.iter().any(|member| member.id == b.2.value.id && !member.learner);
    holds(a, b) && holds(b, a)
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::{FaultMoment, Verdict};
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::SameList;

    #[test]
    fn a_list_that_stays_another_breaks_it() {
        let mut tale = Tale::of_three();
        for _ in 0..5 {
            tale = tale.wait(1_000).looks(1, &[1, 2, 3]).looks(2, &[1, 2]).looks(3, &[1, 2, 3]);
        }
        let (verdict, saw) = tale.judged(ONE);
        assert_eq!(verdict, Verdict::Fail);
        assert_eq!(saw, "for 3.0s cp-2 holds cp-1, cp-2, and cp-1 holds cp-1, cp-2, cp-3");
    }

    #[test]
    fn a_list_that_is_late_and_a_removed_member_that_still_speaks_do_not() {
        let mut late = Tale::of_three();
        for _ in 0..3 {
            late = late.wait(900).looks(1, &[1, 2]).looks(2, &[1, 2, 3]);
        }
        let late = late.wait(100).looks(2, &[1, 2]);
        let (verdict, saw) = late.judged(ONE);
        assert_eq!((verdict, saw.contains("apart for 1.8s")), (Verdict::Pass, true), "{saw}");
        let mut removed = Tale::of_three();
        for _ in 0..6 {
            removed = removed.wait(1_000).looks(1, &[1, 2]).looks(2, &[1, 2]).looks(3, &[1, 2, 3]);
        }
        assert_eq!(removed.judged(ONE).0, Verdict::Pass);
        let apart = |mut tale: Tale, rounds| {
            for _ in 0..rounds {
                tale = tale.wait(1_000).looks(1, &[1, 2, 3]).looks(2, &[1, 2]).looks(3, &[1, 2, 3]);
            }
            tale
        };
        let cut = apart(Tale::of_three().fault(FaultMoment::Bit { proof: "12 packets".into() }), 20).fault(FaultMoment::Healed);
        assert_eq!(apart(cut.clone(), 4).looks(2, &[1, 2, 3]).judged(ONE).0, Verdict::Pass, "who is cut off hears of no change");
        assert_eq!(apart(cut, 6).judged(ONE).0, Verdict::Fail, "it had its time");
        assert_eq!(Tale::new(1).looks(1, &[1]).judged(ONE).0, Verdict::NotApplicable, "one voter alone");
    }
}
