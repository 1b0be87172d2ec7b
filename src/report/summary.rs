//! What a run came to, verdicts first.

use std::path::PathBuf;
use std::time::Duration;

use super::tone::{paint, plain, verdict};
use crate::event::{Event, Judgement, Outcome, Told, Verdict, Work};
use crate::sys::clock::human;

/// Gathered from the events of one run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Every judgement with its task.
    pub judgements: Vec<(String, Judgement)>,
    /// Tasks that failed, with the reason, and whether that counts.
    pub failed: Vec<(String, String, bool)>,
    /// The big pieces of work.
    pub work: Vec<(Work, String, Duration)>,
    /// Where the artifacts lie.
    pub artifacts: Option<Result<PathBuf, String>>,
    finished: Option<(u8, Duration)>,
}

impl Summary {
    pub(super) fn hear(&mut self, told: &Told) {
        match &told.event {
            Event::Judged { task, judgement, .. } => self.judgements.push((task.clone(), judgement.clone())),
            Event::Worked { work, on, took, .. } => self.work.push((*work, on.clone(), *took)),
            Event::TaskFinished { name, outcome, counts, .. } => {
                let reason = match outcome {
                    Outcome::Failed { reason } | Outcome::NotStarted { reason } => reason.clone(),
                    Outcome::TimedOut { limit } => format!("not done at its limit of {}", human(*limit)),
                    Outcome::Passed | Outcome::Stopped | Outcome::Skipped { .. } => return,
                };
                self.failed.push((name.clone(), reason, *counts));
            }
            Event::RunFinished { exit, took } => self.finished = Some((*exit, *took)),
            Event::RunStarted { .. }
            | Event::CaseStarted { .. }
            | Event::CaseFinished { .. }
            | Event::Output { .. }
            | Event::TaskStarted { .. }
            | Event::NodeUp { .. }
            | Event::KubeadmStarted { .. }
            | Event::KubeadmLine { .. }
            | Event::KubeadmPhase { .. }
            | Event::KubeadmFinished { .. }
            | Event::Etcd { .. }
            | Event::Member { .. }
            | Event::Cleaned { .. }
            | Event::Note { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// The closing lines: times, verdicts with the failures first, artifacts, exit code.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut text = String::new();
        let mut line = |s: &str| {
            text.push_str(s);
            text.push('\n');
        };
        let Some((exit, took)) = self.finished else { return text };
        line("");
        let times: Vec<String> = self.work.iter().filter_map(|(work, on, took)| shown(*work, on, *took)).collect();
        if !times.is_empty() {
            line(&format!("times      {}", times.join(", ")));
        }
        for (task, reason, counts) in &self.failed {
            let (tone, word) = verdict(if *counts { Verdict::Fail } else { Verdict::Known });
            let word = if *counts { word } else { "IGNORED" };
            line(&paint(tone, &plain(&format!("{word:<10} {task}: {reason}")), colour));
        }
        let mut sorted: Vec<&(String, Judgement)> = self.judgements.iter().collect();
        sorted.sort_by_key(|(_, j)| std::cmp::Reverse(j.verdict));
        for (task, j) in sorted {
            let (tone, word) = verdict(j.verdict);
            let seen = if j.evidence.is_empty() { String::new() } else { format!(" (events {})", join(&j.evidence)) };
            line(&paint(tone, &plain(&format!("{word:<10} {task} / {}: wanted {}; saw {}{seen}", j.name, j.wanted, j.saw)), colour));
        }
        match &self.artifacts {
            Some(Ok(path)) => line(&format!("artifacts  {}", path.display())),
            Some(Err(why)) => line(&format!("artifacts  incomplete: {why}")),
            None => {}
        }
        let count = |v: Verdict| self.judgements.iter().filter(|(_, j)| j.verdict == v).count();
        line(&format!(
            "result     {} passed, {} failed, {} undecided in {}; exit code {exit}",
            count(Verdict::Pass),
            count(Verdict::Fail) + self.failed.iter().filter(|(_, _, counts)| *counts).count(),
            count(Verdict::Undecided),
            human(took)
        ));
        text
    }
}

fn shown(work: Work, on: &str, took: Duration) -> Option<String> {
    let what = match work {
        Work::CreateNodes => "nodes".to_owned(),
        Work::Init => "init".to_owned(),
        Work::Join => format!("join {on}"),
        Work::Joins => "joins".to_owned(),
        Work::Ready => "ready".to_owned(),
        Work::Delete => "delete".to_owned(),
        Work::CreateNode | Work::Boot => return None,
    };
    Some(format!("{what} {}", human(took)))
}

fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
