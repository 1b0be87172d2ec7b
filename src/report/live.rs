//! The live view: lines above, and below them what is going on, drawn anew up to four times a second.

use std::io::Write;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::frame::Size;

/// Drawings a second.
const HZ: u8 = 4;

/// A terminal on standard error.
pub(super) struct Live {
    term: Term,
    all: MultiProgress,
    // One bar with all lines: bars of their own would be drawn one by one, and shown half old, half new.
    bar: ProgressBar,
}

impl Live {
    pub(super) fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(HZ));
        let bar = all.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { term: Term::stderr(), all, bar }
    }

    /// How large it is now; it may be changed while the run goes on.
    pub(super) fn size(&self) -> Size {
        let (rows, columns) = self.term.size();
        Size { columns: columns.into(), rows: rows.into() }
    }

    /// Lines that stay, above those that change.
    pub(super) fn say(&self, text: &str) {
        // Not `println`: it fills lines up with spaces, which a narrower window breaks and a copy keeps.
        // Nobody reads it any more: the artifacts still tell.
        self.all.suspend(|| drop(std::io::stderr().lock().write_all(text.as_bytes())));
    }

    /// What is going on now.
    pub(super) fn draw(&self, lines: &[String]) {
        self.bar.set_message(lines.join("\n"));
    }

    /// Takes the changing lines away.
    pub(super) fn close(&self) {
        self.bar.finish_and_clear();
        let _ = self.all.clear();
    }
}
