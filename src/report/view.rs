//! Hears all events and has them shown and kept.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::files::Files;
use super::frame;
use super::jsonl::Artifacts;
use super::line::Verbosity;
use super::live::Live;
use super::mode::{Around, Mode, Reader, View, mode};
use super::model::Run;
use super::summary::{self, Summary};
use super::tone::paint;
use super::{github, print};
use crate::event::Told;
use crate::sys::clock::Stamp;
use crate::sys::env;

/// Between two drawings of what is going on, which are also the looks for slow tasks.
const BEAT: Duration = Duration::from_millis(250);

/// Listens to all events until the bus closes.
pub struct Reporter {
    files: Option<Files>,
    mode: Mode,
    screen: Screen,
    run: Run,
}

/// Where lines go.
enum Screen {
    Lines(Box<dyn Write + Send>),
    Live(Live),
}

impl Screen {
    fn lines() -> Self {
        Self::Lines(Box::new(std::io::stderr()))
    }
}

impl Reporter {
    /// Shows events as fits the terminal, and keeps them in `artifacts` where given.
    pub fn new(artifacts: Option<Artifacts>, verbosity: Verbosity) -> Self {
        let mode = mode(&Around::look(), verbosity);
        let screen = match mode.view {
            View::Live => Screen::Live(Live::new()),
            View::Plain | View::Verbose => Screen::lines(),
        };
        let files = artifacts.map(Files::new);
        Self { files, mode, screen, run: Run::default() }
    }

    /// Runs until the bus closes; returns what the events came to.
    pub async fn listen(mut self, mut events: mpsc::UnboundedReceiver<Told>) -> Summary {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                told = events.recv() => match told {
                    Some(told) => self.hear(&told),
                    None => break,
                },
                _ = beat.tick() => self.beat(Stamp::now()),
            }
        }
        self.end()
    }

    fn hear(&mut self, told: &Told) {
        let ended = self.run.hear(told);
        if let Some(files) = &mut self.files {
            files.keep(told, &self.run, ended);
        }
        self.say(&print::text(told, &self.run, ended, self.mode));
    }

    /// What changes without an event: times, and tasks that take long.
    fn beat(&mut self, now: Stamp) {
        for notice in self.run.slow(now) {
            self.say(&print::notice(&notice, now, &self.run, self.mode));
        }
        if let Screen::Live(live) = &self.screen {
            let lines = frame::lines(&self.run, now, live.size());
            live.draw(&lines.iter().map(|(tone, line)| paint(*tone, line, self.mode.colour)).collect::<Vec<_>>());
        }
    }

    fn end(mut self) -> Summary {
        if let Screen::Live(live) = &self.screen {
            live.close();
            self.screen = Screen::lines();
        }
        let artifacts = self.files.as_mut().map(|files| files.finish(&self.run));
        self.say(&print::safe(&summary::text(&self.run, artifacts.as_ref(), self.mode.colour), self.mode.reader));
        if let (Reader::GitHub, Some(path)) = (self.mode.reader, env::var("GITHUB_STEP_SUMMARY")) {
            let appended = OpenOptions::new().append(true).create(true).open(&path);
            let written = appended.and_then(|mut file| file.write_all(github::step_summary(&self.run).as_bytes()));
            if let Err(e) = written {
                self.say(&print::safe(&format!("warning: cannot append to GITHUB_STEP_SUMMARY ({path}): {e}\n"), self.mode.reader));
            }
        }
        Summary { artifacts }
    }

    fn say(&mut self, text: &str) {
        match &mut self.screen {
            _ if text.is_empty() => {}
            Screen::Live(live) => live.say(text),
            // Nobody reads it any more: the artifacts still tell.
            Screen::Lines(out) => drop(out.write_all(text.as_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::junit;
    use super::super::script::Script;
    use super::*;
    use crate::event::Event;

    /// What a run leaves in its folder when it tells these events, and then ends or breaks.
    async fn artifacts(told: Vec<Told>) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().expect("a folder");
        let mode = Mode { view: View::Plain, colour: false, reader: Reader::People };
        let artifacts = Artifacts::create(dir.path()).expect("made");
        let files = Some(Files::new(artifacts));
        let reporter = Reporter { files, mode, screen: Screen::Lines(Box::new(std::io::sink())), run: Run::default() };
        let (tx, rx) = mpsc::unbounded_channel();
        for told in told {
            tx.send(told).expect("heard");
        }
        drop(tx);
        let summary = reporter.listen(rx).await;
        assert_eq!(summary.artifacts, Some(Ok(dir.path().to_owned())));
        let mut found = Vec::new();
        let mut open = vec![dir.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).expect("listed") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(dir.path()).expect("below").display().to_string();
                    found.push((name, std::fs::read_to_string(&path).expect("text")));
                }
            }
        }
        found.sort();
        found
    }

    #[tokio::test]
    async fn each_case_has_its_folder() {
        let names: Vec<String> = artifacts(Script::matrix().told).await.into_iter().map(|(name, _)| name).collect();
        let of = |case: u32, files: &[&str]| files.iter().map(|file| format!("{case:02}-case/{file}")).collect::<Vec<_>>();
        let both = ["junit_runner.xml", "report.html", "task-01-init-log.txt", "task-02-delete-log.txt", "trace.json"];
        let last = ["junit_runner.xml", "report.html", "task-01-init-log.txt", "trace.json"];
        let whole = vec!["events.jsonl".into(), "index.html".into()];
        let want: Vec<String> = [of(1, &both), of(2, &both), of(3, &last), whole].concat();
        assert_eq!(names, want);
    }

    #[tokio::test]
    async fn wherever_a_run_breaks_off_its_junit_file_is_there() {
        let whole = Script::passing().told;
        let case = whole.iter().position(|told| matches!(told.event, Event::CaseStarted { .. })).expect("a case");
        for end in case..whole.len() {
            let files = artifacts(whole[..=end].to_vec()).await;
            let junit = &files.iter().find(|(name, _)| name == junit::FILE).expect("there").1;
            let last = whole[..=end].iter().rev().find(|t| matches!(t.event, Event::TaskStarted { .. } | Event::TaskFinished { .. }));
            let running = last.is_some_and(|told| matches!(told.event, Event::TaskStarted { .. }));
            assert_eq!(junit.contains("<error>"), running, "after event {}", end + 1);
            assert!(junit.ends_with("</testsuite>\n"));
        }
    }

    #[tokio::test]
    async fn a_run_that_ends_before_its_first_case_says_so() {
        let files = artifacts(Script::new().finish(4).told).await;
        assert!(files.iter().any(|(name, text)| name == junit::FILE && text.contains("exit code 4")), "{files:?}");
    }
}
