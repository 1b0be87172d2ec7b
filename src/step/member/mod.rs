//! `member`: changes to an etcd alone, one file for each of its words.

mod add;
pub(super) mod asked;
mod change;
mod program;
mod put;
mod start;
mod step;
mod stop;

pub use asked::members;
pub(super) use start::{again, found};
pub use step::member;
pub(super) use stop::end;
