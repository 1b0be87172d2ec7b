//! When a node may serve: its API server answers `/readyz`, its Node object is Ready.

use std::time::Duration;

use serde::Deserialize;

use super::create::Cluster;
use crate::agent::{AgentError, Call, Said};
use crate::node::{Node, path};
use crate::runtime::RuntimeError;
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
        let mut said = Vec::new();
        for node in self.control_planes() {
            match nodes_of(node).await {
                Ok(list) => return Ok(list),
                Err(why) => said.push(why),
            }
        }
        Err(said.join("; "))
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

async fn nodes_of(node: &Node) -> Result<(Vec<String>, Vec<String>), String> {
    let Said::Answer { status: 200, body } = node.agent().ask(get(node, "/api/v1/nodes"), ASK).await.map_err(|e| e.to_string())? else {
        return Err(format!("the API server of {} did not list the nodes", node.name));
    };
    let list: NodeList = serde_json::from_str(&body).map_err(|e| e.to_string())?;
    let (ready, waiting): (Vec<_>, Vec<_>) = list.items.into_iter().partition(NodeObject::is_ready);
    let names = |nodes: Vec<NodeObject>| nodes.into_iter().map(|n| n.metadata.name).collect();
    Ok((names(ready), names(waiting)))
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
