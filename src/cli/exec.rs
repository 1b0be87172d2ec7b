//! `joinder exec`: a command in one node or several, with its exit code.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::args::ExecArgs;
use super::context::Signals;
use super::diag;
use super::exit::Exit;
use super::kinder::Called;
use crate::agent::{AgentError, Output, Pipe};
use crate::cluster::{self, Absent, Cluster, Found};
use crate::node::Node;
use crate::runtime::{Runtime, api};
use crate::spec::{Pick, Selector};
use crate::sys::stop::Stop;

/// Finding a cluster's nodes and reaching their agents.
pub(super) const ATTACH: Duration = Duration::from_secs(10);

/// Runs the command in the nodes one after the other; the first exit code that is not 0 is the answer.
pub(super) async fn exec(args: &ExecArgs, called: Called) -> Exit {
    let signals = Signals::listen();
    match run(args, called, &signals).await {
        Ok(exit) => signals.or(exit),
        // Nobody reads on (`| head -1`): there is nothing to say, and nobody to say it to.
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) => Exit::Unexpected,
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e),
    }
}

async fn run(args: &ExecArgs, called: Called, signals: &Signals) -> anyhow::Result<Exit> {
    let stop = &signals.stop;
    let (runtime, _) = signals.engine().await?;
    if let Some(container) = beside(&cluster::find(runtime.as_ref(), &args.cluster.name).await?, &args.node)? {
        return Ok(Exit::Remote(plain(runtime.as_ref(), &container, &args.command, stop).await?));
    }
    let cluster = cluster::attach(&runtime, &args.cluster.name, ATTACH).await?;
    let (nodes, absent) = select(&cluster, &args.node).await?;
    for node in &absent {
        diag::say(&format!("error: {node}"));
    }
    if nodes.is_empty() {
        let names: Vec<&str> = cluster.nodes.iter().map(|n| n.name.as_str()).collect();
        anyhow::bail!("no running node {:?} in cluster {:?}; there are: {}", args.node, cluster.name, names.join(" "));
    }
    let several = nodes.len() > 1;
    let mut code = 0;
    for node in nodes {
        if several {
            diag::say(&format!("# {}", node.name));
        }
        let ended = follow(&node, &args.command, stop).await?;
        if code == 0 {
            code = ended;
        }
        if stop.soft.is_cancelled() || !called.goes_on(code) {
            break;
        }
    }
    Ok(answer(code, &absent))
}

/// The container of `@lb` or `@etcd`, which no agent is in.
pub(super) fn beside(found: &Found, wanted: &str) -> anyhow::Result<Option<String>> {
    let (container, what) = match wanted.to_ascii_lowercase().as_str() {
        "@lb" => (&found.load_balancer, "load balancer"),
        "@etcd" => (&found.external_etcd, "etcd outside of its control planes"),
        _ => return Ok(None),
    };
    let Some(container) = container else { anyhow::bail!("cluster {:?} has no {what}", found.name) };
    Ok(Some(container.name.clone()))
}

