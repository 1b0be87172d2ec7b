//! Variants of node images: a base image with another release, an upgrade, images and files in it.
//!
//! A container of the base takes images into containerd's store and is asked what a layer has to fit to; the layer is then added by the
//! engine's own builder, so that all else stays as the base has it.

mod entries;
mod gather;
mod get;
mod images;
mod make;
mod request;
mod taken;
mod workshop;

pub use get::get_artifacts;
pub use make::{Variant, build_variant};
pub use request::{CopiedPath, VariantRequest};
