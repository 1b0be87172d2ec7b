//! One kubeadm command on one node: its configuration by version, its phases, what its output means.

pub mod advice;
pub mod config;
pub mod marks;
pub mod oracle;
pub mod output;
pub mod policy;
mod run;

pub use run::{Kubeadm, KubeadmError};
