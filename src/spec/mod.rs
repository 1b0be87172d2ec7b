//! Everything a person may write in a file: plain types, units, selectors. No behaviour beyond reading them.

mod cluster;
mod expect;
mod expected;
mod fault;
mod known;
mod schema;
mod selector;
mod step;
mod unit;
mod version;
mod workflow;

pub use cluster::{ClusterSpec, Discovery, EtcdSpec};
pub use expect::{Expectations, Members, NodesReady, Promotion, PromotionStart};
pub use expected::{
    AllOk, Amount, Amounts, JoinEnd, Joins, Leader, Limit, Logs, MomentName, Of, Over, Point, RatioTo, Resources, SpanName, Texts, Time,
};
pub use fault::{Action, Fault, Trigger, Until};
pub use known::{Failing, KnownBad, Residue};
pub use schema::schema_text;
pub use selector::{Pick, Selector};
pub use step::{
    Advise, Advised, Copy, Ending, Exec, Export, Group, Init, Join, Nothing, Order, OutputWanted, Part, Reset, Restart, Scale, State, Wait,
};
pub use unit::{Comparable, Compare, Percent, Size, Span};
pub use version::{Demand, When};
pub use workflow::{Named, Scalar, Task, Workflow};
