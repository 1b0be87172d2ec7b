//! `member: {add: …}`: a node comes into the member list; its etcd is not started.

use std::time::Duration;

use super::super::error::StepError;
use super::super::world::World;
use super::asked;
use crate::agent::MemberChange;
use crate::cluster::only;
use crate::event::{Event, Member};
use crate::spec::{AddMember, MemberKind};
use crate::sys::stop::Stop;

/// Adds a node, and keeps the list behind it: that is what its etcd begins with.
///
/// # Errors
/// [`StepError::Member`] with etcd's words.
pub(super) async fn add(world: &World, add: &AddMember, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let node = only(&cluster, &add.node).await?;
    let via = asked::via(&cluster, add.via.as_ref(), None).await?;
    let peer_url = cluster.peer_url(&node);
    let (learner, kind) = match add.kind {
        MemberKind::Learner => (true, "learner"),
        MemberKind::Voter => (false, "voter"),
    };
    let change = MemberChange::Add { peer_url: peer_url.clone(), learner };
    let what = format!("add {} as a {kind} by way of {}", node.name, via.name);
    let is_own = |member: &Member| member.peer_urls.contains(&peer_url);
    let within = add.within.map_or(Duration::ZERO, |within| within.0);
    let before = asked::members(&via).await.unwrap_or_default();
    // one that was there before is no proof that this call has added it
    let made = |members: &[Member]| !before.iter().any(is_own) && members.iter().any(is_own);
    let members = asked::change(&via, &what, &change, within, made, stop).await?;
    // The name of another member that has none yet does not matter, but each must be there (kubernetes/kubeadm#2005).
    let name = |member: &Member| match () {
        () if is_own(member) => node.name.clone(),
        () if member.started() => member.name.clone(),
        () => member.id.to_string(),
    };
    let list = members.iter().flat_map(|member| member.peer_urls.iter().map(move |url| format!("{}={url}", name(member)))).collect();
    cluster.begin_member(&node.name, list, false);
    world.events.tell(Event::Note { text: format!("{} is added as a {kind}, by way of {}", node.name, via.name) });
    Ok(())
}
