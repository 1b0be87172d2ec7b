//! Everything a person may write in a file: plain types, units, selectors. No behaviour beyond reading them.

mod cluster;
mod expect;
mod expected;
mod fault;
mod invariant;
mod known;
mod load;
mod schema;
mod selector;
mod step;
mod unit;
mod version;
mod workflow;
mod writes;

pub use cluster::{ClusterSpec, Discovery, EtcdSpec, NodeVersion, Timeouts};
pub use expect::{Expectations, Members, NodesReady, Promotion, PromotionStart};
pub use expected::{
    AllOk, Amount, Amounts, JoinEnd, Joins, Leader, Limit, Logs, MomentName, Of, Over, Point, RatioTo, Resources, SpanName, Texts, Time,
};
pub use fault::{
    Action, BadCertificate, Bandwidth, Certificate, Delay, EditedManifest, EtcdCall, Fault, Flaw, Observed, Partition, Side, StaticPod,
    Target, Trigger, Until, Victim,
};
pub use invariant::{Invariant, Invariants};
pub use known::{Failing, KnownBad, Residue};
pub use load::Load;
pub use schema::schema_text;
pub use selector::{Pick, Selector};
pub use step::{
    AddMember, Advise, Advised, ChangeMember, Copy, Ending, Exec, Export, Group, Init, Join, MemberKind, MemberStep, Nothing, Order,
    OutputWanted, Part, PutEntries, Repair, Reset, Restart, Running, Scale, StartMember, State, StopMember, UpdateMember, Wait,
};
pub use unit::{Comparable, Compare, Percent, Size, Span};
pub use version::{Demand, When};
pub use workflow::{Named, Scalar, Task, Workflow};
pub use writes::{LostWrites, StaleReads, WriteGap};
