//! One tree to the trees of its cases: imports put in place, vars resolved, templates written out.

mod cases;
mod import;
mod labels;
mod matrix;
mod template;
mod vars;

pub use cases::{Artifacts, Loaded, Request, plans, plans_of_text};
pub use labels::Labels;
pub use matrix::Choice;
pub(super) use template::{Unknown, Values, expand as write_out};
pub(super) use vars::{Raw, resolve};
