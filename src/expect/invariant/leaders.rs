//! No term has two leaders, and the leader changes only where something explains it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{EtcdSample, Event, MemberId, Told};
use crate::sys::clock::{Stamp, human};

/// etcd answers with its leader and its term from two places, and the term follows with the first entry of it: a pair of them counts
/// when a member has said it for so long.
const SURE: Duration = Duration::from_secs(3);
/// A change has its cause so long before it: the election timeout is 1 s, and a few of them may split.
const BEFORE: Duration = Duration::from_secs(15);
/// So many terms are kept.
const TERMS: usize = 64;

/// A member's word on who leads.
fn claim(sample: &EtcdSample) -> Option<(u64, MemberId)> {
    let status = sample.status.as_ref().filter(|status| status.leader != MemberId(0))?;
    Some((status.term, status.leader))
}

fn is_init(event: &Event) -> bool {
    matches!(event, Event::KubeadmStarted { argv, .. } if argv.get(1).is_some_and(|command| command == "init"))
}

/// Who leads in each term, and the event that shows it.
#[derive(Default)]
pub(super) struct OneLeader {
    terms: BTreeMap<u64, (MemberId, String, u64)>,
}

impl Rule for OneLeader {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        if is_init(&told.event) {
            self.terms.clear();
        }
        let Event::Etcd { node, sample } = &told.event else { return None };
        let (term, leader) = claim(sample)?;
        let status = view.nodes.get(node)?.status.as_ref()?;
        if status.last.since(status.since) < SURE || status.samples < 2 {
            return None;
        }
        let (first, who, seq) = self.terms.entry(term).or_insert_with(|| (leader, node.clone(), told.seq));
        if *first != leader {
            let saw = format!("in term {term} {who} follows {first}, and {node} {leader}");
            return Some(Shown::new(saw, [*seq, told.seq]));
        }
        while self.terms.len() > TERMS {
            self.terms.pop_first();
        }
        None
    }

    fn end(&self, view: &View) -> End {
        if self.terms.is_empty() {
            // a voter without others leads each term that there is
            return view.one_voter().unwrap_or_else(|| End::Unseen(format!("no member named a leader for {}", human(SURE))));
        }
        let terms: Vec<String> = self.terms.iter().map(|(term, (leader, ..))| format!("{leader} in term {term}")).collect();
        End::Held(Shown::new(terms.join(", "), self.terms.values().map(|(.., seq)| *seq).collect::<Vec<_>>()))
    }
}

/// The highest term, and changes that nothing explains.
#[derive(Default)]
pub(super) struct StableLeader {
    term: Option<u64>,
    changes: usize,
    /// A change whose cause may yet be seen.
    open: Vec<(Stamp, String, u64)>,
    unexplained: Vec<(String, u64)>,
    last: Vec<u64>,
}

impl Rule for StableLeader {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        if is_init(&told.event) {
            *self = Self::default();
        }
        let Event::Etcd { node, sample } = &told.event else { return None };
        self.settle(view, sample.seen);
        if self.unexplained.len() > view.joins {
            let each: Vec<&str> = self.unexplained.iter().map(|(what, _)| what.as_str()).collect();
            let joins = if view.has_kubeadm { "joins" } else { "members added or promoted" };
            let saw = format!("{}; nothing explains it, with {} {joins} so far", each.join(", "), view.joins);
            return Some(Shown::new(saw, self.unexplained.iter().map(|(_, seq)| *seq).collect::<Vec<_>>()));
        }
        let (term, leader) = claim(sample).filter(|_| sample.status.as_ref().is_some_and(|status| !status.learner))?;
        if self.term.is_none_or(|highest| term > highest) {
            if let Some(before) = self.term.replace(term) {
                self.changes += 1;
                self.open.push((sample.seen, format!("{leader} led in term {term}, after term {before}, as {node} says"), told.seq));
            }
            self.last = vec![told.seq];
        }
        None
    }

    fn end(&self, view: &View) -> End {
        if self.term.is_none() {
            return End::Unseen("no voter named a leader".into());
        }
        let open: Vec<&(Stamp, String, u64)> = self.open.iter().filter(|(at, ..)| !explained(*at, view)).collect();
        let without = self.unexplained.len() + open.len();
        if without > view.joins {
            let each = self.unexplained.iter().map(|(what, _)| what.clone()).chain(open.iter().map(|(_, what, _)| what.clone()));
            return End::Broken(Shown::new(each.collect::<Vec<_>>().join(", "), self.last.clone()));
        }
        let words = match self.changes {
            0 => "one leader all the time".to_owned(),
            n => format!("{n} changes, {without} without a cause that was seen"),
        };
        End::Held(Shown::new(words, self.last.clone()))
    }
}

