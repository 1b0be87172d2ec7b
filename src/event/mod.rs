//! What joinder says: events, outcomes, verdicts and observations as plain types, and the bus that carries them.
//!
//! Everything below speaks events; everything that shows something listens to them. No behaviour beyond the bus.

mod bus;
mod call;
mod fault;
mod notice;
mod observation;
mod span;
mod verdict;
mod what;

pub use bus::{Bus, Told};
pub use call::{CallEnd, ClientCall, Kept, Op};
pub use fault::{EtcdCall, FaultMoment};
pub use notice::{EtcdWord, Notice};
pub use observation::{EtcdMetrics, EtcdSample, Member, MemberId, MemberStatus, Usage};
pub use span::SpanKind;
pub use verdict::{Judgement, Outcome, Verdict};
pub use what::{Event, Moment, TaskPlan, Work};

/// Version of the event stream's format, in its first event. Grows when a reader would have to change.
pub const FORMAT: u32 = 3;

/// What stands in place of a task's name, with number 0, where [`Event::Judged`] is about an invariant: it belongs to the whole case.
pub const INVARIANTS: &str = "invariants";
