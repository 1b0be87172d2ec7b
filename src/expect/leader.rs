//! `leader`: how often etcd's leader changed.

use std::collections::BTreeMap;

use super::window::Window;
use crate::event::{Judgement, MemberId, Moment, Verdict};
use crate::observe::{Life, Record};
use crate::spec::{Leader, Over};
use crate::sys::clock::Stamp;

/// Counts the pairs of term and leader that voters told of; each voter counts from its vote on, and over a step only those that had
/// theirs before it. A counter of etcd's own would begin anew with each restart.
pub fn leader(wanted: &Leader, record: &Record, window: Window) -> Judgement {
    let (from, to) = window.over(wanted.over);
    let vote = |id: &MemberId| record.lives.get(id).and_then(vote);
    let counts = |id: &MemberId, at: Stamp| match (vote(id), wanted.over) {
        (None, _) => false,
        (Some(vote), Over::Step) => vote <= window.from,
        (Some(vote), Over::Run) => at >= vote,
    };
    // what a voter said last before the step still holds when it begins
    let mut pairs: BTreeMap<(u64, MemberId), u64> = BTreeMap::new();
    let mut before: BTreeMap<MemberId, ((u64, MemberId), u64)> = BTreeMap::new();
    for led in record.leaders.iter().filter(|led| led.leader != MemberId(0) && led.at <= to && counts(&led.member, led.at)) {
        let (pair, seq) = ((led.term, led.leader), led.seq);
        if led.at < from {
            before.insert(led.member, (pair, seq));
        } else {
            pairs.entry(pair).or_insert(seq);
        }
    }
    for (pair, seq) in before.into_values() {
        pairs.entry(pair).or_insert(seq);
    }
    let changes = pairs.len().saturating_sub(1);
    // who leads now is not known while no voter says so: a restart ends, and the new term comes, before the member answers again
    let silent = !record.says_who_leads();
    let verdict = match wanted.changes.holds(changes) {
        _ if pairs.is_empty() => Verdict::Undecided,
        true if silent => Verdict::Undecided,
        true => Verdict::Pass,
        false => Verdict::Fail,
    };
    let name = |id: &MemberId| record.lives.get(id).map(|life| life.name.clone()).filter(|n| !n.is_empty()).unwrap_or(id.to_string());
    let each: Vec<String> = pairs.keys().map(|(term, id)| format!("{} in term {term}", name(id))).collect();
    let now = if silent { "; no member that answers knows a leader now" } else { "" };
    let saw = if each.is_empty() { "no voter told of a leader".to_owned() } else { format!("{changes}: {}{now}", each.join(", ")) };
    Judgement { name: "leader".into(), verdict, wanted: describe(wanted), saw, evidence: pairs.into_values().collect() }
}

/// When it got its vote.
fn vote(life: &Life) -> Option<Stamp> {
    life.sight(Moment::Founded).or(life.sight(Moment::Promoted)).map(|sight| sight.at)
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &Leader) -> String {
    let over = match wanted.over {
        Over::Step => "",
        Over::Run => " since the run began",
    };
    format!("changes {}{over}", wanted.changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EtcdSample, Member, MemberStatus};
    use crate::spec::Compare;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// What a member says of itself and all others: second, member, term, leader.
    fn record(said: &[(u64, u64, u64, u64)], second_votes_at: u64) -> Record {
        let mut record = Record::default();
        for (seq, (s, id, term, leader)) in said.iter().enumerate() {
            let member = |id, name: &str, learner| Member { id: MemberId(id), name: name.into(), learner, ..Member::default() };
            let members = Some(vec![member(1, "cp-1", false), member(2, "cp-2", *s < second_votes_at)]);
            let status = Some(MemberStatus { id: MemberId(*id), leader: MemberId(*leader), term: *term, ..MemberStatus::default() });
            let sample = EtcdSample { seen: at(*s), members, status, error: None, gap_ms: None, looks: 1, missed: 0 };
            record.sample(seq as u64 + 1, &format!("cp-{id}"), &sample);
        }
        record
    }

    fn judged(record: &Record, changes: usize, over: Over) -> (Verdict, String) {
        let wanted = Leader { changes: Compare::just(changes), over, when: None };
        let judgement = leader(&wanted, record, Window { from: at(10), to: at(20) });
        (judgement.verdict, judgement.saw)
    }

    #[test]
    fn silence_in_the_end_leaves_it_open_and_a_change_that_was_seen_stands() {
        let window = Window { from: at(5), to: at(9) };
        let wanted = Leader { changes: Compare::just(0), over: Over::Step, when: None };
        let silent =
            EtcdSample { seen: at(8), members: None, status: None, error: Some("refused".into()), gap_ms: None, looks: 1, missed: 0 };
        for (said, want) in [(&[(1, 1, 2, 1)][..], Verdict::Undecided), (&[(1, 1, 2, 1), (6, 1, 3, 1)], Verdict::Fail)] {
            let mut record = record(said, 1);
            record.sample(9, "cp-1", &silent);
            let judged = leader(&wanted, &record, window);
            assert_eq!(judged.verdict, want, "{}", judged.saw);
        }
    }

    #[test]
    fn a_leader_that_stays_is_no_change_and_another_one_is() {
        let stays = record(&[(1, 1, 2, 1), (5, 2, 2, 1), (12, 1, 2, 1)], 5);
        assert_eq!(judged(&stays, 0, Over::Step), (Verdict::Pass, "0: cp-1 in term 2".into()));
        let moves = record(&[(1, 1, 2, 1), (5, 2, 2, 1), (12, 1, 3, 2), (13, 2, 3, 2)], 5);
        assert_eq!(judged(&moves, 0, Over::Step), (Verdict::Fail, "1: cp-1 in term 2, cp-2 in term 3".into()));
        let again = record(&[(1, 1, 2, 1), (12, 1, 3, 1)], 5);
        assert_eq!(judged(&again, 1, Over::Step).0, Verdict::Pass, "the same one in another term");
    }

    #[test]
    fn who_joins_in_the_step_and_a_moment_without_a_leader_do_not_count() {
        let joins = record(&[(1, 1, 2, 1), (12, 2, 1, 9), (13, 1, 2, 0), (14, 1, 2, 1)], 12);
        assert_eq!(judged(&joins, 0, Over::Step).0, Verdict::Pass);
        let earlier = record(&[(1, 1, 2, 1), (3, 1, 3, 1)], 30);
        assert_eq!(judged(&earlier, 0, Over::Step).0, Verdict::Pass, "it was before the step");
        assert_eq!(judged(&earlier, 0, Over::Run).0, Verdict::Fail, "but in the run");
    }

    #[test]
    fn without_a_word_of_any_leader_nothing_is_known() {
        assert_eq!(judged(&record(&[(1, 1, 2, 0)], 30), 0, Over::Step), (Verdict::Undecided, "no voter told of a leader".into()));
    }
}
