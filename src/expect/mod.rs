//! Expectations: pure functions from what was demanded and what was seen to a verdict with its reason.

mod members;
mod nodes;
mod promotion;
mod wanted;

pub use members::members;
pub use nodes::{Readiness, nodes};
pub use promotion::promotion;
pub use wanted::{READY, SETTLE, wanted};
