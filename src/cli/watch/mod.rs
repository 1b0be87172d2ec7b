//! `joinder watch`: a running cluster, live.

mod board;
mod verb;

pub(super) use verb::watch;
