//! The line view on standard error.

use std::io::{IsTerminal, Write};

use tokio::sync::mpsc;

use super::jsonl::Artifacts;
use super::line::{Verbosity, words};
use super::summary::Summary;
use super::tone::{paint, plain};
use crate::event::Told;
use crate::sys::clock::Stamp;
use crate::sys::env;

/// Listens to all events until the bus closes.
pub struct Reporter {
    artifacts: Option<Artifacts>,
    verbosity: Verbosity,
    colour: bool,
    summary: Summary,
    began: Option<Stamp>,
}

impl Reporter {
    /// Shows lines, and keeps events in `artifacts` where given.
    pub fn new(artifacts: Option<Artifacts>, verbosity: Verbosity) -> Self {
        let colour = std::io::stderr().is_terminal() && env::colour();
        Self { artifacts, verbosity, colour, summary: Summary::default(), began: None }
    }

    /// Runs until the bus closes; returns what the events came to.
    pub async fn listen(mut self, mut events: mpsc::UnboundedReceiver<Told>) -> Summary {
        while let Some(told) = events.recv().await {
            self.hear(&told);
        }
        if let Some(artifacts) = &mut self.artifacts {
            self.summary.artifacts = Some(artifacts.finish());
        }
        Self::say(&self.summary.text(self.colour));
        self.summary
    }

    fn hear(&mut self, told: &Told) {
        if let Some(artifacts) = &mut self.artifacts {
            artifacts.keep(told);
        }
        self.summary.hear(told);
        let began = *self.began.get_or_insert(told.at);
        if let Some((tone, line)) = words(told, self.verbosity) {
            Self::say(&format!("{:7.1}s {}\n", told.at.since(began).as_secs_f64(), paint(tone, &plain(&line), self.colour)));
        }
    }

    fn say(text: &str) {
        // Nobody reads it any more: the artifacts still tell.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}
