//! What an etcd alone has not got, and what only it has.

use super::super::file::Path;
use super::case::whole;
use super::findings::Findings;
use super::select::{Empty, Nodes, look_up};
use super::types::Step;
use crate::spec::{ClusterSpec, Expectations, Logs, MemberStep, Part, Resources, Restart, Selector, State, Timeouts, Wait};

/// Settings of the cluster that belong to the other kind.
pub(super) fn cluster(spec: &ClusterSpec, findings: &mut Findings<'_>) {
    let path = Path::default().key("cluster");
    if spec.etcd.members.is_some() {
        let kubernetes = [
            ("kubernetes", spec.kubernetes.is_some()),
            ("controlPlanes", spec.control_planes.is_some()),
            ("workers", spec.workers > 0),
            ("loadBalancer", spec.load_balancer.is_some()),
            ("versions", !spec.versions.is_empty()),
            ("timeouts", spec.timeouts != Timeouts::default()),
        ];
        for (key, _) in kubernetes.into_iter().filter(|(_, there)| *there) {
            let what = format!("`{key}` belongs to a cluster with Kubernetes, and with `members` etcd is alone");
            findings.wrong_with(&path.key(key), what, "leave one of the two out");
        }
        names(spec, &path.key("etcd"), findings);
        return;
    }
    let etcd = &spec.etcd;
    if spec.timeouts.etcd_api_call.is_some_and(|limit| limit.0.is_zero()) {
        findings.wrong(&path.key("timeouts").key("etcdAPICall"), "no time at all: kubeadm takes its own limit then");
    }
    for (key, there) in [("nodes", etcd.nodes.is_some()), ("env", !etcd.env.0.is_empty())] {
        if there {
            let what = format!("`{key}` belongs to etcd alone");
            findings.wrong_with(&path.key("etcd").key(key), what, "say `members`, and leave `kubernetes` out");
        }
    }
}

/// Names of flags and of the environment that could be none of etcd's.
fn names(spec: &ClusterSpec, path: &Path, findings: &mut Findings<'_>) {
    let flag = |name: &str| !name.is_empty() && !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    for (name, _) in spec.etcd.args.0.iter().filter(|(name, _)| !flag(name)) {
        let what = format!("{name:?} is no flag of etcd's");
        findings.wrong_with(&path.key("args"), what, "write it as etcd does, without the dashes before it: snapshot-count");
    }
    let variable = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for (name, _) in spec.etcd.env.0.iter().filter(|(name, _)| !variable(name)) {
        let what = format!("{name:?} can be no name in an environment");
        findings.wrong_with(&path.key("env"), what, "use letters, digits and '_', as in ETCD_SNAPSHOT_COUNT");
    }
}

/// `https://10.213.0.12:2380`: what etcd takes for a peer's URL.
fn is_peer_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    let port = rest.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
    !rest.contains('/') && port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// The word of a change to a member that has to be in the list before it, and the node.
pub(super) fn of_a_member(step: &MemberStep) -> Option<(&'static str, &Selector)> {
    let MemberStep { add: _, start, promote, remove, update, stop, put: _, fails: _ } = step;
    let all = [
        ("start", start.as_ref().map(|start| &start.node)),
        ("promote", promote.as_ref().map(|change| &change.node)),
        ("remove", remove.as_ref().map(|change| &change.node)),
        ("update", update.as_ref().map(|update| &update.node)),
        ("stop", stop.as_ref().map(|stop| &stop.node)),
    ];
    all.into_iter().find_map(|(word, node)| Some((word, node?)))
}

/// Does a step belong to this kind of cluster? What is wrong with it is told.
pub(super) fn belongs(step: &Step, nodes: &Nodes, path: &Path, findings: &mut Findings<'_>) -> bool {
    if nodes.is_etcd_alone() {
        beside_etcd(step, path, findings);
        return !by_kubeadm(step);
    }
    if matches!(step, Step::Member(_)) {
        let what = "`member` changes an etcd alone, and this cluster has Kubernetes, whose members kubeadm adds";
        findings.wrong_with(path, what, "use `join`, `reset` or `scale`, or say `cluster: {etcd: {members: 1}}`");
        return false;
    }
    true
}

/// Is it kubeadm's work?
pub(super) fn by_kubeadm(step: &Step) -> bool {
    matches!(step, Step::Join(_) | Step::Reset(_) | Step::Repair(_) | Step::Scale(_))
}

