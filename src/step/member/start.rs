//! `member: {start: …}`, and the founding members: a node's etcd begins to run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::super::error::StepError;
use super::super::world::World;
use super::{asked, program};
use crate::agent::{AgentError, Call};
use crate::cluster::{Cluster, only, status};
use crate::event::{Event, MemberId, Work};
use crate::node::{Node, NodeError, path};
use crate::spec::{Running, StartMember};
use crate::sys::clock::{Stamp, human};
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, pause, wait};

/// One call.
const ASK: Duration = Duration::from_secs(5);
/// Between two looks.
const EVERY: Duration = Duration::from_millis(20);
/// A founding member, or one that starts again: longer than an election and the publish timeout together.
const LIMIT: Duration = Duration::from_mins(1);
const ETCD: &str = "etcd";

/// Starts the founding members all at once, and waits until each knows a leader.
///
/// # Errors
/// [`StepError::Wait`] with the last lines of etcd's log.
pub(in super::super) async fn found(world: &World, cluster: &Arc<Cluster>, stop: &Stop) -> Result<(), StepError> {
    let began = Stamp::now();
    let count = world.topology.etcd.as_ref().map_or(0, |etcd| usize::from(etcd.members));
    let nodes: Vec<&Arc<Node>> = cluster.with_member().take(count).collect();
    let list: Vec<String> = nodes.iter().map(|node| format!("{}={}", node.name, cluster.peer_url(node))).collect();
    for node in &nodes {
        cluster.begin_member(&node.name, list.clone(), true);
    }
    try_join_all(nodes.iter().map(|node| launch(world, cluster, node))).await?;
    try_join_all(nodes.iter().map(|node| until(cluster, node, Running::Serving, LIMIT, stop))).await?;
    let took = Stamp::now().since(began);
    world.events.tell(Event::Worked { work: Work::Init, on: cluster.name.clone(), began, took });
    Ok(())
}

/// Starts a node's etcd.
///
/// # Errors
/// [`StepError::Member`] when it was never added or runs already; [`StepError::Wait`] with the last lines of its log.
pub(super) async fn start(world: &World, start: &StartMember, limit: Duration, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let node = only(&cluster, &start.node).await?;
    if let Some(delay) = start.delay {
        pause(format!("delay of {delay}"), delay.0, &stop.soft).await?;
    }
    if let Some(version) = &start.version {
        program::replace(world, &node, version).await?;
    }
    let began = Stamp::now();
    launch(world, &cluster, &node).await?;
    until(&cluster, &node, start.until, start.within.map_or(limit, |within| within.0), stop).await?;
    let text = format!("etcd of {} is {} {} after its start", node.name, start.until.as_str(), human(Stamp::now().since(began)));
    world.events.tell(Event::Note { text });
    Ok(())
}

/// Starts a node's etcd again as it was started before, and waits until it serves.
///
/// # Errors
/// As [`start`].
pub(in super::super) async fn again(world: &World, node: &Node, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    launch(world, &cluster, node).await?;
    until(&cluster, node, Running::Serving, LIMIT, stop).await
}

async fn launch(world: &World, cluster: &Cluster, node: &Node) -> Result<(), StepError> {
    let failed = |why: &str| StepError::Member { what: format!("start etcd of {}", node.name), why: why.to_owned() };
    let etcd = world.topology.etcd.as_ref().ok_or_else(|| failed("etcd is not alone"))?;
    let start = cluster.start_of(&node.name).ok_or_else(|| failed("it was never added to the member list"))?;
    if node.agent().ask(Call::Runs { program: ETCD.into() }, ASK).await.is_ok() {
        return Err(failed("it runs already"));
    }
    let spawn = Call::Spawn { argv: etcd.argv(node, &start), env: etcd.env.clone(), log: path::ETCD_LOG.into() };
    node.agent().ask(spawn, ASK).await.map_err(|e| failed(&e.to_string()))?;
    if let Some(observer) = &world.observer {
        observer.told_back(&node.name, Stamp::now());
    }
    Ok(())
}

