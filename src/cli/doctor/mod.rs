//! `joinder doctor`: what is gathered, what follows from it, how it is shown.

mod checks;
mod facts;
mod gather;
mod verb;

pub(super) use verb::doctor;
