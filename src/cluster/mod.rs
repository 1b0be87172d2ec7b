//! A cluster from what was asked for, over what was decided, to running nodes, and away again.
//!
//! Networks, addresses, load balancer and readiness live here; what kubeadm does to the nodes does not.

mod admit;
mod alone;
mod create;
mod export;
mod follow;
mod grow;
mod inventory;
mod kubeconfig;
mod load_balancer;
mod network;
mod pick;
mod remove;
mod select;
mod skew;
mod thaw;
mod topology;

pub use admit::AdmitError;
pub use alone::Start;
pub use create::{Absent, Cluster, CreateError, CreateLimits, Creation, Secrets, create};
pub use follow::{Followed, Following};
pub use inventory::{Found, InventoryError, attach, clusters, collect_garbage, find, refuse_taken};
pub use kubeconfig::KubeconfigError;
pub use network::{RANGE, free_subnets, span};
pub use pick::means;
pub use remove::{Gone, remove};
pub use select::{SelectError, only, select, status};
pub use topology::{DEFAULT_NAME, EtcdAlone, Extras, Images, NodePlace, Settings, Topology, TopologyError};
