//! `repair`: what failed joins have left is taken out of etcd, and their nodes are reset, so that the next join succeeds.
//!
//! `kubeadm reset` alone does not do: before there is a Node object it finds no configuration, and leaves the member where it is (seen
//! with 1.36.3). A join from the same address would take it over, and a member that had started must not come back without its data.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::each::each;
use super::error::StepError;
use super::member::asked;
use super::reset;
use super::residue::{left_by, own};
use super::world::World;
use crate::agent::MemberChange;
use crate::cluster::{Cluster, select};
use crate::event::{Event, Member};
use crate::node::{Node, NodeError, Role};
use crate::spec::{Repair, Residue};
use crate::sys::stop::Stop;

/// How long a removal is tried again where etcd refuses for now: connections must have been held for 5 s.
const WITHIN: Duration = Duration::from_secs(30);

/// Repairs what the joins of these nodes have left; where none are named, of all whose last join failed, and learners that are nobody's.
///
/// # Errors
/// [`StepError::Repair`] where it would take the quorum, or nobody has one; else what did not succeed.
pub async fn repair(world: &World, repair: &Repair, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let failed = |node: &Node| world.observer.as_ref().is_some_and(|observer| observer.look(|record| record.story.join_failed(&node.name)));
    let nodes = match &repair.nodes {
        Some(selector) => select(&cluster, selector, repair.allow_empty).await?,
        None => cluster.nodes.iter().filter(|node| failed(node)).cloned().collect(),
    };
    let (broken, fine): (Vec<Arc<Node>>, Vec<Arc<Node>>) = nodes.into_iter().partition(|node| failed(node));
    for node in fine {
        tell(world, format!("nothing to repair on {}: no join of it has failed", node.name));
    }
    each("repair", &broken, false, stop, async |node| one(world, &cluster, node, stop).await).await?;
    let mut done = broken.len();
    if repair.nodes.is_none() {
        done += nobodys(world, &cluster, stop).await?;
        if done == 0 {
            tell(world, "nothing to repair: no join has failed, and no learner is nobody's".into());
        }
    }
    Ok(())
}

fn tell(world: &World, text: String) {
    world.events.tell(Event::Note { text });
}

/// One node: its member out of etcd, and reset.
async fn one(world: &World, cluster: &Arc<Cluster>, node: &Node, stop: &Stop) -> Result<(), StepError> {
    if node.role == Role::Worker {
        reset::alone(world, cluster, node, stop).await?;
        tell(world, format!("repaired {}: kubeadm reset; a worker leaves nothing in etcd", node.name));
        return Ok(());
    }
    let refused = |why: String| StepError::Repair { what: node.name.clone(), why };
    let via = asked::via(cluster, None, Some(node)).await?;
    let address = node.address.to_string();
    let members = asked::members(&via).await.map_err(refused)?;
    let found = left_by(&members, &node.name, &address);
    if found == Residue::Voter
        && let Some(why) = takes_quorum(cluster, &members, &node.name).await
    {
        return Err(refused(why));
    }
    // A reset that finds no configuration empties the data and leaves the member. A learner does no harm by that; a voter counts for
    // the quorum, and of two it would take it (workflows/bugs/reset-takes-quorum.yaml).
    let voter = own(&members, &node.name, &address).filter(|_| found == Residue::Voter);
    if let Some(member) = voter {
        remove(&via, member, &node.name, stop).await?;
    }
    let how = match node.trouble().await.ok().flatten() {
        None => {
            reset::alone(world, cluster, node, stop).await?;
            "kubeadm reset".to_owned()
        }
        Some(state) => {
            cluster.dismiss(node).await.map_err(NodeError::from)?;
            format!("its container {state}, so nothing could be reset")
        }
    };
    // the reset may have done it, or not
    let behind = asked::members(&via).await.map_err(refused)?;
    let taken = |member: &Member| format!("its {} {} taken out of etcd by way of {}", found.as_str(), member.id, via.name);
    let by = match (own(&behind, &node.name, &address), voter) {
        (None, Some(member)) => taken(member),
        (None, None) if found == Residue::None => "nothing of it was in etcd".to_owned(),
        (None, None) => format!("its {} went out of etcd with that", found.as_str()),
        (Some(member), _) => {
            remove(&via, member, &node.name, stop).await?;
            taken(member)
        }
    };
    reset::delete_object(world, cluster, node).await?;
    tell(world, format!("repaired {}: {how}; {by}", node.name));
    Ok(())
}

/// Would those that are left be too few without this one? They must answer, and be more than half.
async fn takes_quorum(cluster: &Cluster, members: &[Member], node: &str) -> Option<String> {
    let others: Vec<&Member> = members.iter().filter(|member| !member.learner && member.name != node).collect();
    let named = |name: &str| others.iter().any(|member| member.name == name);
    let asked = cluster.with_member().filter(|node| named(&node.name)).map(async |node| crate::cluster::status(node).await.is_ok());
    let up = join_all(asked).await.into_iter().filter(|up| *up).count();
    let all = others.len();
    (up * 2 <= all)
        .then(|| format!("of the {all} voters that would be left {up} answer: it would take the quorum; bring others back first"))
}

/// Learners of nodes that there are not any more.
async fn nobodys(world: &World, cluster: &Cluster, stop: &Stop) -> Result<usize, StepError> {
    let via = asked::via(cluster, None, None).await?;
    let members = asked::members(&via).await.map_err(|why| StepError::Repair { what: "etcd".into(), why })?;
    let known = |member: &Member| {
        cluster.with_member().any(|node| own(std::slice::from_ref(member), &node.name, &node.address.to_string()).is_some())
    };
    let orphans: Vec<&Member> = members.iter().filter(|member| member.learner && !known(member)).collect();
    for member in &orphans {
        remove(&via, member, &member.label(), stop).await?;
        let at = member.peer_urls.join(", ");
        tell(world, format!("repaired: learner {} of no node ({at}) taken out of etcd by way of {}", member.label(), via.name));
    }
    Ok(orphans.len())
}

async fn remove(via: &Node, member: &Member, whose: &str, stop: &Stop) -> Result<(), StepError> {
    let id = member.id;
    let gone = |members: &[Member]| !members.iter().any(|member| member.id == id);
    let what = format!("take {whose} out by way of {}", via.name);
    asked::change(via, &what, &MemberChange::Remove { id }, WITHIN, gone, stop).await.map(drop)
}
