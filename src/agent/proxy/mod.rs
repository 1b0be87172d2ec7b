//! Stands between the node's kubeadm and etcd: sees each call, and loses, delays, refuses or holds the ones that a fault names.
//!
//! `rules` leads kubeadm's connections here, `trust` lets it be taken for etcd, `link` is one connection, `call` one call on it,
//! `script` what is to be done to which.

mod body;
mod call;
mod link;
mod rules;
mod script;
mod serve;
mod trust;

#[cfg(test)]
mod tests;

pub(super) use script::Script;
pub use script::{Act, Disturb, Side};
pub(super) use serve::serve;
