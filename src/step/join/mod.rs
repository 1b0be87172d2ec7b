//! `join`: `kubeadm join` on some nodes, in one of several orders.

mod node;
mod parallel;
mod serial;
mod staged;
mod step;

pub(super) use node::Joiner;
pub use step::join;
pub(super) use step::these;
