//! Runs a plan task by task: limits, stopping, judging, and what counts as a failure.

mod judge;
mod policy;
mod run;

pub use run::{CaseResult, clean_up, run};
