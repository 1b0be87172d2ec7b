//! From a file to a plan: everything that is wrong with it is found and said at once, before anything is made.

mod check;
mod load;
mod plan;
mod words;

pub use load::{LoadError, load};
pub use plan::{Plan, PlanError, PlannedTask, Process, Step, Transfer, plan};
pub use words::{describe, outline};
