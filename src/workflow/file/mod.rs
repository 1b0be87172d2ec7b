//! A file's bytes to plain types: the tree with the place of everything in it, all that is wrong at once, and how it is shown.

mod collect;
mod decode;
mod place;
mod problem;
mod show;
mod source;
mod tree;

pub(super) use collect::decode;
pub(super) use place::Place;
pub(super) use problem::Problem;
pub use problem::suggestion;
pub use show::Problems;
pub(super) use source::Sources;
pub(super) use tree::{Entry, Node, Path, Style, Text, Value};
