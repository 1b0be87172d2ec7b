//! The phases before etcd's on all nodes at once; etcd's behind one ticket, which moves at the promotion; the rest at once again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::super::error::StepError;
use super::node::Joiner;
use crate::kubeadm::policy::Stages;
use crate::node::{Node, Role};
use crate::observe::Observer;
use crate::sys::clock::Stamp;
use crate::sys::wait::{FOREVER, Look, Patience, wait};

/// Between two looks for a promotion; etcd is looked at as often while somebody learns.
const GLANCE: Duration = Duration::from_millis(50);

/// Joins all nodes; returns the failures in the order of the nodes.
///
/// # Errors
/// When this kubeadm has no such phases; no node was touched then.
pub(super) async fn run(joiner: &Arc<Joiner>, nodes: &[Arc<Node>], observer: Option<&Observer>) -> Result<Vec<StepError>, StepError> {
    let in_stages = |node: &Arc<Node>| (node.role == Role::ControlPlane).then(|| joiner.stages(node)).transpose();
    let stages = nodes.iter().map(in_stages).collect::<Result<Vec<_>, _>>()?;
    let ticket = Semaphore::new(1);
    let joins = nodes.iter().zip(&stages).map(async |(node, stages)| match stages {
        Some(stages) => control_plane(joiner, node, stages, &ticket, observer).await,
        None => joiner.join(node).await,
    });
    Ok(join_all(joins).await.into_iter().filter_map(Result::err).collect())
}

async fn control_plane(
    joiner: &Joiner,
    node: &Node,
    stages: &Stages,
    ticket: &Semaphore,
    observer: Option<&Observer>,
) -> Result<(), StepError> {
    let began = Stamp::now();
    let document = joiner.prepare_node(node).await?;
    joiner.kubeadm(node, "join", &document, &["--skip-phases", stages.not_before]).await?;
    let turn = tokio::select! {
        () = joiner.until_stopped() => return Err(StepError::Stopped),
        turn = ticket.acquire() => turn,
    };
    let since = Stamp::now();
    let etcd = joiner.kubeadm(node, stages.etcd, &document, &[]);
    tokio::pin!(etcd);
    // The slot is free as soon as the learner has its vote; what etcd's phase waits for then is nobody else's business.
    let ended = tokio::select! {
        ended = &mut etcd => Some(ended),
        () = promoted(observer, &node.name, since) => None,
    };
    drop(turn);
    match ended {
        Some(ended) => ended?,
        None => etcd.await?,
    }
    joiner.kubeadm(node, "join", &document, &["--skip-phases", stages.not_after]).await?;
    joiner.joined(node, began).await
}

/// Waits until the node's member is seen to be a voter; for ever where nobody looks.
async fn promoted(observer: Option<&Observer>, node: &str, since: Stamp) {
    let Some(observer) = observer else { return std::future::pending().await };
    let patience = Patience { limit: FOREVER, every: GLANCE, stop: CancellationToken::new() };
    let seen = wait(format!("promotion of {node}"), &patience, || async {
        if observer.promoted(node, since) { Look::Done(()) } else { Look::NotYet("still a learner".into()) }
    });
    let _ = seen.await;
}
