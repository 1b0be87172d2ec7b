//! A file's bytes to plain types: the tree with the place of everything in it, all that is wrong at once, and how it is shown.

mod collect;
mod decode;
mod problem;
mod source;
mod tree;

pub(super) use collect::decode;
pub(super) use problem::Problem;
pub use problem::{Problems, suggestion};
pub(super) use source::Sources;
pub(super) use tree::{Entry, Node, Path, Place, Style, Text, Value};
