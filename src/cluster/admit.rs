//! When a node may serve: its API server answers `/readyz`, its Node object is Ready.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::create::Cluster;
use crate::agent::{AgentError, Call, Said};
use crate::node::{Node, NodeError, path};
use crate::runtime::{Fault, RuntimeError};
use crate::sys::wait::{Look, Patience, WaitError, wait};

/// One question to an API server.
const ASK: Duration = Duration::from_secs(5);

impl Cluster {
    /// Waits until the node's own API server is ready, then lets the load balancer send to it.
    ///
    /// # Errors
    /// The wait's, or the engine's.
    pub async fn admit(&self, node: &Node, patience: &Patience) -> Result<(), AdmitError> {
        wait(format!("API server of {}", node.name), patience, || async {
            match readyz(node).await {
                Ok(None) => Look::Done(()),
                Ok(Some(saw)) => Look::NotYet(saw),
                Err(e @ AgentError::Lost { .. }) => Look::Never(e.to_string()),
                Err(e @ (AgentError::Refused { .. } | AgentError::Late { .. })) => Look::NotYet(e.to_string()),
            }
        })
        .await?;
        if let Some(balancer) = &self.load_balancer {
            balancer.add(&node.name, node.address).await?;
        }
        Ok(())
    }

    /// Lets the load balancer send nothing more to the node.
    ///
    /// # Errors
    /// The engine's.
    pub async fn dismiss(&self, node: &Node) -> Result<(), RuntimeError> {
        match &self.load_balancer {
            Some(balancer) => balancer.drop_backend(&node.name).await,
            None => Ok(()),
        }
    }

    /// Is the node's own API server ready?
    ///
    /// # Errors
    /// What it said instead, in words.
    pub async fn api_server(&self, node: &Node) -> Result<(), String> {
        match readyz(node).await {
            Ok(None) => Ok(()),
            Ok(Some(saw)) => Err(saw),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Names of the nodes that are Ready and of those that are not, as the first API server has them that answers.
    ///
    /// # Errors
    /// Why there is no such list, in words.
    pub async fn ready_nodes(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let list: NodeList = serde_json::from_str(&self.ask_api("/api/v1/nodes").await?).map_err(|e| e.to_string())?;
        let (ready, waiting): (Vec<_>, Vec<_>) = list.items.into_iter().partition(NodeObject::is_ready);
        let names = |nodes: Vec<NodeObject>| nodes.into_iter().map(|n| n.metadata.name).collect();
        Ok((names(ready), names(waiting)))
    }

    /// What the first API server says that answers with 200.
    ///
    /// # Errors
    /// What each said instead, in words.
    pub async fn ask_api(&self, path: &str) -> Result<String, String> {
        let mut said = Vec::new();
        for node in self.control_planes() {
            match node.agent().ask(get(node, path), ASK).await {
                Ok(Said::Answer { status: 200, body }) => return Ok(body),
                Ok(Said::Answer { status, .. }) => said.push(format!("the API server of {} answered {path} with {status}", node.name)),
                Ok(other) => said.push(format!("{other:?}")),
                Err(e) => said.push(e.to_string()),
            }
        }
        Err(said.join("; "))
    }

    /// The first control plane whose API server is ready.
    ///
    /// # Errors
    /// What each said instead, in words.
    pub async fn serving(&self) -> Result<&Arc<Node>, String> {
        let mut said = Vec::new();
        for node in self.control_planes() {
            match self.api_server(node).await {
                Ok(()) => return Ok(node),
                Err(why) => said.push(why),
            }
        }
        Err(said.join("; "))
    }

    /// Has the load balancer send to those control planes that have an API server, ready or not; returns their names.
    /// `None` where there is no load balancer.
    ///
    /// # Errors
    /// The engine's.
    pub async fn balance(&self) -> Result<Option<Vec<String>>, NodeError> {
        let Some(balancer) = &self.load_balancer else { return Ok(None) };
        let mut backends = BTreeMap::new();
        for node in self.control_planes() {
            match node.read(path::API_MANIFEST).await {
                Ok(_) => drop(backends.insert(node.name.clone(), node.address)),
                Err(NodeError::Engine(e)) if e.is(Fault::NotFound) => {}
                Err(e) => return Err(e),
            }
        }
        balancer.set(&backends).await?;
        Ok(Some(backends.into_keys().collect()))
    }
}

/// `None` when the node's own API server is ready, else what it said.
async fn readyz(node: &Node) -> Result<Option<String>, AgentError> {
    let said = node.agent().ask(get(node, "/readyz"), ASK).await?;
    let Said::Answer { status, body } = said else { return Ok(Some(format!("{said:?}"))) };
    Ok((status != 200).then(|| format!("{status} {}", body.lines().last().unwrap_or_default())))
}

/// A question to the node's own API server.
fn get(node: &Node, path: &str) -> Call {
    let server = Some(format!("https://{}:{}", node.address, path::API_PORT));
    Call::Get { kubeconfig: path::ADMIN_CONF.into(), server, path: path.to_owned() }
}

/// Why a node is not behind the load balancer.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// Its API server did not get ready.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The load balancer could not be told.
    #[error(transparent)]
    Engine(#[from] RuntimeError),
}

#[derive(Deserialize)]
struct NodeList {
    items: Vec<NodeObject>,
}

#[derive(Deserialize)]
struct NodeObject {
    metadata: Metadata,
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

impl NodeObject {
    fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|c| c.r#type == "Ready" && c.status == "True")
    }
}
