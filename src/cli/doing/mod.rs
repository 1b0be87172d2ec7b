//! `joinder do ACTION`: what can be typed, what an action makes of it, and what is shown while it works.

mod args;
mod inputs;
mod shown;
mod verb;

pub(super) use args::Do;
pub(super) use verb::act;
