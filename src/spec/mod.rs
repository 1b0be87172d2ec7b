//! Everything a person may write in a file: plain types, units, selectors. No behaviour beyond reading them.

mod cluster;
mod expect;
mod unit;
mod workflow;

pub use cluster::{ClusterSpec, Discovery, EtcdSpec};
pub use expect::{Bounds, Expectations, Members, NodesReady, Promotion, PromotionStart};
pub use unit::Span;
pub use workflow::{Init, Join, Nodes, Nothing, Order, Task, Workflow};