/// Runs a command by the engine alone, which cannot end it.
async fn plain(runtime: &dyn Runtime, name: &str, command: &[String], stop: &Stop) -> anyhow::Result<u8> {
    let mut exec = runtime.exec(name, command).await?;
    loop {
        let piece = tokio::select! {
            piece = exec.output.next() => piece,
            () = stop.soft.cancelled() => anyhow::bail!("stopped: the command in {name} goes on"),
        };
        match piece.transpose()? {
            Some((api::Pipe::Out, bytes)) => std::io::stdout().lock().write_all(&bytes)?,
            Some((api::Pipe::Err, bytes)) => std::io::stderr().lock().write_all(&bytes)?,
            None => break,
        }
    }
    Ok(runtime.exec_code(&exec.id).await?.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// What a command says that failed is worse than that some nodes could not be asked.
fn answer(code: u8, absent: &[Absent]) -> Exit {
    if code == 0 && !absent.is_empty() { Exit::BadEnvironment } else { Exit::Remote(code) }
}

async fn follow(node: &Node, command: &[String], stop: &Stop) -> anyhow::Result<u8> {
    let mut process = node.command(command.to_vec(), BTreeMap::new());
    loop {
        let Some(output) = process.next_or_stop(stop).await else { return Ok(137) };
        match output {
            Ok(Output::Line { pipe, text, more, .. }) => {
                let end = if more { "" } else { "\n" };
                match pipe {
                    Pipe::Out => write!(std::io::stdout().lock(), "{text}{end}")?,
                    Pipe::Err => write!(std::io::stderr().lock(), "{text}{end}")?,
                }
            }
            // A shell's words for a program that a signal ended.
            Ok(Output::Exited { code, signal }) => {
                return Ok(u8::try_from(code.or(signal.map(|s| 128 + s)).unwrap_or(1)).unwrap_or(1));
            }
            // As a shell says that there is no such program.
            Err(e @ AgentError::Refused { .. }) => {
                diag::say(&format!("error: {e}"));
                return Ok(127);
            }
            Err(e @ (AgentError::Lost { .. } | AgentError::Late { .. })) => return Err(e.into()),
        }
    }
}

/// Nodes by the words of workflows (`secondaries`, `cp2`, `workers`, `leader`, which etcd is asked for), kinder's (`@cp*`, `@w1`), or name; several with commas.
pub(super) async fn select(cluster: &Cluster, wanted: &str) -> anyhow::Result<(Vec<Arc<Node>>, Vec<Absent>)> {
    let named: Vec<String> = wanted.split(',').map(|word| word.trim().to_owned()).collect();
    // kinder's users leave the cluster's name out
    let is =
        |name: &str, word: &str| name == word || name.strip_prefix(&cluster.name).and_then(|rest| rest.strip_prefix('-')) == Some(word);
    let all = || cluster.nodes.iter().map(|node| node.name.as_str()).chain(cluster.absent.iter().map(|node| node.name.as_str()));
    let words: Vec<&String> = named.iter().filter(|word| !all().any(|name| is(name, word))).collect();
    let picks = picks(&words)?;
    let of_etcd: Vec<Pick> = picks.iter().filter(|pick| pick.depends_on_etcd()).cloned().collect();
    let asked = if of_etcd.is_empty() { Vec::new() } else { cluster::select(cluster, &Selector(of_etcd), true).await? };
    let members = cluster.with_member().map(|node| node.index);
    let down = cluster.absent.iter().filter(|node| node.role.has_member()).map(|node| node.index);
    // one that does not run is the first all the same: nobody wants another in its place
    let first = members.chain(down).min().unwrap_or(0);
    let meant = |name: &str, role, index| {
        named.iter().any(|word| is(name, word)) || picks.iter().any(|pick| cluster::means(pick, name, role, index == first) == Some(true))
    };
    let is_asked = |node: &Node| asked.iter().any(|asked| asked.name == node.name);
    let meant_or_asked = |node: &&Arc<Node>| meant(&node.name, node.role, node.index) || is_asked(node);
    let nodes = cluster.nodes.iter().filter(meant_or_asked).cloned().collect();
    Ok((nodes, cluster.absent.iter().filter(|node| meant(&node.name, node.role, node.index)).cloned().collect()))
}

/// The words of a list. One that is none is never left out: the command would run in fewer nodes than are meant.
fn picks(words: &[&String]) -> anyhow::Result<Vec<Pick>> {
    words.iter().map(|word| kinders(word).parse().map_err(|why: String| anyhow::anyhow!(why.replace("\nhelp: ", ": ")))).collect()
}

/// kinder's words are found in any case; what is joinder's own may be written like them.
fn kinders(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    match lower.strip_prefix('@') {
        Some(own @ ("leader" | "followers" | "learner")) => own.to_owned(),
        Some(_) => lower,
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Role;

    #[test]
    fn a_misspelt_word_of_a_list_is_an_error() {
        let picks = |words: &str| super::picks(&words.split(',').map(str::to_owned).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        assert_eq!(picks("cp1,worker2").expect("fine"), [Pick::ControlPlane(1), Pick::Worker(2)]);
        assert_eq!(picks("@CP*,@W2,@cpN").expect("fine"), [Pick::ControlPlanes, Pick::Worker(2), Pick::Secondaries]);
        assert_eq!(picks("@leader,learner").expect("fine"), [Pick::Leader, Pick::Learner]);
        let why = picks("cp1,wrker2").expect_err("no word").to_string();
        assert!(why.contains("\"wrker2\" selects no node: use all"), "{why}");
    }

    #[test]
    fn a_node_that_does_not_run_is_no_pass() {
        let absent = [Absent { name: "c-worker-1".into(), role: Role::Worker, index: 2, state: "exited".into() }];
        assert_eq!(absent[0].to_string(), "c-worker-1 does not run: it is exited");
        for (code, absent, want) in [(0, &absent[..], 4), (7, &absent, 7), (0, &[], 0), (7, &[], 7)] {
            assert_eq!(answer(code, absent).code(), want);
        }
    }
}