impl StableLeader {
    /// Changes whose causes would have been seen by now.
    fn settle(&mut self, view: &View, now: Stamp) {
        let (due, open) = std::mem::take(&mut self.open).into_iter().partition(|(at, ..)| now.since(*at) >= SURE);
        self.open = open;
        let due: Vec<(Stamp, String, u64)> = due;
        self.unexplained.extend(due.into_iter().filter(|(at, ..)| !explained(*at, view)).map(|(_, what, seq)| (what, seq)));
    }
}

fn explained(at: Stamp, view: &View) -> bool {
    view.shaken().is_some_and(|disturbed| disturbed.mono >= at.mono || at.since(disturbed) <= BEFORE)
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::{Moment, Verdict};
    use crate::spec::Invariant;

    fn time(mut tale: Tale, seconds: u64) -> Tale {
        for _ in 0..seconds {
            tale = tale.wait(1_000).looks(1, &[1, 2, 3]).looks(2, &[1, 2, 3]).looks(3, &[1, 2, 3]);
        }
        tale
    }

    #[test]
    fn two_leaders_of_one_term_break_it_and_a_torn_answer_does_not() {
        let tale = time(Tale::of_three(), 5);
        // the leader is the new one, the term still the old one
        let torn = time(tale.clone().leads(2, 7, 3).looks(2, &[1, 2, 3]).wait(900).leads(2, 8, 3).leads(1, 8, 3).leads(3, 8, 3), 5);
        assert_eq!(torn.judged(Invariant::OneLeader), (Verdict::Pass, "1 in term 7, 3 in term 8".to_owned()));
        let (verdict, saw) = time(tale.leads(2, 7, 3), 5).judged(Invariant::OneLeader);
        assert_eq!((verdict, saw.as_str()), (Verdict::Fail, "in term 7 cp-1 follows 1, and cp-2 3"));
        assert_eq!(Tale::new(1).judged(Invariant::OneLeader).0, Verdict::Undecided);
        assert_eq!(Tale::of_three().judged(Invariant::OneLeader).0, Verdict::Undecided, "it could have been seen");
        let only = Tale::new(1).leads(1, 2, 1).looks(1, &[1]).judged(Invariant::OneLeader);
        assert_eq!(only, (Verdict::NotApplicable, "there was one voter all the time".into()));
    }

    #[test]
    fn a_change_is_explained_by_a_member_that_went_and_once_by_each_join() {
        const ONE: Invariant = Invariant::StableLeader;
        let all = |tale: Tale, term, leader| tale.leads(1, term, leader).leads(2, term, leader).leads(3, term, leader);
        let (verdict, saw) = time(all(Tale::of_three(), 8, 2), 5).judged(ONE);
        assert_eq!(
            (verdict, saw.as_str()),
            (Verdict::Fail, "2 led in term 8, after term 7, as cp-1 says; nothing explains it, with 0 members added or promoted so far")
        );
        let gone = time(all(Tale::of_three().down(1), 9, 2), 5);
        assert_eq!(gone.judged(ONE), (Verdict::Pass, "1 changes, 0 without a cause that was seen".into()));
        let half = time(all(Tale::of_three().nameless_voter(1, 4), 8, 2), 5);
        assert_eq!(half.judged(ONE).0, Verdict::Pass, "quorum counted on a voter that had not started");
        // it was seen only later that the leader had gone
        let later = all(Tale::of_three(), 8, 2).looks(2, &[1, 2, 3]).wait(800).down(1);
        assert_eq!(time(later, 5).judged(ONE).0, Verdict::Pass);
        let join = time(all(Tale::of_three().kubeadm(3, "join"), 8, 2), 5);
        assert_eq!(join.clone().judged(ONE), (Verdict::Pass, "1 changes, 1 without a cause that was seen".into()));
        assert_eq!(time(all(join, 9, 1), 5).judged(ONE).0, Verdict::Fail, "once");
        // a member that is back after a long time, as a node that boots
        let back = all(Tale::of_three().down(1).wait(60_000).looks(1, &[1, 2, 3]), 9, 2);
        assert_eq!(time(back, 5).judged(ONE).0, Verdict::Pass);
        // etcd alone: a voter that does not run costs the one its quorum, and a learner is a join
        let unstarted = Tale::new(2).leads(1, 2, 1).looks(1, &[1]).nameless_voter(1, 2).wait(60_000);
        assert_eq!(time(unstarted.leads(1, 3, 1).looks(1, &[1, 2]), 5).judged(ONE).0, Verdict::Pass);
        let grown = all(Tale::of_three().moment(3, Moment::Announced), 8, 2);
        assert_eq!(time(grown.clone(), 5).judged(ONE).0, Verdict::Pass);
        assert_eq!(time(all(time(grown.clone(), 5), 9, 1), 5).judged(ONE).0, Verdict::Fail, "once");
        let promoted = all(time(grown, 5).moment(3, Moment::Promoted), 9, 1);
        assert_eq!(time(promoted, 5).judged(ONE).0, Verdict::Pass, "and once for its promotion");
        assert_eq!(time(Tale::of_three(), 1).judged(ONE), (Verdict::Pass, "one leader all the time".into()));
    }
}
