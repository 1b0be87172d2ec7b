//! Which calls fail, and how.

use std::time::Duration;

use crate::runtime::error::Fault;

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was asked, in the words of the errors: `create container`.
    pub op: &'static str,
    /// On what; empty for lists.
    pub target: String,
}

/// Which calls are disturbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// The one with this number, from 1.
    Nth(usize),
    /// The one with this number, and all after it: the engine has gone.
    From(usize),
    /// The next `times` calls of this kind on this target.
    Next {
        /// [`Call::op`].
        op: &'static str,
        /// [`Call::target`].
        target: String,
        /// How many; `usize::MAX` is for ever.
        times: usize,
    },
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Not carried out, and said so.
    Refuse(Fault),
    /// Not carried out, and never answered.
    Hang,
    /// Carried out after this long, whether or not the caller still waits, and never answered.
    Late(Duration),
}

/// The disturbances of one engine.
#[derive(Default)]
pub(super) struct Rules(Vec<(When, Way)>);

impl Rules {
    pub(super) fn add(&mut self, when: When, way: Way) {
        self.0.push((when, way));
    }

    /// How the `nth` call is to fail, if at all.
    pub(super) fn meet(&mut self, nth: usize, call: &Call) -> Option<Way> {
        self.0.iter_mut().find_map(|(when, way)| {
            let met = match when {
                When::Nth(n) => *n == nth,
                When::From(n) => *n <= nth,
                When::Next { op, target, times } => {
                    let met = *times > 0 && *op == call.op && *target == call.target;
                    *times -= usize::from(met);
                    met
                }
            };
            met.then_some(*way)
        })
    }
}
