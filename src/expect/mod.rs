//! Expectations: pure functions from what was demanded and what was seen to a verdict with its reason.

mod members;
mod promotion;

pub use members::members;
pub use promotion::promotion;
