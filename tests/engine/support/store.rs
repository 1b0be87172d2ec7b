//! A store that joinder's own clients write to and read from.

use std::collections::BTreeMap;

use joinder::agent::numbers::{self, Write};
use joinder::agent::{Client, Load};
use joinder::event::{CallEnd, ClientCall, Kept, Op};
use joinder::sys::clock::Stamp;

/// Values by their keys, and how often there was a change.
#[derive(Default)]
pub(super) struct Store {
    values: BTreeMap<String, u64>,
    revision: u64,
}

impl Store {
    /// Carries out the `n`th call of a client.
    pub(super) fn call(&mut self, load: &Load, n: u64) -> ClientCall {
        let mut call = blank(load, n);
        match call.value {
            Some(value) => {
                self.revision += 1;
                self.values.insert(call.key.clone(), value);
            }
            None => call.value = self.values.get(&call.key).copied(),
        }
        ClientCall { ended: Stamp::now(), revision: self.revision, ..call }
    }

    /// All that is there, and a read of each register.
    pub(super) fn kept(&self, node: &str, _prefix: &str) -> Kept {
        let began = Stamp::now();
        let mut own: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        for (key, value) in self.values.iter().filter(|(key, _)| key.starts_with("own/")) {
            let before = key.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
            own.entry(before).or_default().push((*value, *value));
        }
        for ranges in own.values_mut() {
            ranges.sort_unstable();
        }
        let register = |n| {
            let key = numbers::register(n);
            let (value, client, node) = (self.values.get(&key).copied(), "judge".to_owned(), node.to_owned());
            let (began, ended) = (Stamp::now(), Stamp::now());
            ClientCall { client, node, op: Op::Read, key, value, began, ended, end: CallEnd::Ok, revision: self.revision }
        };
        Kept { began, own, registers: (0..numbers::REGISTERS).map(register).collect() }
    }

    /// Somebody else takes what begins so away.
    pub(super) fn forget(&mut self, prefix: &str) {
        self.values.retain(|key, _| !key.starts_with(prefix));
    }
}

/// A call that nobody took.
pub(super) fn failed(load: &Load, n: u64, why: String) -> ClientCall {
    ClientCall { ended: Stamp::now(), end: CallEnd::Failed { why }, ..blank(load, n) }
}

fn blank(load: &Load, n: u64) -> ClientCall {
    let (op, key, value) = match &load.client {
        Client::Writer { index, .. } => {
            let Write { key, value } = numbers::write(&load.node, *index, n);
            (Op::Write, key, Some(value))
        }
        Client::Reader { .. } => (Op::Read, numbers::register(n), None),
        Client::ApiWriter { .. } => (Op::Write, "config-map".into(), Some(n)),
        Client::ApiReader { .. } => (Op::Read, "config-map".into(), None),
    };
    let (client, node) = (load.name.clone(), load.node.clone());
    ClientCall { client, node, op, key, value, began: Stamp::now(), ended: Stamp::now(), end: CallEnd::Ok, revision: 0 }
}
