//! `wait`: for a time, or until nodes are in a state.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::error::StepError;
use super::world::World;
use crate::agent::{AgentError, Call, Said};
use crate::cluster::{Cluster, select};
use crate::node::{Node, Role};
use crate::spec::{Pick, Selector, State, Wait};
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, pause, wait as until};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);
/// One question.
const ASK: Duration = Duration::from_secs(3);

/// Waits, at most for `limit`, the task's, where the step says nothing else.
///
/// # Errors
/// [`StepError::Wait`] with what was seen first and last.
pub async fn wait(world: &World, wait: &Wait, limit: Duration, stop: &Stop) -> Result<(), StepError> {
    if let Some(time) = wait.time {
        return Ok(pause(format!("wait of {time}"), time.0, &stop.soft).await?);
    }
    let Some(state) = wait.until else { return Ok(()) };
    let cluster = world.cluster()?;
    let all = match state {
        State::Running | State::Ready => Selector::all(),
        State::Voter if cluster.is_etcd_alone() => Selector::all(),
        State::ApiServer | State::Voter => Selector(vec![Pick::ControlPlanes]),
    };
    let nodes = select(&cluster, wait.nodes.as_ref().unwrap_or(&all), wait.allow_empty).await?;
    if nodes.is_empty() {
        return Ok(());
    }
    // The task's limit also comes as a stop, a moment later than here: a stop could not say what was seen.
    let limit = wait.within.map_or(limit, |within| within.0);
    let patience = Patience { limit, every: EVERY, stop: stop.soft.clone() };
    Ok(until(format!("{} {}", nodes.len(), state.as_str()), &patience, || look(&cluster, &nodes, state)).await?)
}

/// One look at all the nodes: how many are so, and what the first of the others said.
async fn look(cluster: &Cluster, nodes: &[Arc<Node>], state: State) -> Look<()> {
    let seen: Vec<Result<(), String>> = match state {
        State::Running => join_all(nodes.iter().map(|node| running(node))).await,
        State::ApiServer => join_all(nodes.iter().map(|node| cluster.api_server(node))).await,
        State::Voter => join_all(nodes.iter().map(|node| voter(node))).await,
        State::Ready => match cluster.ready_nodes().await {
            Err(why) => return Look::NotYet(why),
            Ok((ready, _)) => {
                let is = |node: &Arc<Node>| if ready.contains(&node.name) { Ok(()) } else { Err("not Ready".to_owned()) };
                nodes.iter().map(is).collect()
            }
        },
    };
    let others: Vec<String> =
        nodes.iter().zip(&seen).filter_map(|(node, seen)| Some(format!("{}: {}", node.name, seen.as_ref().err()?))).collect();
    if others.is_empty() {
        return Look::Done(());
    }
    Look::NotYet(format!("{} of {}, {}", nodes.len() - others.len(), nodes.len(), others.join(", ")))
}

async fn running(node: &Node) -> Result<(), String> {
    if let Some(trouble) = node.trouble().await.map_err(|e| e.to_string())? {
        return Err(format!("the container {trouble}"));
    }
    let up = match node.role {
        Role::Etcd => node.agent().ask(Call::Hello, ASK).await.map(drop),
        Role::ControlPlane | Role::Worker => node.containerd(ASK).await,
    };
    match up {
        // somebody else has restarted it
        Err(AgentError::Lost { .. }) => node.renew(ASK).await.map_err(|e| e.to_string()).and(Err("its agent was lost".into())),
        answer @ (Ok(()) | Err(AgentError::Refused { .. } | AgentError::Late { .. })) => answer.map_err(|e| e.to_string()),
    }
}

/// A learner does not give its list: the list of a member that does holds itself as a voter.
async fn voter(node: &Node) -> Result<(), String> {
    if !node.role.has_member() {
        return Err("a worker has no etcd member".into());
    }
    match node.agent().ask(Call::Members { etcd: node.etcd() }, ASK).await {
        Ok(Said::Members { members }) if members.iter().any(|m| m.name == node.name && !m.learner) => Ok(()),
        Ok(Said::Members { .. }) => Err("no voter in its own list".into()),
        Ok(other) => Err(format!("{other:?}")),
        Err(e) => Err(e.to_string()),
    }
}
