//! One tree to the trees of its cases: imports put in place, vars resolved, templates written out.

mod cases;
mod import;
mod matrix;
mod template;
mod vars;

pub use cases::{Loaded, Request, plans, plans_of_text};
pub use matrix::Choice;
