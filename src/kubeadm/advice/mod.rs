//! May the next control plane join now, and why not: kubeadm's and etcd's rules, applied to what was seen. Pure.

mod rules;
mod situation;
#[cfg(test)]
mod tests;
mod verdict;

pub use rules::advise;
pub use situation::{Asked, Held, Reply, Situation};
pub use verdict::{Advice, Answer, Finding};
