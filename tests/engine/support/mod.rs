//! A fake engine, nodes that play their part, and a run over both.

mod agent;
mod kubernetes;
mod rig;
mod store;

pub(crate) use agent::{Nodes, Script};
pub(crate) use rig::{Ran, Rig, alone, numbered, plan, task, with, with_size, workflow};
