//! The container engine: the calls we need as a trait, Docker's API behind it, a fake for tests.
//!
//! Knows containers, networks, volumes and images; does not know what runs in them.

pub mod api;
pub mod archive;
pub mod deadline;
pub mod docker;
pub mod error;
pub mod fake;
pub mod label;

pub use api::{Container, ContainerSpec, Engine, Exec, Image, Network, NetworkSpec, Runtime, Volume};
pub use archive::{Archive, Tar};
pub use error::{Fault, RuntimeError};
