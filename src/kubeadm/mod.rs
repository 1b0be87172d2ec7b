//! One kubeadm command on one node: its configuration by version, its phases, what its output means.

pub mod advice;
pub mod config;
pub mod discovery;
pub mod marks;
pub mod oracle;
pub mod output;
pub mod phases;
pub mod policy;
mod run;
pub mod wishes;

pub use run::{Kubeadm, KubeadmError};
