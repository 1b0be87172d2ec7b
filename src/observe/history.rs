//! What joinder's own clients saw, over time: which writes were acknowledged, and all calls to registers. Filled from calls alone.
//!
//! An hour fits: three voters' writers make 108,000 calls in it at the pace that they have where the file does not say. Beyond
//! [`MOST`] the older half of them gets coarser, and only keeps what lies at the ends of its gaps; beyond that many of its own, a
//! list forgets what is oldest, and says so.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::agent::numbers;
use crate::event::{CallEnd, ClientCall, Op};
use crate::sys::clock::Stamp;

/// Writes that are kept whole, and acknowledged numbers of writers' own keys.
const MOST: usize = 1 << 17;
/// Calls that are kept of each register: a check of more would be too large.
const MOST_CALLS: usize = 4_096;
/// Calls without success that are kept with their time.
const MOST_TROUBLES: usize = 1 << 14;
/// Gaps that are told apart in what got coarser.
const FINE: Duration = Duration::from_millis(250);

/// The writer through the API server, among the writers of registers.
const API: u64 = u64::MAX;

/// A write of a voter's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// When it was sent.
    pub began: Stamp,
    /// When its end was known.
    pub ended: Stamp,
    /// Was it acknowledged?
    pub acknowledged: bool,
    /// Number of the event.
    pub seq: u64,
}

/// An acknowledged write of a key of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Its number.
    pub n: u64,
    /// When it was acknowledged.
    pub ended: Stamp,
    /// Number of the event.
    pub seq: u64,
}

/// A call without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The client.
    pub client: String,
    /// When its end was known.
    pub ended: Stamp,
    /// May it have been carried out all the same?
    pub unknown: bool,
    /// Why.
    pub why: String,
}

/// A call to a register that was, or may have been, carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterCall {
    /// The client.
    pub client: String,
    /// What it did.
    pub op: Op,
    /// What was written, or read.
    pub value: Option<u64>,
    /// When it was sent.
    pub began: Stamp,
    /// When it was answered; `None` for a write whose end nobody knows.
    pub ended: Option<Stamp>,
    /// The revision in the answer.
    pub revision: u64,
    /// Number of the event.
    pub seq: u64,
}

/// One register's calls.
#[derive(Clone, Debug, Default)]
pub struct Register {
    /// In the order in which their ends were told.
    pub calls: VecDeque<RegisterCall>,
    /// The end of the last call that was forgotten.
    pub forgotten: Option<Stamp>,
}

/// What is known of a writer's numbers in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The largest one that was told.
    pub last: u64,
    /// When that call was sent.
    pub began: Stamp,
}

/// The whole history.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Writes of voters' writers, in the order in which their ends were told.
    pub probes: Vec<Probe>,
    /// Until when what is kept of them got coarser, and which gaps are told apart there.
    pub coarse: Option<(Stamp, Duration)>,
    /// Acknowledged writes under keys of writers' own, by what those keys begin with.
    pub own: BTreeMap<String, Vec<Acked>>,
    /// Those that were forgotten.
    pub own_forgotten: u64,
    /// Registers, by their keys.
    pub registers: BTreeMap<String, Register>,
    /// Calls without success.
    pub troubles: VecDeque<Trouble>,
    /// The writers of registers, by their numbers.
    pub writers: BTreeMap<u64, Numbered>,
    /// The number that each client comes to next.
    next: BTreeMap<String, u64>,
    own_kept: usize,
}

impl History {
    /// Adds a call that was told as event `seq`.
    pub fn called(&mut self, seq: u64, call: &ClientCall) {
        let acknowledged = call.end == CallEnd::Ok;
        if call.op == Op::Write && !call.node.is_empty() {
            self.probe(Probe { began: call.began, ended: call.ended, acknowledged, seq });
        }
        if let CallEnd::Failed { why } | CallEnd::Unknown { why } = &call.end {
            if self.troubles.len() == MOST_TROUBLES {
                self.troubles.pop_front();
            }
            let unknown = matches!(call.end, CallEnd::Unknown { .. });
            self.troubles.push_back(Trouble { client: call.client.clone(), ended: call.ended, unknown, why: why.clone() });
        }
        let own = call.key.rsplit_once('/').filter(|_| call.key.starts_with("own/"));
        match own {
            Some((before, n)) => {
                let n = n.parse().unwrap_or(0);
                self.count(&call.client, n);
                if acknowledged && call.op == Op::Write {
                    self.keep_own(format!("{before}/"), Acked { n, ended: call.ended, seq });
                }
            }
            None => self.register(seq, call),
        }
    }

    /// The number that a client begins with when it starts anew: calls that it may have made and that nobody told of are left out.
    pub fn next(&self, client: &str) -> u64 {
        self.next.get(client).map_or(1, |next| next + numbers::IN_FLIGHT)
    }

    /// When a write of this value may have been sent at the earliest, where its writer may have made it and nobody told of it: the node
    /// may be gone with its end, or the end is not known yet. `None` where no writer can have written it.
    pub fn unreported(&self, key: &str, value: u64) -> Option<Stamp> {
        let (writer, n) = if numbers::is_register(key) { numbers::origin(value) } else { (API, value) };
        let known = self.writers.get(&writer)?;
        let most = known.last + 2 * numbers::IN_FLIGHT;
        (1..=most).contains(&n).then_some(if n > known.last { known.began } else { Stamp { mono: 0, ..known.began } })
    }

    fn count(&mut self, client: &str, n: u64) {
        let next = self.next.entry(client.to_owned()).or_default();
        *next = (*next).max(n + 1);
    }

