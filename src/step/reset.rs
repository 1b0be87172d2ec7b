//! `reset`: `kubeadm reset`, and what it does not do itself.

use std::sync::Arc;
use std::time::Duration;

use super::each::each;
use super::error::StepError;
use super::residue::own;
use super::world::{Commands, World};
use crate::agent::{Call, Said};
use crate::cluster::{Cluster, select};
use crate::event::{Event, Member};
use crate::node::{Node, Role, path};
use crate::spec::Reset;
use crate::sys::stop::Stop;

/// One member's answer.
const ASK: Duration = Duration::from_secs(5);
/// kubectl's own limit is 30 s.
const DELETE: Duration = Duration::from_secs(40);

/// Says something where etcd has written here.
const HAS_DATA: &str = r#"[ ! -e "$1/member" ] || echo yes"#;

const DELETE_NODE: &str =
    r#"kubectl --kubeconfig "$1" --server "$2" --request-timeout 10s delete node "$3" --ignore-not-found --timeout 30s 2>&1"#;

/// Resets nodes, the last one first, so that the first control plane stays as long as any.
///
/// # Errors
/// [`StepError::Kubeadm`], or [`StepError::Residue`] with what a reset should have removed and did not.
pub async fn reset(world: &World, reset: &Reset, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let mut nodes = select(&cluster, &reset.nodes, reset.allow_empty).await?;
    nodes.reverse();
    each("reset", &nodes, false, stop, async |node| take_out(world, &cluster, node, stop).await).await?;
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    if !names.is_empty() {
        // kubeadm says so itself (`cmd/kubeadm/app/cmd/reset.go`)
        let text = format!("left on {}, as kubeadm leaves it: CNI configuration and network rules", names.join(", "));
        world.events.tell(Event::Note { text });
    }
    Ok(())
}

/// Takes one node out of its cluster: away from the load balancer, `kubeadm reset`, its member gone from etcd, its Node object
/// deleted. kubeadm does not delete that, and refuses to join a node whose object is still Ready.
pub(super) async fn take_out(world: &World, cluster: &Arc<Cluster>, node: &Node, stop: &Stop) -> Result<(), StepError> {
    alone(world, cluster, node, stop).await?;
    if node.role == Role::ControlPlane && cluster.external_etcd.is_none() {
        member_is_out(world, &others(cluster, node), node).await?;
    }
    delete_object(world, cluster, node).await
}

/// Looks that a reset has taken the node's member out of etcd.
async fn member_is_out(world: &World, others: &[&Arc<Node>], node: &Node) -> Result<(), StepError> {
    let Some((teller, members)) = members(others).await else { return unseen_member(world, node, others).await };
    let text = match own(&members, &node.name, &node.address.to_string()) {
        None => return Ok(()),
        // harmless but for the slot: it has no data to come back without
        Some(member) if member.learner && !member.started() => format!(
            "kubeadm reset on {} has left its unnamed learner {}, as {teller} says; the next join from {} takes it over, and no other learner fits in",
            node.name, member.id, node.address
        ),
        Some(_) => {
            let what = format!("its etcd member, as {teller} says; `etcdctl member remove` on {teller} takes it out");
            return Err(StepError::Residue { node: node.name.clone(), what });
        }
    };
    world.events.tell(Event::Note { text });
    Ok(())
}

/// Takes a node away from the load balancer, and runs `kubeadm reset` there.
pub(super) async fn alone(world: &World, cluster: &Arc<Cluster>, node: &Node, stop: &Stop) -> Result<(), StepError> {
    let commands = Commands::of(cluster, &world.wishes, &world.events, stop)?;
    cluster.dismiss(node).await.map_err(crate::node::NodeError::from)?;
    Ok(commands.kubeadm().reset(node).await?)
}

fn others<'a>(cluster: &'a Cluster, node: &Node) -> Vec<&'a Arc<Node>> {
    cluster.control_planes().filter(|other| other.name != node.name).collect()
}

/// Deletes a node's Node object, by way of the first other control plane whose API server answers.
pub(super) async fn delete_object(world: &World, cluster: &Cluster, node: &Node) -> Result<(), StepError> {
    for other in others(cluster, node) {
        if cluster.api_server(other).await.is_err() {
            continue;
        }
        let server = format!("https://{}:{}", other.address, path::API_PORT);
        let deleted = other.script(DELETE_NODE, &[path::ADMIN_CONF, &server, &node.name], DELETE).await;
        return deleted.map(drop).map_err(|e| StepError::Residue { node: node.name.clone(), what: format!("its Node object: {e}") });
    }
    tell_unseen(world, node, "Node object");
    Ok(())
}

/// The first list that a member gives, and whose it is.
async fn members(nodes: &[&Arc<Node>]) -> Option<(String, Vec<Member>)> {
    for node in nodes {
        if let Ok(Said::Members { members }) = node.agent().ask(Call::Members { etcd: node.etcd() }, ASK).await {
            return Some((node.name.clone(), members));
        }
    }
    None
}

/// Where no other node has etcd any more, as behind a reset of all, there is nobody to ask. One that has it and does not answer may
/// still hold the member, and kubeadm only warned.
async fn unseen_member(world: &World, node: &Node, others: &[&Arc<Node>]) -> Result<(), StepError> {
    let mut silent = Vec::new();
    for other in others {
        let data = other.script(HAS_DATA, &[path::ETCD_DATA], ASK).await;
        // a node that cannot be asked even for this may well have it
        if data.map_or(true, |said| !said.trim().is_empty()) {
            silent.push(other.name.as_str());
        }
    }
    if silent.is_empty() {
        tell_unseen(world, node, "etcd member");
        return Ok(());
    }
    let what = format!(
        "maybe its etcd member: no other member answers with a quorum ({} asked), so that nobody can take it out; bring others back first",
        silent.join(", ")
    );
    Err(StepError::Residue { node: node.name.clone(), what })
}

/// With nobody left to ask there is no cluster left either, as after a reset of all.
fn tell_unseen(world: &World, node: &Node, what: &str) {
    world.events.tell(Event::Note { text: format!("nobody is left to ask for the {what} of {}", node.name) });
}
