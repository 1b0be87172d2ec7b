//! What can be run: one step a task, known to fit together.

mod case;
mod check;
mod demands;
mod faults;
mod select;
mod steps;
mod types;
mod words;

pub(super) use case::{Named, plan};
pub use types::{Plan, PlannedTask, Process, Step, Transfer};
pub use words::{describe, describe_fault, outline};
