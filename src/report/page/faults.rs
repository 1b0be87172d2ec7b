//! What was broken on purpose, and what kubeadm asked etcd for while a proxy stood between them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::event::{EtcdCall, FaultMoment};
use crate::report::line::moment as said;
use crate::report::nodes::Nodes;
use crate::sys::clock::{Stamp, human};

/// Of each fault so many moments are kept: each call that it meets is one.
const MOST: usize = 12;

/// All of a case.
#[derive(Debug, Default)]
pub(in crate::report) struct Broken {
    /// In the order in which they were armed.
    pub(super) faults: Vec<Fault>,
    calls: BTreeMap<(String, String), Calls>,
}

/// One fault.
#[derive(Debug)]
pub(super) struct Fault {
    task: usize,
    pub(super) id: String,
    pub(super) armed: Stamp,
    /// When it began to break something.
    pub(super) began: Option<Stamp>,
    pub(super) ended: Option<Stamp>,
    /// In words.
    pub(super) moments: Vec<(Stamp, String)>,
}

/// Calls of one kind from one node.
#[derive(Debug, Default)]
struct Calls {
    all: u64,
    ok: u64,
    /// How often each of etcd's other answers came: gRPC's code.
    refused: BTreeMap<u32, u64>,
    silent: u64,
    disturbed: u64,
    longest: Duration,
}

impl Broken {
    pub(super) fn fault(&mut self, (task, id, what): (usize, &str, &str), moment: &FaultMoment, at: Stamp) {
        let place = self.faults.iter().rposition(|fault| fault.task == task && fault.id == id).unwrap_or_else(|| {
            let id = id.to_owned();
            self.faults.push(Fault { task, id, armed: at, began: None, ended: None, moments: Vec::new() });
            self.faults.len() - 1
        });
        let fault = &mut self.faults[place];
        match moment {
            FaultMoment::Done { began, .. } => fault.began = Some(*began),
            FaultMoment::Healed | FaultMoment::NeverTriggered | FaultMoment::NotApplicable { .. } => fault.ended = Some(at),
            // what could not be undone goes on
            FaultMoment::Failed { .. } => fault.ended = fault.began.is_none().then_some(at),
            FaultMoment::Armed | FaultMoment::Bit { .. } => {}
        }
        if fault.moments.len() < MOST || !matches!(moment, FaultMoment::Bit { .. }) {
            fault.moments.push((at, said(what, moment).1));
        }
    }

    pub(super) fn proxied(&mut self, node: &str, call: &EtcdCall) {
        let calls = self.calls.entry((node.to_owned(), call.method.clone())).or_default();
        calls.all += 1;
        match call.answered {
            Some(0) => calls.ok += 1,
            Some(code) => *calls.refused.entry(code).or_default() += 1,
            None => calls.silent += 1,
        }
        calls.disturbed += u64::from(call.disturbed.is_some());
        calls.longest = calls.longest.max(call.ended.since(call.began));
    }

    /// The table of calls, its head first; nothing where no proxy saw any.
    pub(super) fn calls(&self, nodes: &Nodes) -> Vec<Vec<String>> {
        let head = ["node", "call", "times", "ok", "refused by etcd", "not answered", "met a fault", "longest"];
        let row = |((node, method), calls): (&(String, String), &Calls)| {
            let refused: Vec<String> = calls.refused.iter().map(|(code, times)| format!("{times} with code {code}")).collect();
            let none_is_dash = |n: u64| if n == 0 { "–".to_owned() } else { n.to_string() };
            vec![
                nodes.short(node).to_owned(),
                method.clone(),
                calls.all.to_string(),
                none_is_dash(calls.ok),
                if refused.is_empty() { "–".to_owned() } else { refused.join(", ") },
                none_is_dash(calls.silent),
                none_is_dash(calls.disturbed),
                human(calls.longest),
            ]
        };
        let rows: Vec<Vec<String>> = self.calls.iter().map(row).collect();
        if rows.is_empty() { rows } else { std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect() }
    }
}
