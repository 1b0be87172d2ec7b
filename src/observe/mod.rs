//! Watching nodes while they join: samplers in them, the record that they fill, and where the joins' time went.

mod data;
mod measure;
mod observer;
mod passage;
mod record;
mod series;
mod slot;
mod story;
mod timeline;

pub use measure::{Measure, Measures, Noise};
pub use observer::Observer;
pub use passage::{Passage, Stretch};
pub use record::{Led, Life, Record, Sight};
pub use story::{KubeadmEnd, Milestone, Step, Story};
