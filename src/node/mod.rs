//! One node container: the rights it gets, the files it needs, booting it, and speaking to it through its agent.

mod beside;
mod boot;
mod copy;
mod files;
mod flags;
mod pack;
pub mod path;
mod pretend;
mod restart;

pub use beside::{get_beside, put_beside};
pub use boot::{BootLimits, Node, NodeError, NodePlan, Role};
pub use files::{NodeFile, Overrides, pod_subnet};
pub use flags::{CAPABILITIES, unprivileged};
pub use pretend::{Pretend, Tell};