    fn register(&mut self, seq: u64, call: &ClientCall) {
        if let (Op::Write, Some(value)) = (call.op, call.value) {
            let (writer, n) = if numbers::is_register(&call.key) { numbers::origin(value) } else { (API, value) };
            self.count(&call.client, n);
            let known = self.writers.entry(writer).or_insert(Numbered { last: n, began: call.began });
            if n > known.last {
                *known = Numbered { last: n, began: call.began };
            }
        }
        let ended = match (&call.end, call.op) {
            (CallEnd::Ok, _) => Some(call.ended),
            (CallEnd::Unknown { .. }, Op::Write) => None,
            // nothing was read, or nothing was done
            (CallEnd::Unknown { .. }, Op::Read) | (CallEnd::Failed { .. }, _) => return,
        };
        let (client, op, value, began, revision) = (call.client.clone(), call.op, call.value, call.began, call.revision);
        let register = self.registers.entry(call.key.clone()).or_default();
        if register.calls.len() == MOST_CALLS {
            let old = register.calls.pop_front();
            register.forgotten = register.forgotten.max(old.map(|old| old.ended.unwrap_or(old.began)));
        }
        register.calls.push_back(RegisterCall { client, op, value, began, ended, revision, seq });
    }

    fn keep_own(&mut self, key: String, acked: Acked) {
        if self.own_kept == MOST {
            for list in self.own.values_mut() {
                let half = list.len() / 2;
                list.drain(..half);
                self.own_forgotten += half as u64;
            }
            self.own_kept = self.own.values().map(Vec::len).sum();
        }
        self.own.entry(key).or_default().push(acked);
        self.own_kept += 1;
    }

    fn probe(&mut self, probe: Probe) {
        self.probes.push(probe);
        if self.probes.len() > MOST {
            self.thin();
        }
    }

    /// Keeps of the older half only what lies beside its gaps, and one acknowledgement in each stretch without.
    fn thin(&mut self) {
        let fine = self.coarse.map_or(FINE, |(_, fine)| fine);
        self.probes.sort_by_key(|probe| probe.ended);
        let newer = self.probes.split_off(MOST / 2);
        let older = std::mem::take(&mut self.probes);
        let end = older.last().map(|probe| probe.ended);
        let acks: Vec<Stamp> = older.iter().filter(|probe| probe.acknowledged).map(|probe| probe.ended).collect();
        // by ends, so that the search for the neighbours is one
        let neighbours = |at: Stamp| {
            let here = acks.partition_point(|ack| *ack < at);
            let after = acks[here..].iter().find(|ack| **ack > at);
            (here.checked_sub(1).map(|before| acks[before]), after.copied())
        };
        let mut last: Option<Stamp> = None;
        for probe in older {
            let (before, after) = neighbours(probe.ended);
            let beside =
                before.is_none_or(|before| probe.ended.since(before) > fine) || after.is_none_or(|after| after.since(probe.ended) > fine);
            let alone = last.is_none_or(|last| probe.ended.since(last) >= fine);
            if beside || probe.acknowledged && alone {
                last = if probe.acknowledged { Some(probe.ended) } else { last };
                self.probes.push(probe);
            }
        }
        // calls that are so far apart that this takes few away need a coarser look the next time
        let next = if self.probes.len() > MOST / 4 { fine * 2 } else { fine };
        self.probes.extend(newer);
        self.coarse = end.map(|end| (end, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn write(n: u64, ms: u64, end: CallEnd) -> ClientCall {
        let numbers::Write { key, value } = numbers::write("cp-1", 1, n);
        let (client, node) = ("writer cp-1".to_owned(), "cp-1".to_owned());
        let (began, ended) = (at(ms), at(ms + 5));
        ClientCall { client, node, op: Op::Write, key, value: Some(value), began, ended, end, revision: n }
    }

    #[test]
    fn numbers_go_on_behind_what_nobody_told_of() {
        let mut history = History::default();
        assert_eq!(history.next("writer cp-1"), 1);
        history.called(1, &write(7, 100, CallEnd::Ok));
        history.called(2, &write(5, 90, CallEnd::Unknown { why: "late".into() }));
        assert_eq!(history.next("writer cp-1"), 8 + numbers::IN_FLIGHT);
        assert_eq!(history.own["own/cp-1/"], [Acked { n: 7, ended: at(105), seq: 1 }]);
        assert_eq!(history.registers["register/1"].calls[0].ended, None);
        assert_eq!(history.writers[&1].last, 5);
    }

    #[test]
    fn hours_fit_and_keep_their_gaps() {
        let mut history = History::default();
        let mut ms = 0;
        for n in 0..400_000 {
            ms += if n == 1_000 { 3_000 } else { 10 };
            history.called(n, &write(n, ms, CallEnd::Ok));
        }
        assert!(history.probes.len() <= MOST, "{}", history.probes.len());
        assert!(history.own.values().map(Vec::len).sum::<usize>() <= MOST);
        assert!(history.registers.values().all(|register| register.calls.len() <= MOST_CALLS && register.forgotten.is_some()));
        let gap = history.probes.windows(2).map(|two| (two[1].ended.since(two[0].ended), two[1].seq)).max().expect("some");
        assert_eq!(gap, (Duration::from_secs(3), 1_000), "the longest one is as it was");
        let (until, fine) = history.coarse.expect("it got coarser");
        let wide = history.probes.windows(2).filter(|two| two[1].ended.since(two[0].ended) > fine * 2).count();
        assert_eq!(wide, 1, "what is left out makes no gap");
        assert!(until < history.probes.last().expect("some").ended);
    }
}
