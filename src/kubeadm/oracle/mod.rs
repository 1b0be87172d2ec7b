//! What a `kubeadm join` will come to, by kubeadm's and etcd's rules: predictions, made before it runs and held against what it came
//! to. Pure. `docs/oracle.md` says of each which was run, and what was seen.

mod before;
mod predict;
#[cfg(test)]
mod rows;
mod rules;
mod seen;

pub use before::{Before, Limits, Own};
pub use predict::{Bounds, Failure, Prediction, predict};
pub use rules::{RULES, Rule};
pub use seen::{Joining, before};
