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
    let before = match asked::members(&via).await {
        Ok(before) => Some(before),
        Err(_) => asked::members(&via).await.ok(),
    };
    // one that was there before, or may have been, is no proof that this call has added it
    let made = |members: &[Member]| was_added(before.as_deref(), members, is_own);
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

/// Do these lists show that a member came in between?
fn was_added(before: Option<&[Member]>, behind: &[Member], is_own: impl Fn(&Member) -> bool) -> bool {
    before.is_some_and(|before| !before.iter().any(&is_own)) && behind.iter().any(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_nobody_gave_shows_no_addition() {
        let own = |member: &Member| member.name == "own";
        let list = [Member { name: "own".into(), ..Member::default() }];
        assert!(was_added(Some(&[]), &list, own));
        assert!(!was_added(Some(&list), &list, own), "it was there before");
        assert!(!was_added(None, &list, own), "it may have been");
        assert!(!was_added(Some(&[]), &[], own));
    }
}
