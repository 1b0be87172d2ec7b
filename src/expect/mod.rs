//! Expectations: pure functions from what was demanded and what was seen to a verdict with its reason.

mod invariant;
mod joins;
mod leader;
mod logs;
mod members;
mod nodes;
mod order;
mod promotion;
mod resources;
mod time;
mod wanted;
mod window;

pub use invariant::Invariance;
pub use joins::{Residues, joins};
pub use leader::leader;
pub use logs::{Findings, Found, logs};
pub use members::members;
pub use nodes::{Readiness, nodes};
pub use order::order;
pub use promotion::promotion;
pub use resources::resources;
pub use time::{time, unexplained};
pub use wanted::{READY, SETTLE, wanted};
pub use window::Window;
