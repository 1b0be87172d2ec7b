//! Watching nodes while they join: samplers in them, the record that they fill, and where the joins' time went.

mod advice;
mod clients;
mod data;
mod foresight;
mod history;
mod measure;
mod observer;
mod passage;
mod record;
mod series;
mod slot;
mod story;
#[cfg(test)]
mod tests;
mod timeline;

pub use advice::advice;
pub use clients::Pace;
pub use foresight::{Foresight, Limits, foresee};
pub use history::{Acked, History, Numbered, Probe, Register, RegisterCall, Trouble};
pub use measure::{Latest, Measure, Measures, Noise};
pub use observer::Observer;
pub use passage::{Passage, Stretch};
pub use record::{Down, Led, Life, Record, Sight, Since};
pub use story::{KubeadmEnd, Milestone, Step, Story};
