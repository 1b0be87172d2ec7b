//! `cluster-info`: nodes, pods, images, and etcd's members.

use super::error::ActionError;
use super::ground::Ground;
use crate::event::Member;
use crate::node::path;
use crate::step;

const IMAGES: &str = r#"jsonpath={range .items[*]}{.metadata.name}{"\t"}{range .spec.containers[*]}{.image}{" "}{end}{"\n"}{end}"#;

/// Shows what a control plane says that serves, and the list of its own etcd member.
pub(super) async fn info(ground: &Ground) -> Result<(), ActionError> {
    let node = ground.serving().await?;
    for what in [&["nodes", "-o", "wide"][..], &["pods", "-A", "-o", "wide"], &["pods", "-A", "-o", IMAGES]] {
        let argv = ["kubectl", "--kubeconfig", path::ADMIN_CONF, "get"].into_iter().chain(what.iter().copied());
        ground.run(&node, &argv.collect::<Vec<_>>()).await?;
    }
    if let Some(url) = &ground.cluster.external_etcd {
        ground.say(&node.name, &format!("using external etcd at {url}"));
        return Ok(());
    }
    ground.note(format!("members of etcd, as {} has them", node.name));
    let members = step::members(&node).await.map_err(|saw| ActionError::Saw { what: "no list of members".into(), saw })?;
    for line in table(&members) {
        ground.say(&node.name, &line);
    }
    Ok(())
}

/// As `etcdctl member list` has them, with words where that has a boolean.
fn table(members: &[Member]) -> Vec<String> {
    let line = |member: &Member| {
        let state = if member.started() { "started" } else { "unstarted" };
        let part = if member.learner { "learner" } else { "voter" };
        format!("{}, {state}, {}, {}, {part}", member.id, member.name, member.peer_urls.join(" "))
    };
    members.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MemberId;

    #[test]
    fn a_member_is_told_with_its_state_and_its_part() {
        let voter = Member { id: MemberId(1), name: "a".into(), peer_urls: vec!["https://10.0.0.1:2380".into()], learner: false };
        let learner = Member { id: MemberId(2), name: String::new(), peer_urls: Vec::new(), learner: true };
        let lines = table(&[voter, learner]);
        assert!(lines[0].ends_with(", started, a, https://10.0.0.1:2380, voter"), "{lines:?}");
        assert!(lines[1].ends_with(", unstarted, , , learner"), "{lines:?}");
    }
}
