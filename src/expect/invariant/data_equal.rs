//! I10: all voters hold the same data: at one revision, and with the same revision compacted, one hash.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Notice, Told};

/// So many revisions are kept.
const REVISIONS: usize = 16;

/// A node, its hash, and the event that shows it.
type Answer = (String, u32, u64);

/// What nodes said of each revision, and with which one compacted.
#[derive(Default)]
pub(super) struct DataEqual {
    said: BTreeMap<(u64, u64), Vec<Answer>>,
    /// Pairs whose hashes differed the last time: a compaction that was under way shows in one round only.
    doubt: BTreeSet<(String, String)>,
    equal: u64,
    revision: u64,
    last: Vec<u64>,
}

impl Rule for DataEqual {
    fn hear(&mut self, told: &Told, _: &View) -> Option<Shown> {
        if let Event::KubeadmStarted { argv, .. } = &told.event
            && argv.get(1).is_some_and(|command| command == "init")
        {
            self.said.clear();
        }
        let Event::Noticed { node, notice: Notice::DataHash { revision, compacted, hash, .. }, .. } = &told.event else { return None };
        let said = self.said.entry((*revision, *compacted)).or_default();
        // where nobody writes the next round is about the same revision
        if said.iter().any(|(other, ..)| other == node) {
            said.clear();
        }
        for (other, theirs, seq) in said.iter().filter(|(other, ..)| other != node) {
            let pair = if other < node { (other.clone(), node.clone()) } else { (node.clone(), other.clone()) };
            if theirs == hash {
                self.doubt.remove(&pair);
                self.equal += 1;
                (self.revision, self.last) = (*revision, vec![*seq, told.seq]);
            } else if !self.doubt.insert(pair) {
                let saw = format!("at revision {revision}, for the second time, {other} has hash {theirs:08x} and {node} {hash:08x}");
                return Some(Shown::new(saw, [*seq, told.seq]));
            }
        }
        said.push((node.clone(), *hash, told.seq));
        while self.said.len() > REVISIONS {
            self.said.pop_first();
        }
        None
    }

    fn end(&self, view: &View) -> End {
        match (self.equal, self.doubt.iter().next()) {
            (_, Some((a, b))) => End::Unseen(format!("{a} and {b} differed in the last round, and were not asked again")),
            (0, None) => view.one_voter().unwrap_or_else(|| End::Unseen("no two voters told the hash of one revision".into())),
            (equal, None) => {
                End::Held(Shown::new(format!("equal {equal} times, at last at revision {}", self.revision), self.last.clone()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::DataEqual;

    #[test]
    fn two_hashes_of_one_revision_break_it_the_second_time() {
        let equal = Tale::of_three().hash(1, 100, 10, 7).hash(2, 100, 10, 7).hash(3, 100, 10, 7);
        assert_eq!(equal.clone().judged(ONE), (Verdict::Pass, "equal 3 times, at last at revision 100".into()));
        let once = equal.hash(1, 200, 10, 8).hash(2, 200, 10, 9);
        assert_eq!(once.clone().judged(ONE).0, Verdict::Undecided, "a compaction may have been under way");
        assert_eq!(once.clone().hash(1, 300, 10, 5).hash(2, 300, 10, 5).judged(ONE).0, Verdict::Pass);
        let (verdict, saw) = once.hash(1, 300, 10, 5).hash(2, 300, 10, 6).judged(ONE);
        assert_eq!(verdict, Verdict::Fail);
        assert_eq!(saw, "at revision 300, for the second time, cp-1 has hash 00000005 and cp-2 00000006");
    }

    #[test]
    fn where_nobody_writes_each_round_is_compared_in_itself() {
        let round = |tale: Tale, hash| tale.hash(1, 100, 10, hash).hash(2, 100, 10, hash);
        let settled = round(Tale::of_three().hash(1, 100, 10, 7).hash(2, 100, 10, 8), 9);
        assert_eq!(settled.judged(ONE).0, Verdict::Pass, "the first answer of a round is not held against the last one of another");
        let twice = Tale::of_three().hash(1, 100, 10, 7).hash(2, 100, 10, 8).hash(1, 100, 10, 7).hash(2, 100, 10, 8);
        assert_eq!(twice.judged(ONE).0, Verdict::Fail);
    }

    #[test]
    fn other_revisions_and_other_compactions_are_not_compared() {
        let tale = Tale::of_three().hash(1, 100, 10, 7).hash(2, 101, 10, 8).hash(3, 100, 50, 9);
        assert_eq!(tale.judged(ONE).0, Verdict::Undecided);
    }
}
