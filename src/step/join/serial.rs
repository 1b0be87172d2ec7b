//! One node's whole join after the other's.

use std::sync::Arc;

use super::super::error::StepError;
use super::node::Joiner;
use crate::node::Node;

/// Joins in the order of the nodes; returns the failures.
pub(super) async fn run(joiner: &Arc<Joiner>, nodes: &[Arc<Node>]) -> Vec<StepError> {
    let mut failures = Vec::new();
    for node in nodes {
        if let Err(failure) = joiner.join(node).await {
            failures.push(failure);
        }
        if joiner.stopped() {
            break;
        }
    }
    failures
}
