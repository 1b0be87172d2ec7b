//! joinder grows real kubeadm control planes in containers, watches etcd while they join, and judges what it saw.
//!
//! The rooms, bottom up, are described in `ARCHITECTURE.md`; `tests/rooms.rs` holds which may look into which.

pub mod action;
pub mod agent;
pub mod cli;
pub mod cluster;
pub mod etcd;
pub mod event;
pub mod expect;
pub mod fault;
pub mod image;
pub mod kubeadm;
pub mod node;
pub mod observe;
pub mod pki;
pub mod report;
pub mod runner;
pub mod runtime;
pub mod spec;
pub mod step;
pub mod sys;
pub mod workflow;
