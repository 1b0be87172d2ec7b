//! Faults that could not be: nothing to break, no trigger or two, two things broken, or two faults that hide each other.

mod action;
mod check;
mod coming;
mod same;

pub(super) use check::{Then, check, standing};
