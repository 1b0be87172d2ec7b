//! The only etcd client: member list, status and keys of one member, with errors that say what can be done about them; and its
//! metrics' text.

mod client;
mod error;
mod keys;
mod metrics;

pub use client::{Client, Credentials};
pub use error::{EtcdError, Kind};
pub use keys::Found;
pub use metrics::metrics;
