//! I4: no more learners than etcd lets in. etcd keeps to it itself; what is worth knowing is how long the slot was held.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::{View, names};
use crate::event::{Event, MemberId, Moment, Told};
use crate::sys::clock::{Stamp, human};

/// So many slots are told one by one.
const MOST: usize = 12;

/// Who held the slot, and for how long.
pub(super) struct LearnerLimit {
    /// How many etcd lets in: its `--max-learners`.
    limit: usize,
    looked: bool,
    open: BTreeMap<MemberId, (Stamp, u64)>,
    held: Vec<(String, Duration, u64)>,
    more: usize,
}

impl Rule for LearnerLimit {
    fn hear(&mut self, told: &Told, _: &View) -> Option<Shown> {
        if let Event::Member { id, name, moment, seen } = &told.event {
            self.moment(*id, name, *moment, *seen, told.seq);
        }
        let Event::Etcd { node, sample } = &told.event else { return None };
        let list = sample.members.as_ref()?;
        self.looked = true;
        let learners = list.iter().filter(|member| member.learner).count();
        (learners > self.limit).then(|| Shown::new(format!("{learners} learners in the list of {node}: {}", names(list)), [told.seq]))
    }

    fn end(&self, _: &View) -> End {
        if !self.looked {
            return End::Unseen("no voter gave its list".into());
        }
        let each: Vec<String> = self.held.iter().map(|(who, took, _)| format!("{who} {}", human(*took))).collect();
        let more = if self.more > 0 { format!(", and {} more", self.more) } else { String::new() };
        let saw = if each.is_empty() { "nobody learned".to_owned() } else { format!("the slot was held by {}{more}", each.join(", ")) };
        End::Held(Shown::new(saw, self.held.iter().map(|(.., seq)| *seq).collect::<Vec<_>>()))
    }
}

impl LearnerLimit {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, looked: false, open: BTreeMap::new(), held: Vec::new(), more: 0 }
    }

    fn moment(&mut self, id: MemberId, name: &str, moment: Moment, seen: Stamp, seq: u64) {
        match moment {
            Moment::Announced => drop(self.open.insert(id, (seen, seq))),
            Moment::Promoted | Moment::Removed => {
                let Some((since, _)) = self.open.remove(&id) else { return };
                let who = if name.is_empty() { format!("member {id}") } else { name.to_owned() };
                if self.held.len() < MOST {
                    self.held.push((who, seen.since(since), seq));
                } else {
                    self.more += 1;
                }
            }
            Moment::Founded | Moment::Started | Moment::PeerActive | Moment::CaughtUp | Moment::GatePassed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::{Moment, Verdict};
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::LearnerLimit;

    #[test]
    fn two_learners_break_it_and_one_after_the_other_does_not() {
        let one = Tale::new(3).adds(1, 2).moment(2, Moment::Announced).wait(3_000).looks(1, &[1, 2]).moment(2, Moment::Promoted);
        let (verdict, saw) = one.clone().adds(1, 3).moment(3, Moment::Announced).judged(ONE);
        assert_eq!((verdict, saw.as_str()), (Verdict::Pass, "the slot was held by cp-2 3.0s"));
        let (verdict, saw) = one.learners(1, &[2, 3]).judged(ONE);
        assert_eq!((verdict, saw.as_str()), (Verdict::Fail, "2 learners in the list of cp-1: cp-1, 2 (learner), 3 (learner)"));
        assert_eq!(Tale::new(1).judged(ONE).0, Verdict::Undecided);
        let two = || Tale::new(4).learners(1, &[2, 3]);
        assert_eq!(two().judged_with(ONE, 2).0, Verdict::Pass, "etcd's own limit is another");
        assert_eq!(two().learners(1, &[2, 3, 4]).judged_with(ONE, 2).0, Verdict::Fail);
    }
}
