//! The same work on several nodes.

use std::sync::Arc;

use futures_util::future::join_all;

use super::error::StepError;
use crate::node::Node;
use crate::sys::stop::Stop;

/// Works on the nodes all at once, or one after the other up to the first failure.
///
/// # Errors
/// [`StepError::Nodes`] with a failure for each node, and the nodes whose turn did not come.
pub(super) async fn each(
    step: &'static str,
    nodes: &[Arc<Node>],
    at_once: bool,
    stop: &Stop,
    work: impl AsyncFn(&Node) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let mut failures = Vec::new();
    let mut untried = Vec::new();
    if at_once {
        let ended = join_all(nodes.iter().map(|node| work(node))).await;
        failures.extend(ended.into_iter().filter_map(Result::err));
    } else {
        for node in nodes {
            if stop.soft.is_cancelled() {
                return Err(StepError::Stopped);
            }
            if failures.is_empty() {
                failures.extend(work(node).await.err());
            } else {
                untried.push(node.name.clone());
            }
        }
    }
    match (failures.len(), nodes.len()) {
        (0, _) => Ok(()),
        (1, 1) => Err(failures.remove(0)),
        (_, of) => Err(StepError::Nodes { step, failures, of, untried }),
    }
}
