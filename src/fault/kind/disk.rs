//! The disk under etcd's data. Nodes share the machine's disk, which is never filled: an etcd that has not started yet gets a small
//! one of its own.

use std::sync::Arc;

use async_trait::async_trait;

use super::super::ground::Ground;
use super::each;
use super::guard::{ASK, Down, Guard, Refused};
use crate::node::Node;
use crate::spec::Selector;

/// Why there is no slow disk.
pub(super) const NO_SLOW_DISK: &str = "a limit on what is written to a disk does not hold for writes that go through the page cache \
     where control groups are of version 1, and nodes have no disk of their own that could be slow";

/// Less than etcd's first log segment, which is 64 MB.
const MOUNT: &str = r#"set -eu
dir=/var/lib/etcd
[ -z "$(ls -A "$dir" 2>/dev/null)" ] || { echo "etcd has its data already, on the disk that all nodes share"; exit 3; }
mkdir -p "$dir"
mount -t tmpfs -o size=16m,mode=0700 joinder-full "$dir" 2>&1"#;
const SAID: &str = "grep -hm1 'no space left on device' /var/log/pods/kube-system_etcd-*/etcd/*.log";
/// What etcd has open goes with its process.
const UNMOUNT: &str = r"grep -q '^joinder-full ' /proc/mounts || exit 0
umount -l /var/lib/etcd 2>&1";

/// Nodes whose etcd has no room.
pub(super) struct Full {
    nodes: Vec<Arc<Node>>,
}

impl Full {
    pub(super) async fn strike(wanted: &Selector, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        let nodes = ground.nodes(wanted).await?;
        let mut this = Self { nodes: Vec::new() };
        for node in nodes {
            match node.script(MOUNT, &[], ASK).await {
                Ok(_) => this.nodes.push(node),
                Err(e) => {
                    let _ = this.heal().await;
                    return Err(Refused::by_script(e));
                }
            }
        }
        Ok(Box::new(this))
    }
}

#[async_trait]
impl Guard for Full {
    // it is for an etcd that has not started: no voter
    fn down(&self) -> Down {
        Down::default()
    }

    async fn proof(&mut self) -> Option<String> {
        let full = each::said(&self.nodes, SAID, &[]).await;
        each::proof(full.into_iter().map(|(node, _)| format!("etcd on {node} says that no space is left")))
    }

    async fn heal(&mut self) -> Result<(), String> {
        each::undo(&self.nodes, UNMOUNT, &[]).await
    }
}
