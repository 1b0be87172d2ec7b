//! `report.html`: what a case was, on one page that needs nothing else.
//!
//! Events fill a `history`; `view`, `short`, `timeline`, `plots`, `learners` and `ways` make of it what a template can
//! draw without thinking;
//! `render` draws. All text from files and nodes goes through the template engine's escaping.

mod clients;
mod compare;
mod faults;
mod history;
mod learners;
#[cfg(test)]
mod long;
mod plots;
mod render;
mod scale;
mod series;
mod short;
#[cfg(test)]
mod tests;
mod timeline;
mod usage;
mod view;
mod ways;

pub(super) use clients::Kept;
pub(super) use compare::compare;
pub(super) use history::{History, NodeStory, Notes};
pub(super) use render::{COMPARISON, FILE, INDEX, index, page};
pub(super) use usage::Figure;
pub(super) use view::view;
