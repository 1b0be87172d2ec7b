//! kinder's commands that joinder's steps replace, and the cluster that they are about.
//!
//! All or nothing: a cluster that joinder did not make can be told nothing by its steps, and one that it made is joined by them.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::{flow, list, number_or_text, quoted};

/// Flags that take no value.
const SWITCHES: [&str; 8] =
    ["retain", "external-etcd", "external-load-balancer", "dry-run", "use-phases", "parallel", "all", "single-node"];
/// What kinder says of itself, which a step has no use for.
const CHATTER: [&str; 3] = ["loglevel", "kubeadm-verbosity", "wait"];

/// A command of a task, as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// Does it run in a folder of its own?
    pub(super) elsewhere: bool,
}

/// What the steps of a file are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// Lines below `cluster:`.
    pub(super) cluster: Vec<String>,
    /// For each task its step, `init: {}`, where it has one.
    pub(super) of: Vec<Option<String>>,
    /// What the steps do otherwise than the commands.
    pub(super) notes: Vec<String>,
}

/// `kinder VERB … --flag=value … positional -- rest`.
#[derive(Debug, Default)]
struct Call {
    words: Vec<String>,
    flags: BTreeMap<String, String>,
    /// Flags of kinder's own chatter and patience.
    left_out: Vec<String>,
    rest: Vec<String>,
    elsewhere: bool,
}

impl Call {
    fn of(command: &Command) -> Option<Self> {
        if command.program.rsplit('/').next() != Some("kinder") {
            return None;
        }
        let mut call = Self { elsewhere: command.elsewhere, ..Self::default() };
        let mut args = command.args.iter().peekable();
        while let Some(arg) = args.next() {
            if arg == "--" {
                call.rest = args.cloned().collect();
                break;
            }
            if arg.starts_with("-v") {
                args.next_if(|_| arg == "-v");
                call.left_out.push("kubeadm-verbosity".into());
                continue;
            }
            let Some(flag) = arg.strip_prefix("--") else {
                call.words.push(arg.clone());
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None if SWITCHES.contains(&flag) => (flag.to_owned(), "true".into()),
                None => (flag.to_owned(), args.next().cloned().unwrap_or_default()),
            };
            // who does not wait goes on with less than a step leaves
            let waits = name != "wait" || value.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
            if !CHATTER.contains(&name.as_str()) || !waits {
                call.flags.insert(name, value);
            } else if name != "loglevel" {
                call.left_out.push(name);
            }
        }
        Some(call)
    }

    fn verb(&self) -> (&str, &str) {
        (self.words.first().map_or("", String::as_str), self.words.get(1).map_or("", String::as_str))
    }

    /// The cluster that it is about.
    fn name(&self) -> &str {
        self.flags.get("name").map_or("kind", String::as_str)
    }

    /// A flag that the step cannot do.
    fn other_flag(&self, known: &[&str]) -> Option<&str> {
        self.flags.keys().map(String::as_str).find(|flag| *flag != "name" && !known.contains(flag))
    }
}

/// The steps that take the place of commands; `None` and why where they have to stay.
pub(super) fn recognise(commands: &[Command]) -> Result<Steps, String> {
    let calls: Vec<Option<Call>> = commands.iter().map(Call::of).collect();
    let made: Vec<&Call> = calls.iter().flatten().filter(|call| call.verb() == ("create", "cluster")).collect();
    let create = match made[..] {
        [create] => create,
        [] => return Err("no task makes a cluster".into()),
        _ => return Err("several tasks make a cluster".into()),
    };
    let mut cluster = cluster(create)?;
    let kubeadm = |call: &&Call| matches!(call.verb(), ("do", "kubeadm-init" | "kubeadm-join"));
    if calls.iter().flatten().any(|call| call.verb() == ("do", "kubeadm-join")) {
        // kinder's own; joinder's is by file
        cluster.push("discovery: token".into());
    }
    let name = create.name();
    let of = calls.iter().map(|call| call.as_ref().map_or(Ok(None), |call| step(call, name))).collect::<Result<Vec<_>, String>>()?;
    let at = |verb: (&str, &str)| calls.iter().position(|call| call.as_ref().is_some_and(|call| call.verb() == verb));
    if let (Some(init), Some(create)) = (at(("do", "kubeadm-init")), at(("create", "cluster")))
        && init < create
    {
        return Err("kubeadm-init comes before the cluster is made".into());
    }
    if at(("do", "kubeadm-init")).is_none() {
        return Err("no task runs kubeadm-init".into());
    }
    let mut notes = Vec::new();
    if calls.iter().flatten().filter(kubeadm).any(|call| call.flags.get("copy-certs").is_none_or(|how| how != "auto")) {
        notes.push("kubeadm uploads the certificates, as with --copy-certs=auto; kinder copied them".to_owned());
    }
    let left_out: BTreeSet<&str> = calls.iter().flatten().flat_map(|call| &call.left_out).map(String::as_str).collect();
    for flag in left_out {
        notes.push(format!(
            "no step has --{flag}: {}",
            if flag == "wait" { "it waits as long as its timeout" } else { "kubeadm runs with --v=5" }
        ));
    }
    Ok(Steps { cluster, of, notes })
}

