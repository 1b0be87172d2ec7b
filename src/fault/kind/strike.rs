//! From a fault's action to the kind that does it.

use super::super::ground::Ground;
use super::guard::{Guard, Refused};
use super::node::{self, Node};
use super::process::{self, Process};
use super::{bandwidth, certificate, crash, disk, manifest, partition};
use crate::spec::{Action, Target, Victim};

/// Breaks what the action says. `key` names what is made in nodes.
///
/// # Errors
/// Why nothing was broken.
pub(in crate::fault) async fn strike(action: &Action, key: &str, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
    let Action {
        drop_answer,
        delay,
        refuse,
        hold,
        kill,
        pause,
        restart,
        crash_all,
        partition,
        bandwidth,
        disk_full,
        disk_slow,
        certificate,
        manifest,
    } = action;
    if drop_answer.is_some() || delay.is_some() || refuse.is_some() || hold.is_some() {
        return Err(Refused::Failed("calls are disturbed where they are made".into()));
    }
    let target = [(kill, node::Way::Kill, process::Way::Kill), (pause, node::Way::Pause, process::Way::Pause)]
        .into_iter()
        .chain([(restart, node::Way::Restart, process::Way::Restart)])
        .find_map(|(target, node, process)| Some((target.as_ref()?, node, process)));
    if let Some((Target { what, nodes }, of_node, of_process)) = target {
        let nodes = ground.nodes(nodes).await?;
        return match what {
            Victim::Node => Node::strike(of_node, nodes, ground).await,
            Victim::Kubeadm | Victim::Kubelet | Victim::Etcd | Victim::KubeApiserver => Process::strike(of_process, *what, nodes).await,
        };
    }
    if crash_all.is_some() {
        return crash::strike(ground).await;
    }
    if let Some(wanted) = partition {
        return partition::Cut::strike(wanted, key, ground).await;
    }
    if let Some(wanted) = bandwidth {
        return bandwidth::Slow::strike(wanted, ground).await;
    }
    if let Some(wanted) = disk_full {
        return disk::Full::strike(&wanted.nodes, ground).await;
    }
    if let Some(wanted) = certificate {
        return certificate::Bad::strike(wanted, ground).await;
    }
    if let Some(wanted) = manifest {
        return manifest::Edited::strike(wanted, key, ground).await;
    }
    if disk_slow.is_some() {
        return Err(Refused::NotApplicable(disk::NO_SLOW_DISK.into()));
    }
    Err(Refused::Failed("it breaks nothing".into()))
}
