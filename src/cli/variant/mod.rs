//! `build node-image-variant`, and the released files that it is made with.

mod args;
mod artifacts;
mod build;

pub(super) use args::{FilesArgs, VariantArgs};
pub(super) use artifacts::artifacts;
pub(super) use build::build;
