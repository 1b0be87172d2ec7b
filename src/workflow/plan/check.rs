//! One task against the nodes that there are by then: selectors that mean none, settings that would be ignored, expectations that
//! nothing could meet or that would never be looked at.

use super::super::file::{Path, suggestion};
use super::faults::Then;
use super::findings::Findings;
use super::select::{Empty, FIRST, Nodes, look_up};
use super::types::{PlannedTask, Step, Transfer};
use super::{alone, demands, faults};
use crate::spec::{Advise, Advised, Exec, Fault, Join, Joins, KnownBad, Order, Part, Repair, Restart, State, Wait};

/// One task by itself, with the nodes that there are by then.
pub(super) fn one(task: &PlannedTask, path: &Path, nodes: &Nodes, then: Then<'_>, findings: &mut Findings<'_>) {
    let own = path.key(task.step.word());
    match &task.step {
        step if nodes.is_etcd_alone() && alone::by_kubeadm(step) => {}
        Step::Join(join) => self::join(join, &own, nodes, findings),
        Step::Exec(exec) => self::exec(exec, &own, nodes, findings),
        Step::Copy(transfer) => self::copy(transfer, &own, nodes, findings),
        Step::Wait(wait) => self::wait(wait, &own, nodes, findings),
        Step::Restart(restart) => self::restart(restart, &own, nodes, findings),
        Step::Reset(reset) => drop(look_up(&reset.nodes, nodes, Empty::Allowed(reset.allow_empty), &own.key("nodes"), findings)),
        Step::Repair(repair) => self::repair(repair, &own, nodes, findings),
        Step::Advise(advise) => self::advise(advise, &own, findings),
        Step::Member(member) => alone::member(member, &own, nodes, findings),
        Step::Fault(fault) => faults::standing(fault, &own, nodes, then, findings),
        Step::Cmd(_)
        | Step::Create
        | Step::Init
        | Step::Group { .. }
        | Step::Export(_)
        | Step::Scale(_)
        | Step::Heal(_)
        | Step::Delete
        | Step::Expect => {}
    }
    faults::check(task, path, nodes, then, findings);
    expectations(task, &path.key("expect"), nodes, then, findings);
}

fn join(join: &Join, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let selected = path.key("nodes");
    match &join.nodes {
        None => {
            if nodes.control_planes + nodes.workers < 2 && !join.allow_empty {
                let help = "raise `controlPlanes` or `workers` of the cluster";
                findings.wrong_with(&selected, "the cluster has no node that could join", help);
            }
        }
        Some(selector) => {
            let meant = look_up(selector, nodes, Empty::Allowed(join.allow_empty), &selected, findings);
            if meant.unknown {
                findings.wrong(&selected, "leader, followers and learner are members already: they cannot join");
            }
            if meant.nodes.iter().eq([&FIRST]) {
                findings.wrong(&selected, "the first control plane is there by `init`: it cannot join");
            }
        }
    }
    if join.in_flight == Some(0) {
        findings.wrong(&path.key("inFlight"), "with none at a time no join would ever start");
    }
    if join.order != Order::Parallel {
        for (key, there) in [("inFlight", join.in_flight.is_some()), ("jitter", join.jitter.is_some()), ("seed", join.seed.is_some())] {
            if there {
                findings.wrong(&path.key(key), format!("`{key}` belongs to `order: parallel`"));
            }
        }
    }
}

fn repair(repair: &Repair, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let own = path.key("nodes");
    match &repair.nodes {
        Some(selector) => {
            let meant = look_up(selector, nodes, Empty::Allowed(repair.allow_empty), &own, findings);
            if meant.nodes.contains(&FIRST) {
                findings.wrong(&own, "the first control plane is there by `init`: no join of it can have failed");
            }
        }
        None if repair.allow_empty => findings.wrong(&path.key("allowEmpty"), "`allowEmpty` belongs to `nodes`"),
        None => {}
    }
}

fn advise(advise: &Advise, path: &Path, findings: &mut Findings<'_>) {
    if advise.because.as_ref().is_some_and(String::is_empty) {
        findings.wrong_with(&path.key("because"), "every answer holds this empty text", "say a rule's name such as learner-limit");
    }
    if advise.because.is_some() && advise.is == Advised::Yes {
        findings.wrong(&path.key("because"), "a yes has no reasons: `because` belongs to `is: no`");
    }
}

