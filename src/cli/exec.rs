//! `joinder exec`: a command in one node or several, with its exit code.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::args::ExecArgs;
use super::context::Signals;
use super::diag;
use super::exit::Exit;
use crate::agent::{AgentError, Output, Pipe};
use crate::cluster::{self, Cluster};
use crate::node::{Node, Role};
use crate::spec::Pick;
use crate::sys::stop::Stop;

const ATTACH: Duration = Duration::from_secs(10);

/// Runs the command in the nodes one after the other; the first exit code that is not 0 is the answer.
pub(super) async fn exec(args: &ExecArgs) -> Exit {
    let signals = Signals::listen();
    match run(args, &signals).await {
        Ok(exit) => signals.or(exit),
        // Nobody reads on (`| head -1`): there is nothing to say, and nobody to say it to.
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) => Exit::Unexpected,
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e),
    }
}

async fn run(args: &ExecArgs, signals: &Signals) -> anyhow::Result<Exit> {
    let stop = &signals.stop;
    let (runtime, _) = signals.engine().await?;
    let cluster = cluster::attach(&runtime, &args.cluster.name, ATTACH).await?;
    let nodes = select(&cluster, &args.node);
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
        if stop.soft.is_cancelled() {
            break;
        }
    }
    Ok(Exit::Remote(code))
}

async fn follow(node: &Node, command: &[String], stop: &Stop) -> anyhow::Result<u8> {
    let mut process = node.command(command.to_vec(), BTreeMap::new());
    let mut stopped = false;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            () = stop.soft.cancelled(), if !stopped => {
                stopped = true;
                process.end();
                continue;
            }
            () = stop.hard.cancelled() => return Ok(137),
        };
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

/// Nodes by the words of workflows (`secondaries`, `cp2`, `workers`), kinder's (`@cp*`, `@w1`), or name; several with commas.
fn select(cluster: &Cluster, wanted: &str) -> Vec<Arc<Node>> {
    let picks: Vec<Pick> = wanted.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    cluster.nodes.iter().filter(|node| node.name == wanted || picks.iter().any(|pick| means(cluster, pick, node))).cloned().collect()
}

fn means(cluster: &Cluster, pick: &Pick, node: &Node) -> bool {
    let nth = |role: Role, n: u8| node.role == role && node.name.ends_with(&format!("-{}-{n}", role.as_str()));
    let first = node.index == cluster.first().index;
    match pick {
        Pick::All => true,
        Pick::First => first,
        Pick::ControlPlanes => node.role == Role::ControlPlane,
        Pick::Secondaries => node.role == Role::ControlPlane && !first,
        Pick::Workers => node.role == Role::Worker,
        Pick::ControlPlane(n) => nth(Role::ControlPlane, *n),
        Pick::Worker(n) => nth(Role::Worker, *n),
        Pick::Name(name) => node.name == *name,
        // nobody samples etcd for one command
        Pick::Leader | Pick::Followers | Pick::Learner => false,
    }
}
