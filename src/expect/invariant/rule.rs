//! What each invariant is to the judge.

use super::view::View;
use crate::event::Told;

/// What was seen, and the events that show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) saw: String,
    pub(super) evidence: Vec<u64>,
}

impl Shown {
    pub(super) fn new(saw: impl Into<String>, evidence: impl Into<Vec<u64>>) -> Self {
        Self { saw: saw.into(), evidence: evidence.into() }
    }
}

/// What an invariant came to that was not seen broken on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It held.
    Held(Shown),
    /// The end shows that it did not.
    Broken(Shown),
    /// It could have been seen, and was not.
    Unseen(String),
    /// There was nothing for it to be about, whoever looks.
    Idle(String),
}

/// One invariant. It keeps what it needs, and no more than a bounded part of what it heard.
pub(super) trait Rule: Send {
    /// Hears an event that `view` knows of already. Tells when it is broken, which ends it.
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown>;

    /// What it came to.
    fn end(&self, view: &View) -> End;
}
