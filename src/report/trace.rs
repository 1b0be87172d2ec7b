//! `trace.json`: a case in Chrome's trace format, which Perfetto opens. Nodes are processes; kubeadm, member and spans are their threads.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::model::Case;
use super::page::{Figure, History, Kept, NodeStory};
use crate::event::{Moment, Op, Work};
use crate::sys::clock::Stamp;

/// The file's name.
pub(super) const FILE: &str = "trace.json";

/// Processes that are no node.
const CLUSTER: usize = 1;
const CLIENTS: usize = 2;
const FIRST_NODE: usize = 10;
/// Threads of a node.
const KUBEADM: usize = 1;
const MEMBER: usize = 2;
const SPANS: usize = 3;
/// Points of a counter.
const MOST_POINTS: usize = 600;

struct Trace {
    zero: Stamp,
    events: Vec<Value>,
}

/// The trace of a case.
///
/// # Errors
/// None that a vector could give.
pub(super) fn json(case: &Case, history: &History) -> io::Result<Vec<u8>> {
    let mut trace = Trace { zero: history.zero, events: Vec::new() };
    trace.cluster(case, history);
    trace.clients(history);
    for (at, node) in case.nodes.iter().enumerate() {
        if let Some(story) = history.nodes.get(&node.name) {
            let process = FIRST_NODE + at;
            trace.process(process, case.nodes.short(&node.name));
            trace.node(process, &node.name, story, history);
        }
    }
    let other = json!({"case": case.name, "kubernetes": case.kubernetes, "etcd": case.etcd, "image": case.image});
    Ok(serde_json::to_vec(&json!({"displayTimeUnit": "ms", "otherData": other, "traceEvents": trace.events}))?)
}

impl Trace {
    /// Microseconds from the start.
    fn micros(&self, at: Stamp) -> u64 {
        // viewers read them as doubles, which know whole numbers up to here
        u64::try_from(at.since(self.zero).as_micros()).unwrap_or(u64::MAX).min((1 << 53) - 1)
    }