fn cluster(create: &Call) -> Result<Vec<String>, String> {
    let known = ["image", "control-plane-nodes", "worker-nodes", "external-load-balancer"];
    if let Some(flag) = create.other_flag(&known) {
        return Err(format!("create cluster has --{flag}"));
    }
    let flag = |name: &str| create.flags.get(name);
    let mut lines = vec![format!("name: {}", quoted(create.name()))];
    lines.extend(flag("image").map(|image| format!("image: {}", quoted(image))));
    lines.extend(flag("control-plane-nodes").map(|n| format!("controlPlanes: {}", number_or_text(n))));
    lines.extend(flag("worker-nodes").map(|n| format!("workers: {}", number_or_text(n))));
    if flag("external-load-balancer").is_some_and(|value| value == "true") {
        lines.push("loadBalancer: true".into());
    }
    Ok(lines)
}

/// One command's step; an error where it is about the cluster and has none.
fn step(call: &Call, cluster: &str) -> Result<Option<String>, String> {
    let (verb, action) = call.verb();
    let known: &[&str] = match (verb, action) {
        ("create", "cluster") => &["image", "control-plane-nodes", "worker-nodes", "external-load-balancer"],
        ("do", "kubeadm-init") => &["copy-certs"],
        ("do", "kubeadm-join") => &["copy-certs", "only-node", "discovery-mode"],
        ("do", "kubeadm-reset") => &["only-node"],
        ("exec" | "cp", _) | ("export", "logs") | ("delete", "cluster") => &[],
        // what changes the cluster otherwise than joinder's steps know
        ("do", "kubeadm-upgrade" | "setup-external-ca" | "copy-certs" | "loadbalancer") => return Err(format!("a task runs {action}")),
        _ => return Ok(None),
    };
    let of_it = format!("{verb} {action}");
    if call.name() != cluster {
        return Err(format!("{of_it} is about another cluster, {}", call.name()));
    }
    if let Some(flag) = call.other_flag(known) {
        return Err(format!("{of_it} has --{flag}"));
    }
    if let Some(mode) = call.flags.get("discovery-mode").filter(|mode| *mode != "token") {
        return Err(format!("{of_it} has --discovery-mode={mode}"));
    }
    if call.flags.get("copy-certs").is_some_and(|how| how == "none") {
        return Err(format!("{of_it} has --copy-certs=none"));
    }
    if call.elsewhere && matches!(verb, "cp" | "export") {
        return Err(format!("{verb} takes its paths from a folder of its own"));
    }
    let nodes = call.flags.get("only-node").map(|node| selector(node).ok_or(format!("{of_it} is for the node {node}"))).transpose()?;
    let positionals = call.words.get(if matches!(verb, "exec" | "cp") { 1.. } else { 2.. }).unwrap_or_default();
    let step = match (verb, action) {
        ("create", _) => "create: {}".to_owned(),
        ("do", "kubeadm-init") => "init: {}".to_owned(),
        ("do", "kubeadm-join") => match nodes {
            Some(node) => format!("join: {{nodes: {node}, order: serial}}"),
            // kinder joins one after the other, and joins nobody where nobody is left
            None => "join: {order: serial, allowEmpty: true}".to_owned(),
        },
        ("do", _) => format!("reset: {{nodes: {}}}", nodes.unwrap_or_else(|| "all".into())),
        ("exec", _) => {
            let [node, command @ ..] = positionals else { return Err("exec names no node".into()) };
            let command: Vec<String> = command.iter().chain(&call.rest).cloned().collect();
            let node = selector(node).unwrap_or_else(|| node.clone());
            format!("exec: {{nodes: {}, command: {}}}", flow(&node), list(&command))
        }
        ("cp", _) => {
            let [from, to] = positionals else { return Err("cp has not two places".into()) };
            format!("copy: {{from: {}, to: {}}}", flow(from), flow(to))
        }
        ("export", _) => match positionals {
            [dir] if !is_artifacts(dir) => format!("export: {{to: {}}}", flow(dir)),
            _ => "export: {}".to_owned(),
        },
        _ => "delete: {}".to_owned(),
    };
    Ok(Some(step))
}

