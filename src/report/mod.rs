//! Showing what was told: lines and a live view for people, commands for CI systems, files for programs, the summary at the end.
//! Owns the terminal.
//!
//! Events fill a model (`model`, `nodes`); drawing is apart from it and pure: `line`, `frame`, `summary`, `junit`, `github`, `gitlab`,
//! `page` and `trace`; these two are drawn from the history of a case besides (`page::History`).

mod board;
mod files;
mod frame;
mod github;
mod gitlab;
mod jsonl;
mod junit;
mod kinder;
mod line;
mod live;
mod logs;
mod mode;
mod model;
mod names;
mod nodes;
mod page;
mod print;
mod rebuild;
mod rounds;
mod sample;
mod screen;
#[cfg(test)]
mod script;
mod summary;
mod tone;
mod trace;
mod unlucky;
mod view;

pub use board::{Board, Member, Row, Slot, Use};
pub use jsonl::{ArtifactError, Artifacts};
pub use kinder::KinderLines;
pub use line::{Verbosity, plain_words as words};
pub use mode::harmless;
pub use rebuild::{RebuildError, Rebuilt, rebuild};
pub use screen::{Screen, reader_gone};
pub use summary::Summary;
pub use tone::plain;
pub use unlucky::{Unlucky, unlucky};
pub use view::Reporter;
