//! An engine in memory, for tests: keeps what a real one would, notes every call, and fails where it is told to.
//!
//! Knows as little of what runs in containers as the real one: processes are a [`Program`] of the caller's.

mod disturb;
mod engine;
mod program;
mod state;

pub use disturb::{Call, Way, When};
pub use engine::FakeEngine;
pub use program::{Process, Program};
