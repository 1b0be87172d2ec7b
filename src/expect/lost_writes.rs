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