    fn process(&mut self, process: usize, name: &str) {
        self.events.push(json!({"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}));
        self.events.push(json!({"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}));
    }

    fn thread(&mut self, (process, thread): (usize, usize), name: &str) {
        self.events.push(json!({"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": name}}));
        self.events.push(json!({"ph": "M", "pid": process, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}));
    }

    fn slice(&mut self, (process, thread): (usize, usize), name: &str, from: Stamp, to: Stamp, args: &Value) {
        let (ts, end) = (self.micros(from), self.micros(to));
        let dur = end.saturating_sub(ts);
        self.events.push(json!({"ph": "X", "pid": process, "tid": thread, "name": name, "ts": ts, "dur": dur, "args": args}));
    }

    fn instant(&mut self, (process, thread): (usize, usize), name: &str, at: Stamp, args: &Value) {
        let ts = self.micros(at);
        self.events.push(json!({"ph": "i", "s": "t", "pid": process, "tid": thread, "name": name, "ts": ts, "args": args}));
    }

    fn cluster(&mut self, case: &Case, history: &History) {
        self.process(CLUSTER, "cluster");
        // tasks of a group run side by side, so each has a thread
        for task in &case.tasks {
            let Some((from, to)) = history.tasks.get(&task.plan.index) else { continue };
            let on = (CLUSTER, 10 + task.plan.index);
            self.thread(on, &format!("task {}", task.plan.index));
            let args = json!({"does": task.plan.what, "failed": task.failed(), "trouble": task.trouble()});
            self.slice(on, &task.plan.name, *from, to.unwrap_or(history.last), &args);
            for seen in &task.verdicts {
                let j = &seen.judgement;
                let args = json!({"verdict": j.verdict, "wanted": j.wanted, "saw": j.saw, "events": j.evidence});
                self.instant(on, &format!("{}: {}", super::tone::verdict(j.verdict).1, j.name), to.unwrap_or(history.last), &args);
            }
        }
        if !history.reigns.is_empty() {
            self.thread((CLUSTER, 1), "leader");
        }
        for (at, reign) in history.reigns.iter().enumerate() {
            let to = history.reigns.get(at + 1).map_or(history.last, |next| next.from);
            let owner = history.lives.get(&reign.leader).and_then(|life| life.owner.as_deref());
            let nobody = || if reign.leader.0 == 0 { "no leader".to_owned() } else { reign.leader.to_string() };
            let who = owner.map_or_else(nobody, |name| case.nodes.short(name).to_owned());
            self.slice((CLUSTER, 1), &who, reign.from, to, &json!({"term": reign.term, "member": reign.leader}));
        }
    }

    fn clients(&mut self, history: &History) {
        if !history.clients.is_empty() {
            self.process(CLIENTS, "clients");
        }
        for (at, (name, client)) in history.clients.iter().enumerate() {
            let on = (CLIENTS, at + 1);
            self.thread(on, name);
            for Kept { op, began, ended, why, unknown } in &client.calls {
                let word = match op {
                    Op::Write => "write",
                    Op::Read => "read",
                };
                let end = match (why, unknown) {
                    (None, _) => "ok",
                    (Some(_), false) => "failed",
                    (Some(_), true) => "unknown",
                };
                self.slice(on, word, *began, *ended, &json!({"end": end, "why": why}));
            }
        }
    }

    fn node(&mut self, process: usize, name: &str, story: &NodeStory, history: &History) {
        for (thread, word) in [(KUBEADM, "kubeadm"), (MEMBER, "etcd member"), (SPANS, "spans")] {
            self.thread((process, thread), word);
        }
        for (work, began, took) in &story.works {
            let word = match work {
                Work::CreateNode => "create",
                Work::Boot => "boot",
                // kubeadm's own slices are those
                Work::Init | Work::Join | Work::CreateNodes | Work::Joins | Work::Ready | Work::Delete => continue,
            };
            self.slice((process, KUBEADM), word, *began, later(*began, *took), &json!({}));
        }
        for run in &story.runs {
            // stamps of a file that nobody vouches for may run backwards
            let end = run.ended.unwrap_or(history.last).max(run.began);
            let args = json!({"passed": run.passed, "error": run.error});
            self.slice((process, KUBEADM), &format!("kubeadm {}", run.command), run.began, end, &args);
            for (at, (phase, seen)) in run.phases.iter().enumerate() {
                let to = run.phases.get(at + 1).map_or(end, |(_, next)| *next);
                // inside its command, where a viewer draws it
                self.slice((process, KUBEADM), phase, (*seen).clamp(run.began, end), to.clamp(run.began, end), &json!({}));
            }
        }
        for (id, life) in history.lives.iter().filter(|(_, life)| life.owner.as_deref() == Some(name)) {
            let mut moments: Vec<(Moment, Stamp)> = life.moments.iter().map(|(moment, sight)| (*moment, sight.at)).collect();
            moments.sort_by_key(|(moment, at)| (*at, *moment));
            for (at, (moment, from)) in moments.iter().enumerate() {
                let to = moments.get(at + 1).map_or(history.last, |(_, next)| *next);
                let word = match moment {
                    Moment::Announced => "announced",
                    Moment::Founded => "founded",
                    Moment::Started => "started",
                    Moment::PeerActive => "peers connected",
                    Moment::CaughtUp => "caught up",
                    Moment::Promoted => "voter",
                    Moment::GatePassed => "connected for long enough",
                    Moment::Removed => continue,
                };
                self.slice((process, MEMBER), word, *from, to, &json!({"member": id}));
            }
        }
        for (span, began, took) in &story.spans {
            self.slice((process, SPANS), span.as_str(), *began, later(*began, *took), &json!({}));
        }
        for ((component, figure), series) in &story.usages.series {
            let counter = format!("{component} {}", word(*figure));
            for (at, value) in series.points(MOST_POINTS) {
                let ts = self.micros(at);
                self.events.push(json!({"ph": "C", "pid": process, "name": counter, "ts": ts, "args": {"value": value}}));
            }
        }
    }
}

/// With its unit, since a counter has none.
fn word(figure: Figure) -> &'static str {
    match figure {
        Figure::Cpu => "CPUs",
        Figure::Memory => "memory (bytes)",
        Figure::Disk => "disk (bytes/s)",
        Figure::Network => "network (bytes/s)",
        Figure::Peers => "peers (bytes/s)",
        Figure::Store => "store (bytes)",
        Figure::Fsync => "fsync p99 (s)",
    }
}

fn later(began: Stamp, took: Duration) -> Stamp {
    Stamp { mono: began.mono.saturating_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)), ..began }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::super::files::Pages;
    use super::super::model::Run;
    use super::super::script::Script;
    use super::*;

    fn trace(script: &Script) -> Value {
        let (mut run, mut pages) = (Run::default(), Pages::default());
        for told in &script.told {
            let ended = run.hear(told);
            pages.hear(told, &run, ended);
        }
        let bytes = json(run.cases().last().expect("a case"), pages.histories().last().expect("its history")).expect("written");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// What Chrome's trace format wants of each event (the document "Trace Event Format"): Perfetto drops what differs without a word.
    pub(in super::super) fn assert_valid(bytes: &[u8]) {
        let trace: Value = serde_json::from_slice(bytes).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("a list of events");
        let (mut processes, mut threads) = (BTreeSet::new(), BTreeSet::new());
        let mut named: BTreeSet<(u64, Option<u64>)> = BTreeSet::new();
        for event in events {
            let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} is no whole number in {event}"));
            let pid = number("pid");
            assert!(event["name"].as_str().is_some_and(|name| !name.is_empty()), "{event}");
            // microseconds are read as doubles
            let time = |key: &str| assert!(number(key) < 1 << 53, "{key} of {event}");
            match event["ph"].as_str().expect("a phase") {
                "X" => {
                    time("ts");
                    time("dur");
                    threads.insert((pid, number("tid")));
                }
                "i" => {
                    time("ts");
                    assert!(["t", "p", "g"].contains(&event["s"].as_str().unwrap_or_default()), "{event}");
                    threads.insert((pid, number("tid")));
                }
                "C" => {
                    time("ts");
                    let args = event["args"].as_object().expect("series");
                    assert!(!args.is_empty() && args.values().all(Value::is_number), "{event}");
                    processes.insert(pid);
                }
                "M" => match event["name"].as_str().unwrap_or_default() {
                    "process_name" | "thread_name" => {
                        assert!(event["args"]["name"].is_string(), "{event}");
                        assert!(named.insert((pid, event["tid"].as_u64())), "named twice: {event}");
                    }
                    "process_sort_index" | "thread_sort_index" => assert!(event["args"]["sort_index"].is_number(), "{event}"),
                    other => panic!("metadata {other}"),
                },
                other => panic!("phase {other}"),
            }
        }
        for (pid, tid) in threads {
            assert!(named.contains(&(pid, Some(tid))), "thread {tid} of process {pid} has no name");
            processes.insert(pid);
        }
        for pid in processes {
            assert!(named.contains(&(pid, None)), "process {pid} has no name");
        }
    }

    #[test]
    fn every_event_is_as_the_format_wants_it() {
        for script in [Script::passing(), Script::failing(), Script::stopped(), Script::grouped(), Script::hostile(), Script::matrix()] {
            let trace = trace(&script);
            assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 3));
            assert_valid(trace.to_string().as_bytes());
        }
        let spoilt = |change: &str, to: &str| {
            let text = trace(&Script::passing()).to_string();
            assert!(text.contains(change), "{change}");
            std::panic::catch_unwind(|| assert_valid(text.replace(change, to).as_bytes())).is_err()
        };
        assert!(spoilt("\"ph\":\"X\"", "\"ph\":\"Z\"") && spoilt("\"dur\":", "\"duration\":") && spoilt("\"thread_name\"", "\"thread\""));
        assert!(spoilt("\"pid\":10", "\"pid\":\"10\"") && spoilt("\"s\":\"t\"", "\"s\":\"thread\""));
    }

