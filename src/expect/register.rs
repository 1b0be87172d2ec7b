//! One register's writes: who wrote what is read, and was it overwritten by then?

use std::collections::BTreeMap;

use crate::event::Op;
use crate::observe::{History, Register, RegisterCall};
use crate::sys::clock::Stamp;

/// A register's writes, ready to be asked.
pub(super) struct Writes<'a> {
    by_value: BTreeMap<u64, &'a RegisterCall>,
    /// Acknowledged ones by their ends: up to each the one that began last.
    latest: Vec<(Stamp, &'a RegisterCall)>,
    whole: bool,
}

/// What is wrong with a value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It was overwritten by this write, or there was nothing in spite of it.
    Superseded {
        /// The write's value.
        by: u64,
        /// Its event.
        seq: u64,
    },
    /// Nobody wrote it.
    Unwritten,
}

impl<'a> Writes<'a> {
    pub(super) fn of(register: &'a Register) -> Self {
        let writes = || register.calls.iter().filter(|call| call.op == Op::Write);
        let by_value = writes().filter_map(|call| Some((call.value?, call))).collect();
        let mut latest: Vec<(Stamp, &RegisterCall)> = writes().filter_map(|call| Some((call.ended?, call))).collect();
        latest.sort_by_key(|(ended, _)| *ended);
        for at in 1..latest.len() {
            if latest[at - 1].1.began > latest[at].1.began {
                latest[at].1 = latest[at - 1].1;
            }
        }
        Self { by_value, latest, whole: register.forgotten.is_none() }
    }

    /// The write that began last of those that were acknowledged before `at`.
    fn before(&self, at: Stamp) -> Option<&'a RegisterCall> {
        let behind = self.latest.partition_point(|(ended, _)| *ended < at);
        Some(self.latest[behind.checked_sub(1)?].1)
    }

    /// What is wrong with this value in a read that began at `began`.
    pub(super) fn wrong(&self, history: &History, key: &str, value: Option<u64>, began: Stamp) -> Option<Wrong> {
        let last = self.before(began);
        let superseded = |write: &RegisterCall| Wrong::Superseded { by: write.value.unwrap_or(0), seq: write.seq };
        let Some(value) = value else { return last.map(superseded) };
        match self.by_value.get(&value) {
            Some(write) => last.filter(|last| write.ended.is_some_and(|ended| ended < last.began)).map(superseded),
            // its write may be forgotten, or not told of yet
            None if !self.whole || history.unreported(key, value).is_some() => None,
            None => Some(Wrong::Unwritten),
        }
    }
}
