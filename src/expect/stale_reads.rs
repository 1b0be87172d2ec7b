//! `staleReads`: reads of what was overwritten before they began, and registers whose calls no order explains.

use std::collections::BTreeMap;

use super::linear::{Call, Did, Search, State, explains, search};
use super::register::{Writes, Wrong};
use super::window::Window;
use crate::event::{Judgement, Op, Verdict};
use crate::observe::{History, Record, Register, RegisterCall};
use crate::spec::{Over, StaleReads};
use crate::sys::clock::Stamp;

/// Reads that are told with what is wrong with them.
const MOST_NAMED: usize = 3;
const MOST_SHOWN: usize = 20;

/// A read that nothing explains: in words, with the events that show it.
type Bad = BTreeMap<u64, (String, Vec<u64>)>;

/// Judges the reads of the time, and each register's calls in it.
pub fn stale_reads(wanted: &StaleReads, record: &Record, window: Window) -> Judgement {
    let (from, to) = window.over(wanted.over);
    let history = &record.history;
    let within = |call: &&RegisterCall| call.op == Op::Read && call.ended.is_some_and(|ended| from <= ended && ended <= to);
    let (mut bad, mut doubts, mut reads) = (Bad::new(), Vec::new(), 0_usize);
    for (key, register) in &history.registers {
        let writes = Writes::of(register);
        for read in register.calls.iter().filter(within) {
            reads += 1;
            match writes.wrong(history, key, read.value, read.began) {
                Some(Wrong::Superseded { by, seq }) => {
                    let value = read.value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
                    let words = format!("{} read {value} from {key} though {by} was written before", read.client);
                    bad.insert(read.seq, (words, vec![seq, read.seq]));
                }
                Some(Wrong::Unwritten) => {
                    let words = format!("{} read {} from {key}, which nobody wrote", read.client, read.value.unwrap_or(0));
                    bad.insert(read.seq, (words, vec![read.seq]));
                }
                None => {}
            }
        }
    }
    backwards(history, (from, to), &mut bad);
    for (key, register) in &history.registers {
        orders(history, key, register, (from, to), &mut bad, &mut doubts);
    }
    if reads == 0 {
        doubts.push("nobody read in this time".to_owned());
    }
    let verdict = match (bad.len() > wanted.max, doubts.is_empty()) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Undecided,
    };
    let mut parts = vec![format!("{} of {reads} reads of {} registers", bad.len(), history.registers.len())];
    parts.extend(bad.values().take(MOST_NAMED).map(|(words, _)| words.clone()));
    parts.extend(doubts);
    let mut evidence: Vec<u64> = bad.values().flat_map(|(_, seqs)| seqs.clone()).take(MOST_SHOWN).collect();
    evidence.sort_unstable();
    evidence.dedup();
    Judgement { name: "staleReads".into(), verdict, wanted: describe(wanted), saw: parts.join("; "), evidence }
}

/// Reads whose answer is of an older revision than one that came before they began. A `ConfigMap` counts its own revisions.
fn backwards(history: &History, (from, to): (Stamp, Stamp), bad: &mut Bad) {
    let is_etcds = |key: &str| key.starts_with("register/");
    let families: [Vec<(&String, &RegisterCall)>; 2] = [true, false].map(|etcds| {
        let own = history.registers.iter().filter(|(key, _)| is_etcds(key) == etcds);
        own.flat_map(|(key, register)| register.calls.iter().map(move |call| (key, call))).collect()
    });
    for mut family in families {
        family.retain(|(_, call)| call.ended.is_some() && call.revision > 0);
        family.sort_by_key(|(_, call)| call.ended);
        let mut newest: Vec<(Stamp, u64, u64)> = Vec::new();
        for (_, call) in &family {
            let last = newest.last().map_or((0, 0), |(_, revision, seq)| (*revision, *seq));
            let (revision, seq) = last.max((call.revision, call.seq));
            newest.push((call.ended.unwrap_or(call.began), revision, seq));
        }
        let reads = family.iter().filter(|(_, call)| call.op == Op::Read && call.ended.is_some_and(|end| from <= end && end <= to));
        for (key, read) in reads {
            let before = newest.partition_point(|(ended, ..)| *ended < read.began);
            let Some((_, revision, seq)) = before.checked_sub(1).map(|at| newest[at]).filter(|(_, newest, _)| *newest > read.revision)
            else {
                continue;
            };
            let words = format!("{} read {key} at revision {}, behind an answer of revision {revision}", read.client, read.revision);
            bad.entry(read.seq).or_insert((words, vec![seq, read.seq]));
        }
    }
}

