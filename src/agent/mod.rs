//! The half of joinder that runs inside a node, over one exec, and its protocol: JSON lines on standard input and output.
//!
//! `serve` and what it calls run in the node; `client` runs on the host and is all that other rooms see.

mod cgroup;
mod client;
mod cri;
mod daemon;
mod etcd_log;
mod idle;
mod kube;
mod kubelet_log;
mod load;
mod manifest;
mod meter;
mod pretend;
mod proc;
mod process;
mod protocol;
mod proxy;
mod run;
mod serve;
mod watch;

pub use client::{Agent, AgentError, Piece, Replies};
pub use idle::idle;
pub use load::{Access, Client, Identity, Load, numbers};
pub use pretend::pretend;
pub use process::{Output, Process};
pub use protocol::{Call, EtcdAccess, MemberChange, Pipe, Reply, Request, Said};
pub use proxy::{Act, Disturb, Side};
pub use serve::serve;

/// Where joinder puts itself in a node. Not below `/tmp` or `/run`: they are tmpfs, which the archive API cannot see.
pub const PATH: &str = "/kind/joinder";
/// The subcommand that serves.
pub const COMMAND: &str = "agent";
