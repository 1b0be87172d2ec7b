//! Where something stands.

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::workflow) struct Place {
    /// Which file, by its number in the sources.
    pub(in crate::workflow) file: usize,
    /// First byte.
    pub(in crate::workflow) start: usize,
    /// The byte behind the last one.
    pub(in crate::workflow) end: usize,
}
