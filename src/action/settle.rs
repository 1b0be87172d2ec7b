//! What an action has set going, waited for: asked of any API server that answers, and of etcd's members themselves.
//!
//! kubeadm ends with a restart of the kubelet, which takes its pods for not Ready until it has asked each of them. Until it has said so
//! the API servers have what the kubelet before it said: a pod that has been Ready for longer than the kubelet runs tells nothing yet.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::error::ActionError;
use super::ground::Ground;
use crate::node::{Node, Role};
use crate::step;
use crate::sys::wait::{Look, wait};

/// Static pods of a control plane, beside etcd's.
pub(super) const COMPONENTS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// When the kubelet was started, and what time it is, in seconds since 1970.
const KUBELET: &str = r#"since=$(systemctl show kubelet -P ActiveEnterTimestamp --timestamp=unix); echo "${since#@} $(date +%s)""#;
/// A kubelet that has run for so long has said of each pod what it knows: it asks once in ten seconds.
const SAID_ALL: i64 = 30;
/// Asking a node.
const ASK: Duration = Duration::from_secs(10);

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
                let kubelet = Kubelet::of(ground, node).await;
                for component in COMPONENTS.into_iter().chain(has_member.then_some("etcd")) {
                    let pod = pod(ground, component, node).await?;
                    pod_is_ready(&pod, kubelet).map_err(|e| format!("{component}: {e}"))?;
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

/// How long the kubelet of a node has been at work.
#[derive(Clone, Copy, Debug)]
struct Kubelet {
    since: i64,
    now: i64,
}

impl Kubelet {
    /// `None` where the node cannot tell.
    async fn of(ground: &Ground, node: &Node) -> Option<Self> {
        let said = ground.script(node, KUBELET, &[], ASK).await.ok()?;
        let (since, now) = said.trim().split_once(' ')?;
        Some(Self { since: since.parse().ok()?, now: now.parse().ok()? })
    }
}

fn pod_is_ready(pod: &Value, kubelet: Option<Kubelet>) -> Result<(), String> {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(ready) = conditions.iter().find(|condition| condition["type"] == "Ready" && condition["status"] == "True") else {
        return Err("its pod is not Ready".into());
    };
    let since = ready["lastTransitionTime"].as_str().and_then(|at| at.parse::<Timestamp>().ok()).map(Timestamp::as_second);
    match (kubelet, since) {
        (Some(kubelet), Some(since)) if since < kubelet.since && kubelet.now - kubelet.since < SAID_ALL => {
            Err("its pod was Ready before the kubelet was started anew, which has not said so yet".into())
        }
        _ => Ok(()),
    }
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
        let is = |pod: &Value| pod_is_ready(pod, None).is_ok();
        assert!(is(&pod("True")) && !is(&pod("False")) && !is(&json!({})));
    }

    #[test]
    fn what_the_kubelet_before_has_said_is_not_taken_for_what_this_one_says() {
        // 2026-12-02T09:00:00Z is 1796202000
        let pod = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-12-02T09:00:00Z"}]}});
        let is = |since, now| pod_is_ready(&pod, Some(Kubelet { since, now })).is_ok();
        assert!(is(1_796_201_990, 1_796_202_005), "told by this one");
        assert!(!is(1_796_202_001, 1_796_202_005), "told by the one before");
        assert!(is(1_796_202_001, 1_796_202_031), "this one has nothing else to say");
    }
}
