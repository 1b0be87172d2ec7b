//! Demands on use, time, leaders, joins, order and logs that nothing could meet, or that would never be looked at.

use super::super::file::Path;
use super::findings::Findings;
use super::select::{Empty, Meant, Nodes, look_up};
use super::types::Step;
use crate::spec::{
    Amount, Comparable, Compare, Expectations, Join, Joins, Limit, Logs, Order, Over, Pick, Point, RatioTo, Resources, Selector, Time,
};

/// Looks at what one task expects.
pub(super) fn check(step: &Step, expect: &Expectations, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    if let Some(joins) = &expect.joins {
        self::joins(joins, step, &path.key("joins"), nodes, findings);
    }
    if let Some(why) = expect.leader.as_ref().and_then(|leader| leader.changes.wrong()) {
        findings.wrong(&path.key("leader").key("changes"), why);
    }
    if let Some(order) = &expect.order {
        self::order(order, &path.key("order"), nodes, findings);
    }
    if let Some(resources) = &expect.resources {
        self::resources(resources, &path.key("resources"), findings);
    }
    if let Some(time) = &expect.time {
        self::time(time, step, &path.key("time"), findings);
    }
    if let Some(logs) = &expect.logs {
        self::logs(logs, &path.key("logs"), findings);
    }
}

/// Do nodes join in it? A group holds tasks that may.
fn joins_nodes(step: &Step) -> bool {
    matches!(step, Step::Join(_) | Step::Scale(_) | Step::Group { .. })
}

fn joins(joins: &Joins, step: &Step, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    if !matches!(step, Step::Join(_) | Step::Scale(_)) {
        findings.wrong(path, "joins is about the joins of its own task: it belongs to a task with join or scale");
    }
    if let (Joins::Oracle, Step::Join(join)) = (joins, step) {
        self::oracle(join, path, findings);
    }
    if *joins == Joins::Oracle && matches!(step, Step::Scale(_)) {
        findings.wrong_with(
            path,
            "of nodes that `scale` makes the oracle sees nothing before",
            "make them with the cluster, and `join` them",
        );
    }
    let Joins::These(these) = joins else { return };
    if these.is_empty() {
        findings.wrong_with(path, "joins names no node", "say `joins: ok` where all succeed, or `cp3: {fails: TEXT}`");
    }
    for (pick, end) in these {
        if one_node(pick, path, nodes, findings) && matches!(pick, Pick::First | Pick::ControlPlane(1)) {
            findings.wrong(path, "the first control plane is there by `init`: it does not join");
        }
        if end.fails.is_empty() {
            findings.wrong(path, format!("{pick}: each error holds the empty text: say a part of kubeadm's own"));
        }
    }
}

/// What the oracle's rules are not about.
fn oracle(join: &Join, path: &Path, findings: &mut Findings<'_>) {
    let other = [("order: staged", join.order == Order::Staged), ("inFlight", join.in_flight.is_some()), ("jitter", join.jitter.is_some())];
    for (key, _) in other.iter().filter(|(_, there)| *there) {
        findings.wrong(path, format!("the oracle knows joins all at once, or one after the other: no `{key}`"));
    }
}

/// Is just one node meant, that is known before the run?
fn one_node(pick: &Pick, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) -> bool {
    let meant: Meant = look_up(&Selector(vec![pick.clone()]), nodes, Empty::Never, path, findings);
    if meant.unknown || meant.nodes.len() > 1 {
        findings.wrong_with(path, format!("`{pick}` is not one node"), format!("nodes are: {}", nodes.words()));
    }
    meant.nodes.len() == 1
}

fn order(order: &[Point], path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    if order.len() < 2 {
        findings.wrong_with(path, "an order needs two moments", "say `[cp2 promoted, cp3 announced]`");
    }
    for (at, point) in order.iter().enumerate() {
        one_node(&point.node, &path.index(at), nodes, findings);
    }
}

