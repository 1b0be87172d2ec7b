//! The only etcd client: member list and status of one member, with errors that say what can be done about them; and its metrics' text.

mod client;
mod error;
mod metrics;

pub use client::{Client, Credentials};
pub use error::{EtcdError, Kind};
pub use metrics::metrics;
