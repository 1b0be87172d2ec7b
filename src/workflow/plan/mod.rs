//! What can be run: one step a task, known to fit together.

mod alone;
mod case;
mod check;
mod demands;
mod faults;
mod findings;
mod flow;
mod load;
mod select;
mod steps;
mod types;
mod words;

pub(super) use case::plan;
pub(super) use findings::Named;
pub use types::{ARTIFACTS, Language, Plan, PlannedTask, Process, Step, Transfer};
pub use words::{describe, describe_fault, outline};
