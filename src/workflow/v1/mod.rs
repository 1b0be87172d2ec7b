//! kinder's language, `version: 1`: YAML 1.1, Go templates, imports, tasks that are processes. What it takes is kinder's; what is wrong is
//! said all at once, with places, as in version 2.

mod decode;
mod duration;
mod load;
mod merge;

pub(super) use decode::limit;
pub use duration::parse as go_duration;
pub(super) use load::{is_it, plans};
