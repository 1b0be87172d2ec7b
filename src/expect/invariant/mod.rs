//! What must hold at every sample: one state machine an invariant, over the stream of events alone. docs/invariants.md has an entry
//! for each.

mod alarm;
mod cause;
mod cluster_id;
mod data_equal;
mod endpoints;
mod initial_cluster;
mod judge;
mod leaders;
mod learner_flag;
mod learner_limit;
mod limits;
mod nothing_left;
mod rule;
mod same_list;
mod started;
#[cfg(test)]
mod tale;
mod truthful;
mod view;
mod write_gap;

pub use judge::Invariance;
