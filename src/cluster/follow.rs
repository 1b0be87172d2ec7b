//! A cluster that changes while it is looked at: its nodes by labels, and the connections to those that run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::inventory::{Found, node_of, role_of};
use crate::node::{Node, Role};
use crate::runtime::{Container, Runtime, label};

/// How long one try to reach a node may take.
const REACH: Duration = Duration::from_secs(3);

/// The nodes of a cluster, as last looked at.
pub struct Following {
    runtime: Arc<dyn Runtime>,
    nodes: BTreeMap<String, Followed>,
    tries: JoinSet<Tried>,
}

/// A node of it.
pub struct Followed {
    /// Its role.
    pub role: Role,
    /// Its position.
    pub index: u8,
    /// Its container's state.
    pub state: String,
    /// The connection to it, once there was one.
    pub node: Option<Arc<Node>>,
    /// Why the last try to reach it failed.
    pub why: Option<String>,
    /// Is it tried now?
    trying: bool,
}

impl Followed {
    /// One that was not looked at yet.
    pub fn new(role: Role, index: u8) -> Self {
        Self { role, index, state: String::new(), node: None, why: None, trying: false }
    }
}

struct Tried {
    name: String,
    reached: Result<Option<Node>, String>,
}

impl Following {
    /// Nobody yet.
    pub fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, nodes: BTreeMap::new(), tries: JoinSet::new() }
    }

    /// Takes in what labels say, and begins to reach the nodes that run and are not connected to; `is_lost` says of a node that was
    /// connected to whether it does not answer any more. Returns those that are gone.
    pub fn look(&mut self, found: &Found, is_lost: impl Fn(&str) -> bool) -> Vec<String> {
        let gone: Vec<String> = self.nodes.keys().filter(|name| !found.nodes.iter().any(|c| c.name == **name)).cloned().collect();
        for name in &gone {
            self.nodes.remove(name);
        }
        for container in &found.nodes {
            let followed = self.nodes.entry(container.name.clone()).or_insert_with(|| {
                let index = container.labels.get(label::INDEX).and_then(|i| i.parse().ok()).unwrap_or(u8::MAX);
                Followed::new(role_of(container), index)
            });
            followed.state.clone_from(&container.state);
            let due = followed.node.is_none() || is_lost(&container.name);
            if container.state == "running" && due && !followed.trying {
                followed.trying = true;
                self.tries.spawn(reach(self.runtime.clone(), container.clone(), followed.node.clone()));
            }
        }
        gone
    }

    /// The next try's end; the node that was reached for the first time, if it was.
    pub async fn reached(&mut self) -> Option<Arc<Node>> {
        let Some(Ok(Tried { name, reached })) = self.tries.join_next().await else { return std::future::pending().await };
        let followed = self.nodes.get_mut(&name)?;
        followed.trying = false;
        match reached {
            Ok(node) => {
                followed.why = None;
                let node = Arc::new(node?);
                followed.node = Some(node.clone());
                Some(node)
            }
            Err(why) => {
                followed.why = Some(why);
                None
            }
        }
    }

    /// Has each node that runs been reached, or been tried?
    pub fn tried(&self) -> bool {
        self.nodes.values().all(|followed| followed.state != "running" || followed.node.is_some() || followed.why.is_some())
    }

    /// The nodes by name.
    pub fn nodes(&self) -> &BTreeMap<String, Followed> {
        &self.nodes
    }
}

/// Connects to a node, for the first time or anew.
async fn reach(runtime: Arc<dyn Runtime>, container: Container, known: Option<Arc<Node>>) -> Tried {
    let reached = match known {
        Some(node) => node.renew(REACH).await.map(|()| None).map_err(|e| e.to_string()),
        None => match node_of(&runtime, &container, REACH).await {
            Ok(Some(node)) => Ok(Some(node)),
            Ok(None) => Err("it has no address".into()),
            Err(e) => Err(e.to_string()),
        },
    };
    Tried { name: container.name, reached }
}
