//! Node images, and those of etcd alone: where the binaries come from, the component images beside them, the cache, and how images are found again.
//!
//! Nothing here starts a cluster or knows how nodes are wired.

mod artifacts;
mod balancer;
pub mod build;
mod cache;
mod command;
pub mod default_versions;
mod embedded;
mod engine;
pub mod error;
mod etcd;
pub mod find;
mod host;
mod node;
mod parts;
pub mod plan;
mod request;
mod source;
mod variant;
pub mod version;

pub use artifacts::{Origin, What, version_of_label};
pub use build::{Built, Progress, build};
pub use error::ImageError;
pub use etcd::{EtcdPlan, build_etcd};
pub(crate) use host::{arch, executable};
pub use plan::ImagePlan;
pub use request::{EtcdSource, ImageRequest, Source};
pub use variant::{CopiedPath, Variant, VariantRequest, build_variant, get_artifacts};
