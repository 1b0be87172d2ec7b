//! Kubernetes' files as they are released: where they are, in kinder's words, and how they come here, their checksums looked at.
//!
//! Nothing here knows what becomes of them.

mod bring;
mod http;
mod locate;
mod origin;
mod release;
mod sum;
#[cfg(test)]
mod tests;

pub(crate) use bring::{Keep, bring};
pub use locate::What;
pub(crate) use locate::{BINARIES, locate};
pub use origin::Origin;
pub use release::version_of_label;
