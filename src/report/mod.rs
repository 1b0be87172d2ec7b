//! Showing what was told: lines for people, `events.jsonl` for programs, the summary at the end. Owns the terminal.

mod jsonl;
mod line;
mod summary;
mod tone;
mod view;

pub use jsonl::{ArtifactError, Artifacts};
pub use line::Verbosity;
pub use summary::Summary;
pub use tone::plain;
pub use view::Reporter;
