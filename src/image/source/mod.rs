//! Where binaries come from: Go modules, a folder, Debian's packages. Artifacts of releases are in [`super::artifacts`].

pub(super) mod debian;
pub(super) mod dir;
pub(super) mod golang;
pub(super) mod gomod;