fn resources(resources: &Resources, path: &Path, findings: &mut Findings<'_>) {
    if resources.each().next().is_none() {
        findings.wrong_with(path, "resources demands nothing", "say node, etcd, kube-apiserver or kubelet");
    }
    for (component, amounts) in resources.each() {
        let path = path.key(component);
        let mut any = bounds(amounts.rss, &path, "rss", findings);
        any |= bounds(amounts.working_set, &path, "workingSet", findings);
        any |= bounds(amounts.peak, &path, "peak", findings);
        any |= bounds(amounts.cpu_seconds, &path, "cpuSeconds", findings);
        counted(amounts.cpu_seconds, &path, "cpuSeconds", findings);
        counted(amounts.peer_bytes, &path, "peerBytes", findings);
        let etcds = [
            ("peerBytes", bounds(amounts.peer_bytes, &path, "peerBytes", findings)),
            ("dbSize", bounds(amounts.db_size, &path, "dbSize", findings)),
            ("fsyncP99", bounds(amounts.fsync_p99, &path, "fsyncP99", findings)),
        ];
        for (key, _) in etcds.iter().filter(|(_, there)| *there) {
            any = true;
            if component != "etcd" {
                findings.wrong(&path.key(key), format!("`{key}` is etcd's alone"));
            }
        }
        if !any {
            findings.wrong_with(
                &path,
                "nothing is demanded of it",
                "say rss, workingSet, peak, cpuSeconds, and of etcd peerBytes, dbSize, fsyncP99",
            );
        }
    }
}

/// Tells what is wrong with the bounds; are there any?
fn bounds<T: Comparable>(amount: Option<Amount<T>>, path: &Path, key: &'static str, findings: &mut Findings<'_>) -> bool {
    let Some(amount) = amount else { return false };
    let path = path.key(key);
    let limits = || [amount.equals, amount.min, amount.max].into_iter().flatten();
    let (values, percentages) =
        (limits().any(|limit| matches!(limit, Limit::Is(_))), limits().any(|limit| matches!(limit, Limit::Times(_))));
    match amount.ratio_to {
        None if percentages => findings.wrong_with(&path, "a percentage is of another amount", "say `ratioTo: before`, or an amount"),
        Some(_) if values => findings.wrong_with(&path, "with `ratioTo` bounds are percentages", "write them as in `max: 150%`"),
        Some(RatioTo::Before) if amount.over == Over::Run => {
            findings.wrong(&path.key("over"), "there is nothing before the run to be held against");
        }
        Some(RatioTo::Before) | None => {
            let wrong = if amount.ratio_to.is_some() { amount.ratios().wrong() } else { amount.bounds().wrong() };
            if let Some(why) = wrong {
                findings.wrong(&path, why);
            }
        }
    }
    true
}

/// What is counted over a time has no value before it.
fn counted<T>(amount: Option<Amount<T>>, path: &Path, key: &'static str, findings: &mut Findings<'_>) {
    if amount.is_some_and(|amount| amount.ratio_to.is_some()) {
        findings.wrong(&path.key(key).key("ratioTo"), format!("`{key}` is counted over a time: it has no value before it"));
    }
}

fn time(time: &Time, step: &Step, path: &Path, findings: &mut Findings<'_>) {
    if time.step.is_none() && time.node.is_none() && time.span.is_empty() {
        findings.wrong_with(path, "time demands nothing", "say step, node or span");
    }
    if *step == Step::Expect && time.step.is_some() {
        findings.wrong(&path.key("step"), "a task without a step takes no time of its own");
    }
    for (key, there) in [("node", time.node.is_some()), ("span", !time.span.is_empty())] {
        if there && !joins_nodes(step) {
            findings.wrong(&path.key(key), format!("`{key}` is about nodes that join: it belongs to a task with join, scale or group"));
        }
    }
    for (key, wanted) in [("step", time.step), ("node", time.node)] {
        if let Some(why) = wanted.and_then(|wanted| wanted.wrong()) {
            findings.wrong(&path.key(key), why);
        }
    }
    for why in time.span.values().filter_map(Compare::wrong) {
        findings.wrong(&path.key("span"), why);
    }
}

fn logs(logs: &Logs, path: &Path, findings: &mut Findings<'_>) {
    if logs.each().next().is_none() {
        findings.wrong_with(path, "logs demands nothing", "say etcd, kube-apiserver, kubelet or kubeadm");
    }
    for (component, texts) in logs.each() {
        let path = path.key(component);
        if texts.some.is_empty() && texts.none.is_empty() {
            findings.wrong_with(&path, "no text is named", "say `some: [TEXT]` or `none: [TEXT]`");
        }
        for (key, list) in [("some", &texts.some), ("none", &texts.none)] {
            if list.iter().any(String::is_empty) {
                findings.wrong(&path.key(key), "each line holds the empty text");
            }
        }
    }
}
