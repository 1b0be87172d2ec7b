//! Watching etcd while nodes join: samplers in the nodes, and the record that they fill.

mod observer;
mod record;

pub use observer::Observer;
pub use record::{Life, Record};
