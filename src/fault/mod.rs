//! What is broken on purpose while a step runs: armed before it, set off by what is seen, shown to have taken effect, undone behind it.
//!
//! `armed` holds the faults of a task, `live` is the life of one, `trigger` what sets it off, `kind` what it does, one file a kind,
//! `proxies` the proxies in the nodes that see and disturb kubeadm's calls to etcd.

mod armed;
mod ground;
mod kind;
mod live;
mod proxies;
mod trigger;

pub use armed::{Armed, Faults};
pub use ground::ArmError;
