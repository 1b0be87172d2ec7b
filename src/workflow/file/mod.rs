//! A file's bytes to plain types: the tree with the place of everything in it, all that is wrong at once, and how it is shown.

mod collect;
mod decode;
mod place;
mod problem;
mod show;
mod source;
mod tree;
mod yaml11;

pub(super) use collect::decode;
pub(super) use place::Place;
pub(super) use problem::Problem;
pub use problem::suggestion;
pub use show::Problems;
pub(super) use source::{Sources, read};
pub(super) use tree::{Dialect, Entry, Node, Path, Style, Text, Value};
pub(super) use yaml11::{Plain, key as yaml11_key, plain, text as yaml11_text};
