//! Expectations: pure functions from what was demanded and what was seen to a verdict with its reason.

mod foreseen;
mod invariant;
mod joins;
mod leader;
mod linear;
mod logs;
mod lost_writes;
mod members;
mod nodes;
mod noise;
mod order;
mod promotion;
mod quorum;
mod register;
mod resources;
mod stale_reads;
mod time;
mod wanted;
mod window;
mod write_gap;

pub use foreseen::foreseen;
pub use invariant::Invariance;
pub use joins::{Residues, joins};
pub use leader::leader;
pub use logs::{Findings, Found, logs};
pub use lost_writes::lost_writes;
pub use members::members;
pub use nodes::{Readiness, nodes};
pub use order::order;
pub use promotion::promotion;
pub use resources::resources;
pub use stale_reads::stale_reads;
pub use time::{time, unexplained};
pub use wanted::{READY, SETTLE, wanted};
pub use window::Window;
pub use write_gap::write_gap;
