//! From a file to a plan: everything that is wrong with it is found and said at once, before anything is made.
//!
//! `file` reads one file into a tree with places; `expand` makes of it one tree for each case; `plan` makes of that what can be run.

mod expand;
mod file;
mod plan;

pub use expand::{Choice, Loaded, Request, plans, plans_of_text};
pub use file::{Problems, suggestion};
pub use plan::{Plan, PlannedTask, Process, Step, Transfer, describe, describe_fault, outline};
