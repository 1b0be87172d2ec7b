//! `loadbalancer`: the backends from the cluster as it is.

use super::error::ActionError;
use super::ground::Ground;

/// Those control planes that have an API server.
pub(super) async fn balance(ground: &Ground) -> Result<(), ActionError> {
    match ground.cluster.balance().await? {
        None => ground.note(format!("cluster {:?} has no load balancer", ground.cluster.name)),
        Some(names) if names.is_empty() => ground.note("no control plane has an API server: the load balancer sends to nobody"),
        Some(names) => ground.note(format!("the load balancer sends to {}", names.join(", "))),
    }
    Ok(())
}
