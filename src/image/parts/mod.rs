//! What images are put together from: layers and the archive around them, the root file system, what is taken out of it, the images
//! that run in pods, and their store.

pub(super) mod archive;
pub(super) mod closure;
pub(super) mod components;
pub(super) mod layer;
pub(super) mod rootfs;
pub(super) mod store;