/// Looks for an order of a register's calls.
fn orders(history: &History, key: &str, register: &Register, (from, to): (Stamp, Stamp), bad: &mut Bad, doubts: &mut Vec<String>) {
    let whole = register.forgotten.is_none() && from.mono == 0;
    if register.forgotten.is_some_and(|forgotten| forgotten > from) {
        doubts.push(format!("{key}: not all of its calls are remembered"));
        return;
    }
    let meant: Vec<&RegisterCall> =
        register.calls.iter().filter(|call| call.began <= to && call.ended.is_none_or(|ended| from <= ended)).collect();
    let read: Vec<u64> = meant.iter().filter(|call| call.op == Op::Read).filter_map(|call| call.value).collect();
    let is_read = |value: Option<u64>| value.is_some_and(|value| read.contains(&value));
    // a write of unknown end that nobody read need not have been carried out
    let meant: Vec<&RegisterCall> = meant.into_iter().filter(|call| call.ended.is_some() || is_read(call.value)).collect();
    let mut calls: Vec<Call> = meant
        .iter()
        .map(|call| Call {
            did: match (call.op, call.value) {
                (Op::Write, value) => Did::Write(value.unwrap_or(0)),
                (Op::Read, value) => Did::Read(value),
            },
            began: call.began.mono,
            ended: call.ended.map(|ended| ended.mono),
        })
        .collect();
    // and one that was not told of yet may have been
    let written = |value: u64| register.calls.iter().any(|call| call.op == Op::Write && call.value == Some(value));
    let untold = read.iter().filter(|value| !written(**value)).filter_map(|value| Some((*value, history.unreported(key, *value)?)));
    let mut untold: Vec<(u64, Stamp)> = untold.collect();
    untold.sort_unstable();
    untold.dedup();
    calls.extend(untold.into_iter().map(|(value, began)| Call { did: Did::Write(value), began: began.mono, ended: None }));
    let start = if whole { State::Holds(None) } else { State::Anything };
    // revisions tell the order where all calls have one
    let mut order: Vec<usize> = (0..meant.len()).collect();
    order.sort_by_key(|at| (meant[*at].revision, meant[*at].op == Op::Read, meant[*at].began));
    if calls.len() == meant.len() && explains(&calls, &order, start) {
        return;
    }
    match search(&calls, start) {
        Search::Found => {}
        Search::TooLarge => doubts.push(format!("{key}: too many orders of its {} calls to go through", calls.len())),
        Search::Stuck(at) => {
            // what is known to be wrong already explains it
            let known = bad.keys().any(|seq| register.calls.iter().any(|call| call.seq == *seq));
            if let (false, Some(call)) = (known, meant.get(at)) {
                let what = match (call.op, call.value) {
                    (Op::Read, Some(value)) => format!("read {value}"),
                    (Op::Read, None) => "read nothing".to_owned(),
                    (Op::Write, value) => format!("wrote {}", value.unwrap_or(0)),
                };
                let words = format!("{key}: no order of its {} calls explains that {} {what}", calls.len(), call.client);
                bad.insert(call.seq, (words, vec![call.seq]));
            }
        }
    }
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &StaleReads) -> String {
    let over = match wanted.over {
        Over::Step => "",
        Over::Run => " since the run began",
    };
    format!("at most {}{over}", wanted.max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CallEnd, ClientCall};

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn call(op: Op, value: Option<u64>, (began, ended): (u64, u64)) -> ClientCall {
        let client = if op == Op::Write { "writer cp-1" } else { "reader cp-2" }.to_owned();
        let (key, node) = ("register/0".to_owned(), "cp-1".to_owned());
        ClientCall { client, node, op, key, value, began: at(began), ended: at(ended), end: CallEnd::Ok, revision: 0 }
    }

    fn write(n: u64, times: (u64, u64)) -> ClientCall {
        call(Op::Write, Some(n * 1_000 + 1), times)
    }

    fn read(n: u64, times: (u64, u64)) -> ClientCall {
        call(Op::Read, (n > 0).then_some(n * 1_000 + 1), times)
    }

    /// Writes one after the other, each read while it goes on and behind its end.
    fn good() -> Vec<ClientCall> {
        let mut calls = vec![read(0, (10, 20))];
        for n in 1..40 {
            let ms = n * 100;
            calls.push(read(n - 1, (ms + 2, ms + 10)));
            calls.push(write(n, (ms, ms + 40)));
            calls.push(read(n, (ms + 20, ms + 60)));
            calls.push(read(n, (ms + 50, ms + 70)));
        }
        calls
    }

    fn judged(calls: &[ClientCall], over: Over) -> (Verdict, String) {
        let mut record = Record::default();
        for (seq, call) in calls.iter().enumerate() {
            record.history.called(seq as u64, call);
        }
        let window = Window { from: at(1_000), to: at(9_000) };
        let judgement = stale_reads(&StaleReads { max: 0, over, when: None }, &record, window);
        (judgement.verdict, judgement.saw)
    }

    #[test]
    fn a_history_with_an_order_passes_and_any_read_put_back_by_two_is_caught() {
        assert_eq!(judged(&good(), Over::Run), (Verdict::Pass, "0 of 118 reads of 1 registers".into()));
        assert_eq!(judged(&good(), Over::Step).0, Verdict::Pass);
        for at in 0..good().len() {
            let mut altered = good();
            let Some(value) = altered[at].value.filter(|value| altered[at].op == Op::Read && *value > 2_001) else { continue };
            altered[at].value = Some(value - 2_000);
            let (verdict, saw) = judged(&altered, Over::Run);
            assert_eq!(verdict, Verdict::Fail, "read {at} altered: {saw}");
        }
    }

    #[test]
    fn each_kind_of_staleness_is_told_in_its_words() {
        let saw = |more: &[ClientCall]| judged(&[good(), more.to_vec()].concat(), Over::Step);
        let behind = (5_000, 5_010);
        assert_eq!(saw(&[read(39, behind)]).0, Verdict::Pass);
        let (verdict, words) = saw(&[read(38, behind)]);
        assert_eq!(verdict, Verdict::Fail);
        assert!(words.contains("reader cp-2 read 38001 from register/0 though 39001 was written before"), "{words}");
        assert!(saw(&[read(0, behind)]).1.contains("read nothing from register/0"), "{}", saw(&[read(0, behind)]).1);
        assert!(saw(&[read(5_000, behind)]).1.contains("read 5000001 from register/0, which nobody wrote"));
        let newer = ClientCall { revision: 90, ..read(39, (4_500, 4_600)) };
        let older = |began| ClientCall { revision: 89, ..read(39, (began, 5_000)) };
        assert!(saw(&[newer.clone(), older(4_700)]).1.contains("at revision 89, behind an answer of revision 90"));
        assert_eq!(saw(&[newer, older(4_590)]).0, Verdict::Pass, "they overlap");
    }

    #[test]
    fn only_the_search_sees_that_two_readers_saw_two_orders() {
        // both writes overlap, so each read by itself is fine
        let writes = [write(50, (5_000, 5_100)), write(51, (5_000, 5_100))];
        let one = [read(50, (5_200, 5_210)), read(50, (5_220, 5_230))];
        assert_eq!(judged(&[good(), writes.to_vec(), one.to_vec()].concat(), Over::Run).0, Verdict::Pass);
        let two = [read(50, (5_200, 5_210)), read(51, (5_220, 5_230)), read(50, (5_240, 5_250))];
        let (verdict, saw) = judged(&[good(), writes.to_vec(), two.to_vec()].concat(), Over::Run);
        assert_eq!(verdict, Verdict::Fail);
        assert!(saw.contains("register/0: no order of its 162 calls explains that reader cp-2 read 51001"), "{saw}");
    }

    #[test]
    fn a_write_that_nobody_told_of_may_be_read() {
        // an agent that was lost took the ends of some calls with it
        assert_eq!(judged(&[good(), vec![read(45, (5_000, 5_010))]].concat(), Over::Run).0, Verdict::Pass);
        let unknown = ClientCall { end: CallEnd::Unknown { why: "late".into() }, ..write(41, (4_500, 4_600)) };
        let seen = [good(), vec![unknown.clone(), read(39, (4_700, 4_710)), read(41, (5_000, 5_010))]].concat();
        assert_eq!(judged(&seen, Over::Run).0, Verdict::Pass, "it came late");
        let back = [seen, vec![read(39, (5_100, 5_110))]].concat();
        assert_eq!(judged(&back, Over::Run).0, Verdict::Fail, "and is there to stay");
    }

    #[test]
    fn what_was_not_read_or_is_not_remembered_is_undecided() {
        assert_eq!(judged(&[write(1, (2_000, 2_010))], Over::Step).0, Verdict::Undecided);
        let many: Vec<ClientCall> = (0..5_000).map(|n| read(0, (n, n + 1))).collect();
        assert_eq!(
            judged(&many, Over::Run),
            (Verdict::Undecided, "0 of 4096 reads of 1 registers; register/0: not all of its calls are remembered".into())
        );
        assert_eq!(judged(&many, Over::Step).0, Verdict::Pass, "those of the step are");
    }
}
