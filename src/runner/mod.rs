//! Runs a plan task by task: limits, stopping, judging, and what counts as a failure.

mod clients;
mod faults;
mod foresight;
mod group;
mod invariants;
mod judge;
mod kinder;
mod known;
mod logs;
mod policy;
mod residue;
mod run;
mod task;

pub use kinder::run_v1;
pub use run::{CaseResult, clean_up, run};