    #[test]
    fn slices_of_a_thread_lie_beside_or_inside_each_other() {
        for script in [Script::passing(), Script::failing(), Script::stopped(), Script::grouped(), Script::hostile()] {
            let trace = trace(&script);
            let events = trace["traceEvents"].as_array().expect("events");
            let mut slices: Vec<(u64, u64, u64, u64)> = Vec::new();
            for event in events.iter().filter(|event| event["ph"] == "X") {
                let of = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"));
                slices.push((of("pid"), of("tid"), of("ts"), of("ts") + of("dur")));
            }
            for a in &slices {
                for b in slices.iter().filter(|b| (b.0, b.1) == (a.0, a.1)) {
                    let crosses = a.2 < b.2 && b.2 < a.3 && a.3 < b.3;
                    assert!(!crosses, "{a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn what_a_node_did_is_under_its_name() {
        let trace = trace(&Script::passing());
        let events = trace["traceEvents"].as_array().expect("events");
        let process = events.iter().find(|e| e["name"] == "process_name" && e["args"]["name"] == "control-plane-2").expect("a process");
        let of = |name: &str| events.iter().filter(|e| e["pid"] == process["pid"] && e["ph"] == "X" && e["name"] == name).count();
        for name in ["create", "boot", "kubeadm join", "etcd", "announced", "started", "voter"] {
            assert_eq!(of(name), 1, "{name}");
        }
        let verdicts: Vec<&str> = events.iter().filter(|e| e["ph"] == "i").filter_map(|e| e["name"].as_str()).collect();
        assert!(verdicts.contains(&"PASS: members"), "{verdicts:?}");
    }
}
