//! I5: a member and the list of the others agree on whether it learns.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Told};
use crate::sys::clock::{Stamp, human};

/// A member that just became a voter answers as a learner until it has applied that itself.
const SPREAD: Duration = Duration::from_secs(5);

/// Since when each node's member says otherwise than the list.
#[derive(Default)]
pub(super) struct LearnerFlag {
    apart: BTreeMap<String, (Stamp, u64, u32)>,
    longest: Duration,
    agreed: u64,
    last: u64,
}

impl Rule for LearnerFlag {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        let Event::Etcd { node, sample } = &told.event else { return None };
        let entry = sample.status.as_ref().and_then(|status| {
            let list = view.latest()?;
            Some((status, list.value.iter().find(|member| member.id == status.id)?, list.seq))
        });
        let Some((status, member, list)) = entry else {
            self.apart.remove(node);
            return None;
        };
        if status.learner == member.learner {
            self.agreed += 1;
            self.last = told.seq;
            self.apart.remove(node);
            return None;
        }
        let (since, _, samples) = self.apart.entry(node.clone()).or_insert((sample.seen, told.seq, 0));
        *samples += 1;
        let age = sample.seen.since(*since);
        self.longest = self.longest.max(age);
        let word = |learner| if learner { "a learner" } else { "a voter" };
        (age >= SPREAD && *samples > 1 && view.is_calm(SPREAD)).then(|| {
            let saw =
                format!("for {} {node} takes itself for {}, and the list has {}", human(age), word(status.learner), word(member.learner));
            Shown::new(saw, [told.seq, list])
        })
    }

    fn end(&self, _: &View) -> End {
        if self.agreed == 0 {
            return End::Unseen("no member was seen beside a list that holds it".into());
        }
        let apart = if self.longest.is_zero() { String::new() } else { format!(", apart for {} at the longest", human(self.longest)) };
        End::Held(Shown::new(format!("agreed {} times{apart}", self.agreed), [self.last]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::LearnerFlag;

    #[test]
    fn a_voter_that_stays_a_learner_to_itself_breaks_it_and_one_that_is_late_does_not() {
        let mut tale = Tale::of_three();
        for _ in 0..5 {
            tale = tale.looks(1, &[1, 2, 3]).learns(3).wait(980);
        }
        let late = tale.clone().looks(3, &[1, 2, 3]).looks(1, &[1, 2, 3]);
        let (verdict, saw) = late.judged(ONE);
        assert_eq!((verdict, saw.ends_with("apart for 3.9s at the longest")), (Verdict::Pass, true), "{saw}");
        let (verdict, saw) = tale.looks(1, &[1, 2, 3]).wait(200).learns(3).judged(ONE);
        assert_eq!((verdict, saw.as_str()), (Verdict::Fail, "for 5.1s cp-3 takes itself for a learner, and the list has a voter"));
    }
}
