//! What the terminal is used for, decided once.

use std::io::IsTerminal;

use super::line::Verbosity;
use crate::sys::env;

/// What is around the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// Is standard error a terminal?
    pub(super) terminal: bool,
    /// Is this a CI job?
    pub(super) in_ci: bool,
    /// `TERM`.
    pub(super) term: Option<String>,
    /// Is `NO_COLOR` set?
    pub(super) no_color: bool,
    /// Who reads along.
    pub(super) reader: Reader,
}

impl Around {
    /// As it is.
    pub(super) fn look() -> Self {
        Self {
            reader: Reader::look(),
            terminal: std::io::stderr().is_terminal(),
            in_ci: env::in_ci(),
            term: env::var("TERM"),
            no_color: env::var("NO_COLOR").is_some(),
        }
    }
}

/// How events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Lines, and below them what is going on.
    Live,
    /// Lines.
    Plain,
    /// Lines with phases and output.
    Verbose,
}

/// Who reads commands in the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reader {
    /// People alone.
    #[default]
    People,
    GitHub,
    GitLab,
}

impl Reader {
    /// As the environment says.
    pub(super) fn look() -> Self {
        let is_true = |name| env::var(name).is_some_and(|v| v == "true");
        match (is_true("GITHUB_ACTIONS"), is_true("GITLAB_CI")) {
            (true, _) => Self::GitHub,
            (false, true) => Self::GitLab,
            (false, false) => Self::People,
        }
    }
}

/// `text`, for standard error, with nothing in it that a CI system would take for a command.
pub fn harmless(text: &str) -> String {
    super::print::safe(text, Reader::look())
}

/// All that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) view: View,
    pub(super) colour: bool,
    pub(super) reader: Reader,
}

/// Lines that change need a terminal that can move its cursor and a person who looks at it; colours need the first alone.
/// `NO_COLOR` takes the colours and nothing else.
pub(super) fn mode(around: &Around, verbosity: Verbosity) -> Mode {
    let able = around.terminal && around.term.as_deref() != Some("dumb");
    let in_ci = around.in_ci || around.reader != Reader::People;
    let view = match verbosity {
        Verbosity::Verbose => View::Verbose,
        Verbosity::Normal if able && !in_ci => View::Live,
        Verbosity::Normal => View::Plain,
    };
    Mode { view, colour: able && !around.no_color, reader: around.reader }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changing_lines_are_for_people_at_a_terminal() {
        let terminal = Around { terminal: true, term: Some("xterm".into()), ..Around::default() };
        let with = |change: fn(&mut Around)| {
            let mut around = terminal.clone();
            change(&mut around);
            around
        };
        for (around, verbosity, view, colour, reader) in [
            (with(|_| {}), Verbosity::Normal, View::Live, true, Reader::People),
            (with(|a| a.term = None), Verbosity::Normal, View::Live, true, Reader::People),
            (with(|a| a.no_color = true), Verbosity::Normal, View::Live, false, Reader::People),
            (with(|a| a.term = Some("dumb".into())), Verbosity::Normal, View::Plain, false, Reader::People),
            (with(|a| a.terminal = false), Verbosity::Normal, View::Plain, false, Reader::People),
            (with(|a| a.in_ci = true), Verbosity::Normal, View::Plain, true, Reader::People),
            (with(|a| a.reader = Reader::GitHub), Verbosity::Normal, View::Plain, true, Reader::GitHub),
            (with(|a| a.reader = Reader::GitLab), Verbosity::Normal, View::Plain, true, Reader::GitLab),
            (with(|_| {}), Verbosity::Verbose, View::Verbose, true, Reader::People),
            (Around::default(), Verbosity::Verbose, View::Verbose, false, Reader::People),
        ] {
            assert_eq!(mode(&around, verbosity), Mode { view, colour, reader }, "{around:?} {verbosity:?}");
        }
    }
}
