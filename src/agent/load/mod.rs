//! joinder's own clients, as they run in a node: what they are told, how they keep their pace, and what they ask.

mod api;
mod data;
mod etcd;
pub mod numbers;
mod pace;
mod plan;

pub(super) use data::{kept, preload};
pub(super) use pace::run;
pub use plan::{Access, Client, Identity, Load};
