//! The only etcd client: member list and status of one member, with errors that say what can be done about them.

mod client;
mod error;

pub use client::{Client, Credentials};
pub use error::{EtcdError, Kind};