fn exec(exec: &Exec, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    look_up(&exec.nodes, nodes, Empty::Allowed(exec.allow_empty), &path.key("nodes"), findings);
    if !(0..=255).contains(&exec.exit_code) {
        findings.wrong(&path.key("exitCode"), format!("no program can end with {}: exit codes are 0 to 255", exec.exit_code));
    }
    match (&exec.command, &exec.script) {
        (Some(_), Some(_)) => findings.wrong(&path.key("script"), "`command` and `script` cannot both be run: leave one out"),
        (None, None) => {
            findings.wrong_with(path, "nothing is run", "say `command: [PROGRAM, ARGUMENT]`, or `script: |` with lines for bash");
        }
        (Some(words), None) if words.first().is_none_or(String::is_empty) => {
            findings.wrong(&path.key("command"), "the command names no program");
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
}

fn copy(transfer: &Transfer, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    match transfer {
        Transfer::In { nodes: selector, allow_empty, .. } => {
            drop(look_up(selector, nodes, Empty::Allowed(*allow_empty), &path.key("to"), findings));
        }
        Transfer::Out { node, .. } => {
            let meant = look_up(node, nodes, Empty::Never, &path.key("from"), findings);
            if meant.nodes.len() > 1 {
                let what = format!("{node} means {} nodes, whose files would take each other's place", meant.nodes.len());
                findings.wrong_with(&path.key("from"), what, "copy from one node a task");
            }
        }
    }
}

fn wait(wait: &Wait, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    match (wait.time, wait.until) {
        (Some(_), Some(_)) => findings.wrong(&path.key("until"), "it waits for a time or until a state, not for both"),
        (None, None) => {
            findings.wrong_with(path, "there is nothing to wait for", "say `time: 5s`, or `until: ready` with the `nodes` that are meant");
        }
        (Some(_), None) => {
            for (key, there) in [("nodes", wait.nodes.is_some()), ("within", wait.within.is_some())] {
                if there {
                    findings.wrong(&path.key(key), format!("`{key}` belongs to `until`"));
                }
            }
        }
        (None, Some(state)) => {
            let Some(selector) = &wait.nodes else { return };
            let meant = look_up(selector, nodes, Empty::Allowed(wait.allow_empty), &path.key("nodes"), findings);
            let lacks = match state {
                State::ApiServer => "API server",
                State::Voter => "etcd member",
                State::Running | State::Ready => return,
            };
            if meant.workers() > 0 {
                findings.wrong(&path.key("nodes"), format!("workers have no {lacks}: select control planes only"));
            }
        }
    }
}

fn restart(restart: &Restart, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let meant = look_up(&restart.nodes, nodes, Empty::Allowed(restart.allow_empty), &path.key("nodes"), findings);
    if meant.workers() > 0 && matches!(restart.what, Part::Etcd | Part::KubeApiserver) {
        findings.wrong(&path.key("nodes"), format!("workers have no {}: select control planes only", restart.what.as_str()));
    }
}

fn expectations(task: &PlannedTask, path: &Path, nodes: &Nodes, then: Then<'_>, findings: &mut Findings<'_>) {
    let expect = &task.expect;
    if expect.is_empty() {
        if task.step == Step::Expect {
            findings.wrong_with(
                path,
                "nothing is expected",
                "say members, promotion, nodes, joins, leader, order, resources, time, logs, writeGap, lostWrites or staleReads",
            );
        }
        return;
    }
    match &task.step {
        Step::Delete => findings.wrong(path, "nothing can be expected of a cluster that this task removes"),
        Step::Create => findings.wrong(path, "nothing can be expected before `init` has run"),
        Step::Cmd(_)
        | Step::Init
        | Step::Join(_)
        | Step::Exec(_)
        | Step::Copy(_)
        | Step::Wait(_)
        | Step::Group { .. }
        | Step::Export(_)
        | Step::Restart(_)
        | Step::Reset(_)
        | Step::Repair(_)
        | Step::Scale(_)
        | Step::Advise(_)
        | Step::Member(_)
        | Step::Fault(_)
        | Step::Heal(_)
        | Step::Expect => {
            // of an `expect` alone its turn is told already
            if !then.inited && task.step != Step::Expect {
                findings.wrong_with(path, "nothing can be expected by then", "put a task with `init` before it");
            }
        }
    }
    if let Some(promotion) = &expect.promotion {
        let own = path.key("promotion");
        if !matches!(task.step, Step::Join(_) | Step::Scale(_) | Step::Member(_) | Step::Group { .. }) {
            findings.wrong(&own, "promotion is about the learners of its own task: it belongs to a task with join, scale, member or group");
        }
        match (promotion.min, promotion.max) {
            (None, None) => findings.wrong(&own, "promotion has neither min nor max"),
            (Some(min), Some(max)) if min > max => findings.wrong(&own.key("min"), "promotion: min is larger than max"),
            _ => {}
        }
    }
    if let Some(members) = &expect.members {
        let own = path.key("members");
        if members.voters.is_none() && members.learners.is_none() && members.started.is_none() && members.names.is_none() {
            findings.wrong_with(&own, "members demands nothing", "say voters, learners, started or names");
        }
        for (key, count) in [("voters", members.voters), ("learners", members.learners), ("started", members.started)] {
            if let Some(why) = count.and_then(|count| count.wrong()) {
                findings.wrong(&own.key(key), why);
            }
        }
    }
    if let Some(why) = expect.nodes.as_ref().and_then(|nodes| nodes.ready.wrong()) {
        findings.wrong(&path.key("nodes").key("ready"), why);
    }
    if expect.joins == Some(Joins::Oracle) && !task.faults.is_empty() {
        let help = "break it in a task before, with `fault` and at once, and end it behind with `heal`";
        findings.wrong_with(&path.key("joins"), "the oracle knows nothing of what the task's own faults will do", help);
    }
    let later = |fault: &&Fault| fault.on.call.is_some() || fault.on.event.is_some() || fault.on.phase.is_some();
    if let (Some(Joins::Oracle), Some(fault)) = (&expect.joins, then.standing.iter().find(later)) {
        let what = format!("the oracle knows nothing of what the fault `{}` will do, which may be set off in this join", fault.id);
        findings.wrong_with(&path.key("joins"), what, "let it begin at once, without `on`, or `heal` it before");
    }
    if let (Some(Joins::Oracle), Step::Join(Join { nodes: Some(selector), .. })) = (&expect.joins, &task.step) {
        let meant = nodes.selected(selector);
        if !meant.nodes.is_empty() && meant.workers() == meant.nodes.len() {
            findings.wrong(&path.key("joins"), "the oracle is about members of etcd: only workers join here");
        }
    }
    alone::expectations(expect, path, nodes, findings);
    demands::check(&task.step, expect, path, nodes, findings);
}

/// Looks at what is known to fail.
pub(super) fn known_bad(all: &[KnownBad], tasks: &[(Path, PlannedTask)], findings: &mut Findings<'_>) {
    let list = Path::default().key("knownBad");
    for (at, known) in all.iter().enumerate() {
        let path = list.index(at);
        if known.kubeadm.is_empty() && known.etcd.is_empty() {
            findings.wrong_with(&path, "no version is named", "say `kubeadm: {\"1.34\": \">=1.34.4\"}`, or the same with etcd");
        }
        if known.issue.trim().is_empty() {
            findings.wrong_with(&path.key("issue"), "no issue is named", "say where it is reported, as in kubernetes/kubeadm#3317");
        }
        if known.fails.error.as_ref().is_some_and(|error| error.trim().is_empty()) {
            let what = "every failure holds this empty text";
            findings.wrong_with(&path.key("fails").key("error"), what, "say a text of the reason, or leave `error` out");
        }
        for (key, table) in [("kubeadm", &known.kubeadm), ("etcd", &known.etcd)] {
            for (minor, demand) in table {
                let read = minor.split_once('.').and_then(|(major, minor)| Some((major.parse::<u16>().ok()?, minor.parse::<u16>().ok()?)));
                match read.filter(|(a, b)| format!("{a}.{b}") == *minor) {
                    None => findings.wrong(&path.key(key), format!("{minor:?} is no minor version: write it as in \"1.34\"")),
                    Some((a, b)) if !demand.allows(a, b) => {
                        findings.wrong(&path.key(key), format!("no version {minor} meets {demand}"));
                    }
                    Some(_) => {}
                }
            }
        }
        let inner = |task: &'_ PlannedTask| if let Step::Group { tasks, .. } = &task.step { tasks.clone() } else { Vec::new() };
        let all_tasks: Vec<PlannedTask> = tasks.iter().flat_map(|(_, task)| std::iter::once(task.clone()).chain(inner(task))).collect();
        let names = || all_tasks.iter().map(|task| task.name.as_str());
        if !names().any(|name| name == known.fails.step) {
            let help = match suggestion(&known.fails.step, names()) {
                Some(meant) => format!("is {meant:?} meant?"),
                None => format!("tasks are: {}", names().collect::<Vec<_>>().join(", ")),
            };
            findings.wrong_with(&path.key("fails").key("step"), format!("there is no task {:?}", known.fails.step), help);
        }
        if let Some(task) = all_tasks.iter().find(|task| task.name == known.fails.step) {
            known_step(known, task, &path.key("fails"), findings);
        }
    }
}

/// Can this task fail so?
fn known_step(known: &KnownBad, task: &PlannedTask, path: &Path, findings: &mut Findings<'_>) {
    if task.ignore_error {
        let what = format!("a failure of {:?} is forgiven by `ignoreError`, and none of it is the known one", task.name);
        findings.wrong_with(&path.key("step"), what, "leave `ignoreError` out: a known failure is none of the run's");
    }
    if known.fails.residue.is_some() && !matches!(task.step, Step::Join(_) | Step::Scale(_)) {
        let what = format!("nobody joins in `{}`, so that no failed join leaves anything", task.step.word());
        findings.wrong_with(&path.key("residue"), what, "name a task with `join` or `scale`, also one of a group");
    }
}