/// `cp2` for a container's name that is `control-plane-2`, or ends so.
fn selector(node: &str) -> Option<String> {
    let of = |role: &str, word: &str| {
        let (before, n) = node.rsplit_once(role)?;
        let n = n.parse::<u8>().ok().filter(|_| before.is_empty() || before.ends_with('-'))?;
        Some(format!("{word}{n}"))
    };
    of("control-plane-", "cp").or_else(|| of("worker-", "worker"))
}

/// Is it just the folder of artifacts?
pub(super) fn is_artifacts(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim_matches('-').trim() == ".env.ARTIFACTS")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinder(line: &str) -> Command {
        Command { program: "kinder".into(), args: line.split(' ').map(str::to_owned).collect(), elsewhere: false }
    }

    fn steps(lines: &[&str]) -> Result<Vec<String>, String> {
        let all: Vec<Command> = lines.iter().map(|line| kinder(line)).collect();
        recognise(&all).map(|steps| steps.of.into_iter().map(|step| step.unwrap_or_else(|| "cmd".into())).collect())
    }

    #[test]
    fn commands_become_steps_together() {
        let found = steps(&[
            "create cluster --name=x --image=i --control-plane-nodes=3 --loglevel=debug",
            "do kubeadm-init --name x --copy-certs=auto --kubeadm-verbosity=6",
            "do kubeadm-join --name=x --only-node=x-worker-2",
            "do kubeadm-join --name=x",
            "exec --name=x @cp* /script --loglevel=debug",
            "exec --name=x cp1 -- ls -l",
            "exec --name=x worker-1 id",
            "cp --name=x ./a @cp*:/kinder/a",
            "export logs --name=x {{ .env.ARTIFACTS }}",
            "do cluster-info --name=x",
            "test e2e --name=x --parallel",
            "do kubeadm-reset --name=x",
            "delete cluster --name=x",
        ]);
        // the blanks in the template were none in the file
        let found = found.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(
            found,
            [
                "create: {}",
                "init: {}",
                "join: {nodes: worker2, order: serial}",
                "join: {order: serial, allowEmpty: true}",
                "exec: {nodes: '@cp*', command: [/script]}",
                "exec: {nodes: cp1, command: [ls, '-l']}",
                "exec: {nodes: worker1, command: [id]}",
                "copy: {from: ./a, to: '@cp*:/kinder/a'}",
                "export: {}",
                "cmd",
                "cmd",
                "reset: {nodes: all}",
                "delete: {}",
            ]
        );
    }

    #[test]
    fn what_steps_do_otherwise_is_noted() {
        let notes = |lines: &[&str]| {
            let all: Vec<Command> = lines.iter().map(|line| kinder(line)).collect();
            let steps = recognise(&all).unwrap_or_else(|why| panic!("{why}"));
            (steps.notes.join("; "), steps.cluster.join("; "))
        };
        let (said, cluster) = notes(&["create cluster", "do kubeadm-init -v 6 --wait=10m", "do kubeadm-join --discovery-mode=token"]);
        assert!(
            said.contains("--copy-certs=auto; kinder copied") && said.contains("--kubeadm-verbosity") && said.contains("--wait"),
            "{said}"
        );
        assert!(cluster.contains("discovery: token"), "{cluster}");
        let (said, cluster) = notes(&["create cluster", "do kubeadm-init --copy-certs=auto --loglevel=debug"]);
        assert!(said.is_empty() && !cluster.contains("discovery"), "{said} {cluster}");
    }

    #[test]
    fn one_command_that_has_no_step_keeps_all() {
        let base = ["create cluster --name=x", "do kubeadm-init --name=x"];
        for (line, why) in [
            ("do kubeadm-join --name=x --discovery-mode=file", "has --discovery-mode"),
            ("do kubeadm-join --name=x --copy-certs=none", "--copy-certs=none"),
            ("do kubeadm-join --name=x --wait=0s", "has --wait"),
            ("do kubeadm-upgrade --name=x --upgrade-version=v1", "runs kubeadm-upgrade"),
            ("delete cluster --name=y", "another cluster"),
            ("create cluster --name=y", "several tasks"),
        ] {
            let refused = steps(&[base[0], base[1], line]).expect_err(line);
            assert!(refused.contains(why), "{line}: {refused}");
        }
        let elsewhere = |line: &str| recognise(&[kinder(base[0]), kinder(base[1]), Command { elsewhere: true, ..kinder(line) }]);
        assert!(elsewhere("cp --name=x a @w*:/a").is_err_and(|why| why.contains("folder of its own")));
        assert!(elsewhere("exec --name=x @w* id").is_ok());
        assert!(steps(&base[1..]).is_err_and(|why| why.contains("makes a cluster")));
        assert!(steps(&["create cluster --name=x --external-etcd", base[1]]).is_err_and(|why| why.contains("--external-etcd")));
        assert!(steps(&base[..1]).is_err_and(|why| why.contains("kubeadm-init")));
    }
}
