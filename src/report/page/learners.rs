//! The table of learners: when each was announced, started and promoted, and how sure that is.

use std::time::Duration;

use serde::Serialize;

use super::history::{History, Life, Sight};
use crate::event::Moment;
use crate::report::nodes::Nodes;
use crate::sys::clock::human;

/// One learner. Times are from the start, lengths with the least and the most that they may have been.
#[derive(Debug, Serialize)]
pub(super) struct Learner {
    node: String,
    id: String,
    waited: String,
    announced: String,
    started: String,
    promoted: String,
    to_started: String,
    to_promoted: String,
    whole: String,
    end: &'static str,
}

pub(super) fn learners(history: &History, nodes: &Nodes) -> Vec<Learner> {
    let mut all: Vec<(Sight, Learner)> = Vec::new();
    for (id, life) in &history.lives {
        let Some(announced) = life.moments.get(&Moment::Announced) else { continue };
        let at = |moment| life.moments.get(&moment).map_or_else(|| "–".to_owned(), |sight| time(history, *sight));
        let owner = life.owner.as_deref().unwrap_or("not known");
        let learner = Learner {
            node: nodes.short(owner).to_owned(),
            id: id.to_string(),
            waited: waited(history, owner, announced),
            announced: time(history, *announced),
            started: at(Moment::Started),
            promoted: at(Moment::Promoted),
            to_started: between(life, Moment::Announced, Moment::Started),
            to_promoted: between(life, Moment::Started, Moment::Promoted),
            whole: between(life, Moment::Announced, Moment::Promoted),
            end: end(life),
        };
        all.push((*announced, learner));
    }
    all.sort_by_key(|(announced, _)| announced.at);
    all.into_iter().map(|(_, learner)| learner).collect()
}

fn end(life: &Life) -> &'static str {
    let has = |moment| life.moments.contains_key(&moment);
    match (has(Moment::Promoted), has(Moment::Removed), has(Moment::Started)) {
        (true, false, _) => "voter",
        (true, true, _) => "voter, then removed",
        (false, true, _) => "removed as a learner",
        (false, false, true) => "still a learner",
        (false, false, false) => "never started",
    }
}

fn time(history: &History, sight: Sight) -> String {
    format!("{:.1}s", sight.at.since(history.zero).as_secs_f64())
}

/// From the first refusal of the slot to the announcement.
fn waited(history: &History, node: &str, announced: &Sight) -> String {
    let runs = history.nodes.get(node).map(|story| story.runs.as_slice()).unwrap_or_default();
    let refused = runs.iter().rev().filter_map(|run| run.refused).find(|(first, _)| *first <= announced.at);
    refused.map_or_else(|| "–".into(), |(first, times)| format!("{}, refused {times}×", human(announced.at.since(first))))
}

/// `1.0s (984ms to 1.1s)`: each end may have come as much earlier as the looks were apart.
fn between(life: &Life, from: Moment, to: Moment) -> String {
    let (Some(from), Some(to)) = (life.moments.get(&from), life.moments.get(&to)) else { return "–".into() };
    let took = to.at.since(from.at);
    let (least, most): (Duration, Duration) = (took.saturating_sub(to.unsure), took + from.unsure);
    format!("{} ({} to {})", human(took), human(least), human(most))
}