fn beside_etcd(step: &Step, path: &Path, findings: &mut Findings<'_>) {
    let no_kubernetes = "this cluster is etcd alone, without Kubernetes";
    match step {
        Step::Join(_) => {
            let help = "use `member: {add: …}`, `member: {start: …}` and `member: {promote: …}`";
            findings.wrong_with(path, format!("`join` runs kubeadm, and {no_kubernetes}"), help);
        }
        Step::Reset(_) => {
            let help = "use `member: {remove: …}`";
            findings.wrong_with(path, format!("`reset` runs kubeadm, and {no_kubernetes}"), help);
        }
        Step::Repair(_) => {
            let what = format!("`repair` is about joins by kubeadm, and {no_kubernetes}");
            findings.wrong_with(path, what, "use `member: {remove: …}`");
        }
        Step::Scale(_) => {
            let help = "say `nodes` of the cluster's `etcd`, and use `member: {add: …}`";
            findings.wrong_with(path, format!("`scale` joins nodes by kubeadm, and {no_kubernetes}"), help);
        }
        Step::Advise(_) => {
            let what = format!("`advise` knows kubeadm's rules, and {no_kubernetes}");
            findings.wrong_with(path, what, "use `member: {add: …}`: etcd itself says why it refuses");
        }
        Step::Copy(_) => findings.wrong_with(path, "etcd's image has no shell, with which files are copied", "use `exec` with etcdctl"),
        Step::Exec(exec) if exec.script.is_some() => {
            findings.wrong_with(&path.key("script"), "etcd's image has no shell", "say `command: [etcdctl, …]`");
        }
        Step::Wait(Wait { until: Some(state @ (State::ApiServer | State::Ready)), .. }) => {
            let help = "wait for running or voter";
            findings.wrong_with(&path.key("until"), format!("nothing gets {}: {no_kubernetes}", state.as_str()), help);
        }
        Step::Restart(Restart { what: what @ (Part::Kubelet | Part::KubeApiserver), .. }) => {
            findings.wrong(&path.key("what"), format!("there is no {}: {no_kubernetes}", what.as_str()));
        }
        Step::Cmd(_)
        | Step::Fault(_)
        | Step::Heal(_)
        | Step::Create
        | Step::Init
        | Step::Exec(_)
        | Step::Wait(_)
        | Step::Group { .. }
        | Step::Export(_)
        | Step::Restart(_)
        | Step::Member(_)
        | Step::Delete
        | Step::Expect => {}
    }
}

/// One word, and nodes that there are.
pub(super) fn member(step: &MemberStep, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let MemberStep { add, start, promote, remove, update, stop, put, fails } = step;
    let words = [
        ("add", add.as_ref().map(|add| (Some(&add.node), add.via.as_ref()))),
        ("start", start.as_ref().map(|start| (Some(&start.node), None))),
        ("promote", promote.as_ref().map(|change| (Some(&change.node), change.via.as_ref()))),
        ("remove", remove.as_ref().map(|change| (Some(&change.node), change.via.as_ref()))),
        ("update", update.as_ref().map(|update| (Some(&update.node), update.via.as_ref()))),
        ("stop", stop.as_ref().map(|stop| (Some(&stop.node), None))),
        ("put", put.as_ref().map(|put| (None, put.via.as_ref()))),
    ];
    let given: Vec<&str> = words.iter().filter(|(_, word)| word.is_some()).map(|(key, _)| *key).collect();
    match given[..] {
        [_] => {}
        [] => findings.wrong_with(path, "nothing is changed", "say one of: add, start, promote, remove, update, stop, put"),
        _ => findings.wrong_with(path, format!("a task changes one thing, this has {}", given.join(", ")), "make a task of each"),
    }
    for (key, selectors) in words {
        let Some((node, via)) = selectors else { continue };
        let path = path.key(key);
        for (key, selector) in [("node", node), ("via", via)] {
            if let Some(selector) = selector {
                one(selector, &path.key(key), nodes, findings);
            }
        }
    }
    if fails.as_ref().is_some_and(String::is_empty) {
        findings.wrong(&path.key("fails"), "each refusal holds the empty text");
    }
    if let Some(update) = update.as_ref().filter(|update| !is_peer_url(&update.peer_url)) {
        let what = format!("{:?} is no URL that etcd takes for a peer", update.peer_url);
        findings.wrong_with(&path.key("update").key("peerUrl"), what, "write it as in https://10.213.0.12:2380, with the port and no path");
    }
    if let Some(version) = start.as_ref().and_then(|start| start.version.as_deref()).filter(|version| !whole(version)) {
        let path = path.key("start").key("version");
        findings.wrong_with(&path, format!("{version:?} is no version of etcd"), "write all of it, as in 3.6.16");
    }
    if put.as_ref().is_some_and(|put| put.entries == 0) {
        findings.wrong(&path.key("put").key("entries"), "no entry is no change");
    }
}

fn one(selector: &Selector, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let meant = look_up(selector, nodes, Empty::Never, path, findings);
    if meant.nodes.len() > 1 {
        findings.wrong_with(path, format!("{selector} means {} nodes", meant.nodes.len()), "name one, as in etcd2");
    }
}

/// Demands on what is not there.
pub(super) fn expectations(expect: &Expectations, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    if !nodes.is_etcd_alone() {
        return;
    }
    let mut none = |path: &Path, what: &str| findings.wrong(path, format!("there is no {what}: this cluster is etcd alone"));
    if expect.nodes.is_some() {
        none(&path.key("nodes"), "Node object");
    }
    let resources = expect.resources.iter().flat_map(Resources::each).map(|(component, _)| ("resources", component));
    let logs = expect.logs.iter().flat_map(Logs::each).map(|(component, _)| ("logs", component));
    for (key, component) in resources.chain(logs).filter(|(_, component)| !matches!(*component, "node" | "etcd")) {
        none(&path.key(key).key(component), component);
    }
}
