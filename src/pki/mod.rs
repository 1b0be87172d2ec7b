//! Certificate authorities and what they sign: clients of etcd, servers that a proxy stands in for, members of an etcd of our own.
//! Nothing here knows where a file lies.

mod authority;
mod key;
mod leaf;

pub use authority::{Authority, Issued, PkiError};
pub use leaf::{Leaf, Usage};
