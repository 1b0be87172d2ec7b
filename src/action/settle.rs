//! What an action has set going, waited for: asked of any API server that answers, and of etcd's members themselves.

use serde_json::Value;

use super::error::ActionError;
use super::ground::Ground;
use crate::node::{Node, Role};
use crate::step;
use crate::sys::wait::{Look, wait};

/// Static pods of a control plane, beside etcd's.
pub(super) const COMPONENTS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Waits until the node is a whole part of the cluster: Ready, its static pods too, its etcd member a voter that has started.
pub(super) async fn settled(ground: &Ground, node: &Node) -> Result<(), ActionError> {
    if ground.waits_for_nothing() {
        return Ok(());
    }
    let is_control_plane = node.role == Role::ControlPlane;
    let has_member = is_control_plane && ground.cluster.external_etcd.is_none();
    wait(format!("{} in cluster {}", node.name, ground.cluster.name), &ground.patience(), || async {
        let look = async {
            ready(ground, node).await?;
            if is_control_plane {
                for component in COMPONENTS {
                    pod(ground, component, node).await.and_then(|pod| pod_is_ready(&pod).map_err(|e| format!("{component}: {e}")))?;
                }
            }
            if has_member { member(node).await } else { Ok(()) }
        };
        match look.await {
            Ok(()) => Look::Done(()),
            Err(saw) => Look::NotYet(saw),
        }
    })
    .await?;
    let voter = if has_member { ", and a voter of etcd" } else { "" };
    ground.note(format!("{} is Ready{voter}", node.name));
    Ok(())
}

async fn ready(ground: &Ground, node: &Node) -> Result<(), String> {
    let (ready, _) = ground.cluster.ready_nodes().await?;
    if ready.contains(&node.name) { Ok(()) } else { Err("its Node object is not Ready".into()) }
}

/// A static pod as an API server has it.
pub(super) async fn pod(ground: &Ground, component: &str, node: &Node) -> Result<Value, String> {
    let body = ground.cluster.ask_api(&format!("/api/v1/namespaces/kube-system/pods/{component}-{}", node.name)).await?;
    serde_json::from_str(&body).map_err(|e| e.to_string())
}

fn pod_is_ready(pod: &Value) -> Result<(), String> {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready = conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    if ready { Ok(()) } else { Err("its pod is not Ready".into()) }
}

/// The list of the node's own member: whoever does not serve has none.
async fn member(node: &Node) -> Result<(), String> {
    let members = step::members(node).await.map_err(|saw| format!("etcd: {saw}"))?;
    match members.iter().find(|member| member.name == node.name) {
        None => Err("etcd has no member of its name".into()),
        Some(member) if member.learner => Err("its etcd member is a learner".into()),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_ready_when_it_says_so() {
        let pod = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert!(pod_is_ready(&pod("True")).is_ok() && pod_is_ready(&pod("False")).is_err() && pod_is_ready(&json!({})).is_err());
    }
}
