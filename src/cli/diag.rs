//! Errors for people, on standard error.

use std::io::Write;

use super::exit::Exit;
use super::kinder::Called;
use crate::report::harmless;

/// Shows an error with its causes and returns `exit`.
pub(super) fn fail(exit: Exit, error: &anyhow::Error) -> Exit {
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}\n  caused by: {cause}");
        }
    }
    say(&text);
    exit
}

/// One line or more for people.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(&Called::look().words(text)));
}
