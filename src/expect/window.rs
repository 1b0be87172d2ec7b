//! The time that an expectation looks at.

use crate::spec::Over;
use crate::sys::clock::Stamp;

/// A step, with the waiting of its expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When the step began.
    pub from: Stamp,
    /// When it is judged.
    pub to: Stamp,
}

impl Window {
    /// Beginning and end of what is meant. A run's record begins with the run.
    pub(super) fn over(self, over: Over) -> (Stamp, Stamp) {
        match over {
            Over::Step => (self.from, self.to),
            Over::Run => (Stamp { mono: 0, ..self.from }, self.to),
        }
    }

    /// Is the moment within the step?
    pub(super) fn holds(self, at: Stamp) -> bool {
        self.from <= at && at <= self.to
    }
}
