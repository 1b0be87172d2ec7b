//! joinder grows real kubeadm control planes in containers, watches etcd while they join, and judges what it saw.
//!
//! The rooms, bottom up, are described in `ARCHITECTURE.md`; `tests/rooms.rs` holds which may look into which.

pub mod image;
pub mod runtime;
pub mod sys;
