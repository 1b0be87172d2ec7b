//! When quorum should hold: who votes, who was taken down on purpose, and when the second voter came.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::event::{MemberId, Moment};
use crate::observe::{Life, Record};
use crate::sys::clock::Stamp;

/// What lies before a second vote and behind it belongs to it: two voters serve when both are connected.
const BEFORE: Duration = Duration::from_secs(1);
const BEHIND: Duration = Duration::from_secs(5);

/// The second voter's vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SecondVote {
    at: Stamp,
    unsure: Duration,
}

impl SecondVote {
    /// Does this time touch it?
    pub(super) fn touches(&self, from: Stamp, to: Stamp) -> bool {
        let (behind, before) = (self.at.after(BEHIND), to.after(BEFORE + self.unsure));
        from <= behind && self.at <= before
    }
}

/// When a member had its vote: from, and until when.
fn vote(life: &Life) -> Option<(Stamp, Option<Stamp>)> {
    let from = life.sight(Moment::Founded).or(life.sight(Moment::Promoted))?.at;
    Some((from, life.sight(Moment::Removed).map(|sight| sight.at)))
}

/// Those who had a vote then.
fn voters(record: &Record, at: Stamp) -> BTreeSet<MemberId> {
    let votes = |life: &Life| vote(life).is_some_and(|(from, to)| from <= at && to.is_none_or(|to| at < to));
    record.lives.iter().filter(|(_, life)| votes(life)).map(|(id, _)| *id).collect()
}

/// Votes that made two voters of one, as far as they touch that time.
pub(super) fn second_votes(record: &Record, from: Stamp, to: Stamp) -> Vec<SecondVote> {
    let second = |(id, life): (&MemberId, &Life)| {
        let sight = life.sight(Moment::Promoted).or(life.sight(Moment::Founded))?;
        let others = voters(record, sight.at).into_iter().filter(|other| other != id).count();
        (others == 1).then_some(SecondVote { at: sight.at, unsure: sight.unsure })
    };
    record.lives.iter().filter_map(second).filter(|second| second.touches(from, to)).collect()
}

/// The times in which too few voters were up, because the workflow had taken the others down.
pub(super) fn downtimes(record: &Record, from: Stamp, to: Stamp) -> Vec<(Stamp, Stamp)> {
    let mut edges: BTreeSet<Stamp> = [from, to].into();
    edges.extend(record.downs.iter().flat_map(|down| [Some(down.from), down.back]).flatten());
    edges.extend(record.lives.values().filter_map(vote).flat_map(|(from, to)| [Some(from), to]).flatten());
    let edges: Vec<Stamp> = edges.into_iter().filter(|edge| from <= *edge && *edge <= to).collect();
    let mut times: Vec<(Stamp, Stamp)> = Vec::new();
    for two in edges.windows(2) {
        let (begin, end) = (two[0], two[1]);
        let voters = voters(record, begin);
        let is_down = |id: &&MemberId| {
            let name = record.lives.get(id).map(|life| life.name.as_str());
            record
                .downs
                .iter()
                .any(|down| Some(down.node.as_str()) == name && down.from <= begin && down.back.is_none_or(|back| begin < back))
        };
        let down = voters.iter().filter(is_down).count();
        if down == 0 || voters.len() - down > voters.len() / 2 {
            continue;
        }
        match times.last_mut() {
            Some(last) if last.1 == begin => last.1 = end,
            Some(_) | None => times.push((begin, end)),
        }
    }
    times
}
