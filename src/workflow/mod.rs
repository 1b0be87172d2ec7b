//! From a file to a plan: everything that is wrong with it is found and said at once, before anything is made.
//!
//! `file` reads one file into a tree with places; `expand` makes of it one tree for each case; `plan` makes of that what can be run.
//! `v1` makes a plan of a file in kinder's language.

mod expand;
mod file;
mod migrate;
mod plan;
mod v1;

pub use expand::{Artifacts, Choice, Labels, Loaded, Request, plans, plans_of_text};
pub use file::{Problems, suggestion};
pub use migrate::{Migrated, migrate};
pub use plan::{ARTIFACTS, Language, Plan, PlannedTask, Process, Step, Transfer, describe, describe_fault, outline};
pub use v1::go_duration;
