//! How text is to be seen, and what is safe to show.

use crate::event::Verdict;

/// How a line is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
    Doubt,
    Faint,
}

/// A verdict's colour and word.
pub(super) fn verdict(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Pass => (Tone::Good, "PASS"),
        Verdict::Known => (Tone::Doubt, "KNOWN"),
        Verdict::Undecided => (Tone::Doubt, "UNDECIDED"),
        Verdict::Fail => (Tone::Bad, "FAIL"),
    }
}

/// `text` with everything that could command a terminal made visible. It may come from files, nodes and programs.
pub fn plain(text: &str) -> String {
    text.chars().fold(String::new(), |mut all, c| {
        if c.is_control() && c != '\n' {
            all.extend(c.escape_default());
        } else {
            all.push(c);
        }
        all
    })
}

/// `text` in the colour of its tone.
pub(super) fn paint(tone: Tone, text: &str, colour: bool) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => "32",
        Tone::Bad => "31;1",
        Tone::Doubt => "33",
        Tone::Faint => "2",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
