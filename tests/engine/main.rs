//! Whole workflows on an engine in memory, with nodes that are played: what happens when engine, node or kubeadm fail, and
//! in which order it is told.

mod actions;
mod clashes;
mod etcd_alone;
mod event_order;
mod exit_codes;
mod failures;
mod faults;
mod growth;
mod invariants;
mod inventory;
mod load;
mod nodes;
mod repair;
mod steps;
mod stops;
mod support;
mod wanted_failures;
