//! `joinder exec`: a command in one node or several, with its exit code.

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
    let mut process = node.agent().run(command.to_vec());
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
            Ok(Output::Line { pipe: Pipe::Out, text, .. }) => writeln!(std::io::stdout().lock(), "{text}")?,
            Ok(Output::Line { pipe: Pipe::Err, text, .. }) => writeln!(std::io::stderr().lock(), "{text}")?,
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

/// A node by name, or kinder's selectors: `@all`, `@cp*`, `@cp1`, `@cpN` (all but the first), `@w*`, and `@cp2`, `@w1`, …
fn select(cluster: &Cluster, wanted: &str) -> Vec<Arc<Node>> {
    let of = |role: Role| cluster.nodes.iter().filter(move |n| n.role == role).cloned();
    let nth = |role: Role, n: &str| n.parse::<usize>().ok().and_then(|n| of(role).nth(n.checked_sub(1)?)).into_iter().collect();
    match wanted {
        "@all" => cluster.nodes.clone(),
        "@cp*" => of(Role::ControlPlane).collect(),
        "@cpN" => of(Role::ControlPlane).skip(1).collect(),
        "@w*" => of(Role::Worker).collect(),
        _ => match (wanted.strip_prefix("@cp"), wanted.strip_prefix("@w")) {
            (Some(n), _) => nth(Role::ControlPlane, n),
            (None, Some(n)) => nth(Role::Worker, n),
            (None, None) => cluster.nodes.iter().filter(|n| n.name == wanted).cloned().collect(),
        },
    }
}
