//! Exit codes, as documented in `docs/exit-codes.md`.

use std::process::ExitCode;

use crate::runner::CaseResult;
use crate::sys::signal::Caught;

/// What a command came to. The order of the variants is the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Stopped by a signal, after cleanup.
    Signal(Caught),
    /// An unexpected error in joinder; under kinder's verbs any failure.
    Unexpected,
    /// The command line is wrong.
    BadCommandLine,
    /// A workflow or cluster file is wrong.
    BadFile,
    /// No engine, no image, no rights.
    BadEnvironment,
    /// An expectation, invariant or task failed.
    Failed,
    /// Something could not be seen.
    Undecided,
    /// All passed, but something could not be cleaned up.
    Left,
    /// All passed.
    Passed,
    /// The exit code of a command that ran in a node.
    Remote(u8),
}

impl Exit {
    /// What a run comes to, the first that applies.
    pub fn of(result: &CaseResult, caught: Option<Caught>) -> Self {
        match caught {
            Some(caught) => Self::Signal(caught),
            None if result.failed.is_some() => Self::Failed,
            None if result.undecided => Self::Undecided,
            None if result.left => Self::Left,
            None => Self::Passed,
        }
    }

    /// As kinder's users expect it: any failure is 1.
    #[must_use]
    pub fn as_kinder(self) -> Self {
        if self.code() == 0 { Self::Passed } else { Self::Unexpected }
    }

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Signal(Caught::Interrupt) => 130,
            Self::Signal(Caught::Terminate) => 143,
            Self::Unexpected => 1,
            Self::BadCommandLine => 2,
            Self::BadFile => 3,
            Self::BadEnvironment => 4,
            Self::Failed => 100,
            Self::Undecided => 102,
            Self::Left => 101,
            Self::Passed => 0,
            Self::Remote(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All but [`Exit::Remote`], from the top.
    const ALL: [Exit; 10] = [
        Exit::Signal(Caught::Interrupt),
        Exit::Signal(Caught::Terminate),
        Exit::Unexpected,
        Exit::BadCommandLine,
        Exit::BadFile,
        Exit::BadEnvironment,
        Exit::Failed,
        Exit::Undecided,
        Exit::Left,
        Exit::Passed,
    ];

    #[test]
    fn the_page_lists_just_the_codes_that_there_are_in_their_order() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/exit-codes.md")).expect("there");
        let listed: Vec<u8> = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok()).collect();
        assert_eq!(listed, ALL.map(Exit::code));
        assert_eq!(Exit::Remote(7).code(), 7);
    }

    #[test]
    fn the_first_that_applies_from_the_top_decides() {
        let result = |failed: bool, undecided, left| CaseResult { failed: failed.then(|| "join".to_owned()), undecided, left };
        for (result, caught, code) in [
            (result(false, false, false), None, 0),
            (result(false, false, true), None, 101),
            (result(false, true, true), None, 102),
            (result(true, true, true), None, 100),
            (result(true, false, true), Some(Caught::Interrupt), 130),
            (result(false, false, false), Some(Caught::Terminate), 143),
        ] {
            assert_eq!(Exit::of(&result, caught).code(), code, "{result:?} {caught:?}");
        }
    }
}
