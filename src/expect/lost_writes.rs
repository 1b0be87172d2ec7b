//! `lostWrites`: writes that were acknowledged, and that a later read of all does not find.

use super::register::{Writes, Wrong};
use crate::event::{CallEnd, Judgement, Kept, Verdict};
use crate::observe::Record;
use crate::spec::LostWrites;

/// Lost writes that are named, and shown as evidence.
const MOST_NAMED: usize = 5;
const MOST_SHOWN: usize = 20;

/// Judges what was read of all that was written in the run.
pub fn lost_writes(wanted: &LostWrites, record: &Record, kept: Result<&Kept, &str>) -> Judgement {
    let judgement =
        |verdict, saw: String, evidence| Judgement { name: "lostWrites".into(), verdict, wanted: describe(wanted), saw, evidence };
    let kept = match kept {
        Ok(kept) => kept,
        Err(why) => return judgement(Verdict::Undecided, format!("etcd's store could not be read: {why}"), Vec::new()),
    };
    let history = &record.history;
    let (mut all, mut lost, mut unread) = (0_usize, Vec::<(String, u64)>::new(), Vec::new());
    for (before, list) in &history.own {
        let there = kept.own.get(before).map_or(&[][..], Vec::as_slice);
        for acked in list.iter().filter(|acked| acked.ended < kept.began) {
            all += 1;
            let at = there.partition_point(|(_, to)| *to < acked.n);
            if there.get(at).is_none_or(|(from, _)| acked.n < *from) {
                lost.push((format!("{before}{}", acked.n), acked.seq));
            }
        }
    }
    for (key, register) in &history.registers {
        let Some(read) = kept.registers.iter().find(|read| read.key == *key) else { continue };
        all += 1;
        if read.end != CallEnd::Ok {
            unread.push(key.clone());
            continue;
        }
        match Writes::of(register).wrong(history, key, read.value, read.began) {
            Some(Wrong::Superseded { by, seq }) => lost.push((format!("{by} in {key}"), seq)),
            Some(Wrong::Unwritten) | None => {}
        }
    }
    let mut saw = format!("{} of {all} acknowledged writes are gone", lost.len());
    let named: Vec<&str> = lost.iter().take(MOST_NAMED).map(|(name, _)| name.as_str()).collect();
    if !named.is_empty() {
        let more = lost.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        saw = format!("{saw}: {}{more}", named.join(", "));
    }
    let mut doubts = Vec::new();
    if all == 0 {
        doubts.push("none was acknowledged".to_owned());
    }
    if history.own_forgotten > 0 {
        doubts.push(format!("{} more are not remembered", history.own_forgotten));
    }
    if !unread.is_empty() {
        doubts.push(format!("{} could not be read", unread.join(", ")));
    }
    let verdict = match (lost.len() > wanted.max, doubts.is_empty()) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Undecided,
    };
    if !doubts.is_empty() {
        saw = format!("{saw}; {}", doubts.join(", "));
    }
    judgement(verdict, saw, lost.iter().take(MOST_SHOWN).map(|(_, seq)| *seq).collect())
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &LostWrites) -> String {
    format!("at most {}", wanted.max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ClientCall, Op};
    use crate::sys::clock::Stamp;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn call(op: Op, key: &str, value: Option<u64>, ms: u64, end: CallEnd) -> ClientCall {
        let (client, node) = ("writer cp-1".to_owned(), "cp-1".to_owned());
        ClientCall { client, node, op, key: key.to_owned(), value, began: at(ms), ended: at(ms + 5), end, revision: ms }
    }

    /// Writes 1 to 9 of keys of the writer's own, one of unknown end, and two of a register.
    fn record() -> Record {
        let mut record = Record::default();
        let unknown = || CallEnd::Unknown { why: "late".into() };
        for n in 1..10 {
            let end = if n == 6 { unknown() } else { CallEnd::Ok };
            record.history.called(n, &call(Op::Write, &format!("own/cp-1/{n}"), Some(n), n * 100, end));
        }
        record.history.called(20, &call(Op::Write, "register/0", Some(5_001), 500, CallEnd::Ok));
        record.history.called(21, &call(Op::Write, "register/0", Some(10_001), 600, CallEnd::Ok));
        record
    }

    fn kept(own: &[(u64, u64)], register: Option<u64>) -> Kept {
        let registers = vec![call(Op::Read, "register/0", register, 2_000, CallEnd::Ok)];
        Kept { began: at(1_900), own: [("own/cp-1/".to_owned(), own.to_vec())].into(), registers }
    }

    fn judged(record: &Record, kept: &Kept) -> (Verdict, String, Vec<u64>) {
        let judgement = lost_writes(&LostWrites { max: 0, when: None }, record, Ok(kept));
        (judgement.verdict, judgement.saw, judgement.evidence)
    }

    #[test]
    fn what_was_acknowledged_is_there_and_what_was_not_need_not_be() {
        let whole = kept(&[(1, 9)], Some(10_001));
        assert_eq!(judged(&record(), &whole), (Verdict::Pass, "0 of 9 acknowledged writes are gone".into(), vec![]));
        assert_eq!(judged(&record(), &kept(&[(1, 5), (7, 9)], Some(10_001))).0, Verdict::Pass, "nobody knows of the sixth");
        let (verdict, saw, evidence) = judged(&record(), &kept(&[(1, 3), (5, 9)], Some(10_001)));
        assert_eq!((verdict, evidence), (Verdict::Fail, vec![4]));
        assert_eq!(saw, "1 of 9 acknowledged writes are gone: own/cp-1/4");
        assert_eq!(judged(&record(), &Kept { began: at(450), ..kept(&[(1, 3)], Some(10_001)) }).0, Verdict::Fail);
        assert_eq!(judged(&record(), &Kept { began: at(405), ..kept(&[(1, 3)], Some(10_001)) }).0, Verdict::Pass, "read before its end");
    }

    #[test]
    fn a_register_holds_what_nothing_has_overwritten() {
        for (value, verdict) in [(Some(10_001), Verdict::Pass), (Some(5_001), Verdict::Fail), (None, Verdict::Fail)] {
            let (judged, saw, _) = judged(&record(), &kept(&[(1, 9)], value));
            assert_eq!(judged, verdict, "{saw}");
        }
    }

    #[test]
    fn one_more_acknowledgement_in_a_history_is_noticed() {
        let there = kept(&[(1, 5), (7, 9)], Some(10_001));
        let mut altered = record();
        assert_eq!(judged(&altered, &there).0, Verdict::Pass);
        altered.history.called(6, &call(Op::Write, "own/cp-1/6", Some(6), 600, CallEnd::Ok));
        assert_eq!(judged(&altered, &there).0, Verdict::Fail);
    }

    #[test]
    fn what_could_not_be_read_is_not_passed() {
        let wanted = LostWrites { max: 0, when: None };
        assert_eq!(lost_writes(&wanted, &record(), Err("no voter")).verdict, Verdict::Undecided);
        assert_eq!(lost_writes(&wanted, &Record::default(), Ok(&kept(&[], None))).verdict, Verdict::Undecided, "nothing was written");
        let mut unread = kept(&[(1, 9)], None);
        unread.registers[0].end = CallEnd::Failed { why: "late".into() };
        assert_eq!(judged(&record(), &unread).0, Verdict::Undecided);
    }
}
