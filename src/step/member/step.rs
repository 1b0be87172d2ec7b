//! The step: just one of its words, which may be meant to fail.

use std::time::Duration;

use super::super::error::StepError;
use super::super::world::World;
use super::{add, change, put, start, stop as ending};
use crate::spec::MemberStep;
use crate::sys::stop::Stop;

/// Carries out one change, within `limit`, the task's, where it says nothing else.
///
/// # Errors
/// [`StepError::Member`] with etcd's words; where those are wanted, when it did not refuse in that way.
pub async fn member(world: &World, step: &MemberStep, limit: Duration, stop: &Stop) -> Result<(), StepError> {
    let ended = carry_out(world, step, limit, stop).await;
    let Some(text) = &step.fails else { return ended };
    match ended {
        Err(StepError::Member { why, .. }) if is_etcds(&why) && why.contains(text.as_str()) => Ok(()),
        Err(e) => Err(e),
        Ok(()) => Err(StepError::Member { what: "it went well".into(), why: format!("a refusal with {text:?} was wanted") }),
    }
}

/// Are these etcd's own words? joinder has some of its own, for what etcd was never asked.
fn is_etcds(why: &str) -> bool {
    ["etcdserver: ", "membership: ", "raft: "].iter().any(|origin| why.contains(origin))
}

async fn carry_out(world: &World, step: &MemberStep, limit: Duration, stop: &Stop) -> Result<(), StepError> {
    let MemberStep { add, start, promote, remove, update, stop: ended, put, fails: _ } = step;
    if let Some(add) = add {
        add::add(world, add, stop).await?;
    }
    if let Some(start) = start {
        start::start(world, start, limit, stop).await?;
    }
    if let Some(promote) = promote {
        change::promote(world, promote, stop).await?;
    }
    if let Some(remove) = remove {
        change::remove(world, remove, stop).await?;
    }
    if let Some(update) = update {
        change::update(world, update, stop).await?;
    }
    if let Some(ended) = ended {
        ending::stop(world, ended).await?;
    }
    if let Some(put) = put {
        put::put(world, put).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_etcds_words_are_a_refusal() {
        assert!(super::is_etcds("cannot add a member by way of https://127.0.0.1:2379: etcdserver: too many learner members in cluster"));
        assert!(!super::is_etcds("it is not in the member list"));
        assert!(!super::is_etcds("127.0.0.1:2379: Connection refused"));
    }
}
