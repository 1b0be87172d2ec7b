//! What the operating system gives: stop tokens, waiting, clocks, the environment, programs, files that appear whole.
//!
//! Nothing here knows of containers, Kubernetes or etcd.

pub mod clock;
pub mod env;
pub mod file;
pub mod own;
pub mod owner;
pub mod packed;
pub mod process;
pub mod random;
pub mod redact;
pub mod shell;
pub mod signal;
pub mod stop;
pub mod wait;