/// Waits until a node's etcd has come so far, or has ended.
async fn until(cluster: &Cluster, node: &Node, state: Running, limit: Duration, stop: &Stop) -> Result<(), StepError> {
    let patience = Patience { limit, every: EVERY, stop: stop.soft.clone() };
    let looked = wait(format!("etcd of {} {}", node.name, state.as_str()), &patience, || async {
        match node.agent().ask(Call::Runs { program: ETCD.into() }, ASK).await {
            Ok(_) => {}
            // a busy machine: it may run all the same
            Err(e @ AgentError::Late { .. }) => return Look::NotYet(e.to_string()),
            Err(e @ (AgentError::Lost { .. } | AgentError::Refused { .. })) => {
                return Look::Never(format!("{e}{}", last_words(node).await));
            }
        }
        let seen = match state {
            Running::Running => Ok(()),
            Running::Started => started(cluster, node).await,
            Running::Serving => match status(node).await {
                Ok(status) if status.leader == MemberId(0) => Err("it knows no leader".into()),
                Ok(_) => Ok(()),
                Err(why) => Err(why),
            },
        };
        seen.map_or_else(Look::NotYet, Look::Done)
    });
    Ok(looked.await?)
}

/// Has a voter's list its name?
async fn started(cluster: &Cluster, node: &Node) -> Result<(), String> {
    let mut said = Vec::new();
    for other in cluster.with_member() {
        match asked::members(other).await {
            Ok(members) if members.iter().any(|member| member.name == node.name) => return Ok(()),
            Ok(_) => return Err(format!("the list of {} has no such name", other.name)),
            Err(why) => said.push(why),
        }
    }
    Err(said.join("; "))
}

/// What Go says of a flag that it does not take, or of a panic, where the last process ended by that: behind the one comes all of the usage,
/// which names no flag, and behind the other where it was, line by line.
fn fatal(log: &str) -> Option<&str> {
    const WORDS: [&str; 6] = [
        "flag provided but not defined",
        "bad flag syntax",
        "invalid value ",
        "invalid boolean value ",
        "flag needs an argument",
        "panic: ",
    ];
    let (at, line) = log.lines().enumerate().filter(|(_, line)| WORDS.iter().any(|words| line.starts_with(words))).last()?;
    // whoever started behind it has written lines of JSON
    let again = log.lines().skip(at + 1).any(|line| line.starts_with('{'));
    (!again).then(|| line.trim())
}

/// Why a node's etcd has ended, as far as its log says.
async fn last_words(node: &Node) -> String {
    const LINES: usize = 5;
    let log = node.read(path::ETCD_LOG).await.map_err(|e: NodeError| e.to_string());
    match log {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some(line) = fatal(&text) {
                return format!("; etcd says: {line}");
            }
            let lines: Vec<&str> = text.lines().rev().take(LINES).collect();
            lines.iter().rev().fold("; the last lines of its log:".to_owned(), |text, line| format!("{text}\n  {line}"))
        }
        Err(why) => format!("; its log cannot be read: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::fatal;

    #[test]
    fn of_a_refused_flag_the_line_that_names_it_is_told() {
        let usage = "Usage:\n  etcd [flags]\n  --name 'default'\n    Human-readable name for this member.\n";
        let log = format!("{{\"level\":\"info\"}}\nflag provided but not defined: -snapshot-cuont\n{usage}");
        assert_eq!(fatal(&log), Some("flag provided but not defined: -snapshot-cuont"));
        let value = format!("invalid value \"x\" for flag -snapshot-count: parse error\n{usage}");
        assert_eq!(fatal(&value), Some("invalid value \"x\" for flag -snapshot-count: parse error"));
        assert_eq!(fatal(&format!("{log}{{\"level\":\"fatal\"}}\n")), None, "a later process ended by something else");
        assert_eq!(fatal("{\"level\":\"fatal\"}\n"), None);
        let panic = "{\"level\":\"info\"}\npanic: failed NewURLs, got rubbish\n\ngoroutine 1 [running]:\nmain.main()\n";
        assert_eq!(fatal(panic), Some("panic: failed NewURLs, got rubbish"));
        assert_eq!(fatal("bad flag syntax: ----snapshot-count=5\nUsage:\n"), Some("bad flag syntax: ----snapshot-count=5"));
    }
}
