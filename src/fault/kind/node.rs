//! Whole nodes: killed, frozen or restarted by the engine.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;

use super::super::ground::Ground;
use super::each;
use super::guard::{Down, Guard, Refused};
use crate::node::{Node as Machine, NodeError};

/// What is done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Kill,
    Pause,
    Restart,
}

/// Nodes that were struck.
pub(super) struct Node {
    way: Way,
    ground: Ground,
    nodes: Vec<Arc<Machine>>,
    /// How each of them ended, as the engine said.
    seen: Vec<String>,
}

impl Node {
    /// All at once.
    pub(super) async fn strike(way: Way, nodes: Vec<Arc<Machine>>, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        if way != Way::Pause {
            ground.fells(&nodes);
        }
        let limits = ground.boot();
        let all = join_all(nodes.iter().map(async |node| match way {
            Way::Kill => node.end(None, &limits).await.map(|how| format!("container {} {how}", node.name)),
            Way::Restart => node.restart(None, &limits).await.map(|how| format!("container {} {how} and runs again", node.name)),
            Way::Pause => {
                node.pause().await?;
                Ok::<_, NodeError>(String::new())
            }
        }));
        let (mut seen, mut failed) = (Vec::new(), Vec::new());
        for one in all.await {
            match one {
                Ok(how) => seen.push(how),
                Err(e) => failed.push(e.to_string()),
            }
        }
        let mut this = Self { way, ground: ground.clone(), nodes, seen };
        if failed.is_empty() {
            return Ok(Box::new(this));
        }
        // half of it is not what was asked for
        if let Err(left) = this.heal().await {
            failed.push(left);
        }
        Err(Refused::Failed(failed.join("; ")))
    }
}

#[async_trait]
impl Guard for Node {
    fn down(&self) -> Down {
        let nodes = self.nodes.iter().map(|node| node.name.clone()).collect();
        Down { nodes, lasts: self.way != Way::Restart }
    }

    async fn proof(&mut self) -> Option<String> {
        if self.way != Way::Pause {
            return Some(self.seen.join(", "));
        }
        let states = join_all(self.nodes.iter().map(async |node| match node.trouble().await {
            Ok(Some(how)) if how.contains("paused") => Some(format!("container {} {how}", node.name)),
            Ok(_) | Err(_) => None,
        }));
        let states = states.await.into_iter().collect::<Option<Vec<_>>>()?;
        Some(states.join(", "))
    }

    async fn heal(&mut self) -> Result<(), String> {
        let limits = self.ground.boot();
        let healed = join_all(self.nodes.iter().map(async |node| match self.way {
            Way::Restart => Ok(()),
            Way::Pause => node.resume().await,
            Way::Kill => match node.trouble().await? {
                Some(_) => node.begin(&limits).await,
                None => Ok(()),
            },
        }));
        each::undone(healed.await)
    }
}
