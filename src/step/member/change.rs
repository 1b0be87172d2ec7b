//! `member: {promote: …}`, `{remove: …}` and `{update: …}`: what happens to a member that is in the list.

use std::time::Duration;

use super::super::error::StepError;
use super::super::world::World;
use super::asked;
use crate::agent::MemberChange;
use crate::cluster::only;
use crate::event::{Event, Member, MemberId};
use crate::spec::{ChangeMember, Selector, Span, UpdateMember};
use crate::sys::clock::{Stamp, human};
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, wait};

/// Members are looked at every 50 ms while one learns; on a busy machine less often.
const SEEN: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(20);

/// Makes a learner a voter.
///
/// # Errors
/// [`StepError::Member`] with etcd's words.
pub(super) async fn promote(world: &World, promote: &ChangeMember, stop: &Stop) -> Result<(), StepError> {
    let made = |id: MemberId| move |members: &[Member]| members.iter().any(|member| member.id == id && !member.learner);
    let words = ("promote", "is promoted");
    let began = Stamp::now();
    let node =
        one(world, (&promote.node, promote.via.as_ref(), promote.within), words, |id| MemberChange::Promote { id }, made, stop).await?;
    // what is judged behind this step is what was seen: the next look shows it
    if let Some(observer) = &world.observer {
        let patience = Patience { limit: SEEN, every: GLANCE, stop: stop.soft.clone() };
        let seen = wait(format!("sight of the promotion of {node}"), &patience, || async {
            if observer.promoted(&node, began) { Look::Done(()) } else { Look::NotYet("it was not seen yet".into()) }
        });
        let _ = seen.await;
    }
    Ok(())
}

/// Takes a member out of the list.
///
/// # Errors
/// [`StepError::Member`] with etcd's words.
pub(super) async fn remove(world: &World, remove: &ChangeMember, stop: &Stop) -> Result<(), StepError> {
    let made = |id: MemberId| move |members: &[Member]| !members.iter().any(|member| member.id == id);
    let words = ("remove", "is removed");
    one(world, (&remove.node, remove.via.as_ref(), remove.within), words, |id| MemberChange::Remove { id }, made, stop).await.map(drop)
}

/// Writes another peer URL into the list.
///
/// # Errors
/// [`StepError::Member`] with etcd's words.
pub(super) async fn update(world: &World, update: &UpdateMember, stop: &Stop) -> Result<(), StepError> {
    let url = update.peer_url.as_str();
    let made = |id: MemberId| {
        move |members: &[Member]| members.iter().any(|member| member.id == id && member.peer_urls.iter().any(|has| has == url))
    };
    let change = |id| MemberChange::Update { id, peer_url: url.to_owned() };
    one(world, (&update.node, update.via.as_ref(), None), ("update", "has another peer URL"), change, made, stop).await.map(drop)
}

/// Makes a change; returns the node's name.
async fn one<M: Fn(&[Member]) -> bool>(
    world: &World,
    (node, via, within): (&Selector, Option<&Selector>, Option<Span>),
    (verb, done): (&str, &str),
    change: impl Fn(MemberId) -> MemberChange,
    made: impl Fn(MemberId) -> M,
    stop: &Stop,
) -> Result<String, StepError> {
    let cluster = world.cluster()?;
    let node = only(&cluster, node).await?;
    let via = asked::via(&cluster, via, Some(&node)).await?;
    let what = format!("{verb} {} by way of {}", node.name, via.name);
    let failed = |why: String| StepError::Member { what: what.clone(), why };
    let url = cluster.peer_url(&node);
    let members = asked::members(&via).await.map_err(failed)?;
    // by its URL: one that has not started has no name
    let member = members.iter().find(|member| member.name == node.name || member.peer_urls.contains(&url));
    let id = member.map(|member| member.id).ok_or_else(|| failed("it is not in the member list".into()))?;
    let began = Stamp::now();
    // What was so before is not this change's doing: etcd's refusal counts.
    let made = made(id);
    let already = made(&members);
    let made = |members: &[Member]| !already && made(members);
    asked::change(&via, &what, &change(id), within.map_or(Duration::ZERO, |within| within.0), made, stop).await?;
    let text = format!("{} {done}, by way of {} in {}", node.name, via.name, human(Stamp::now().since(began)));
    world.events.tell(Event::Note { text });
    Ok(node.name.clone())
}
