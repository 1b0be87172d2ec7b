//! What has been broken, until it is undone.

use std::time::Duration;

use async_trait::async_trait;

use crate::agent::AgentError;
use crate::cluster::SelectError;
use crate::node::NodeError;

/// One command in a node.
pub(super) const ASK: Duration = Duration::from_secs(20);

/// Nodes whose members cannot serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::fault) struct Down {
    pub(in crate::fault) nodes: Vec<String>,
    /// Until it is undone; else they come back by themselves.
    pub(in crate::fault) lasts: bool,
}

/// Something that is broken.
#[async_trait]
pub(in crate::fault) trait Guard: Send {
    /// Whose members cannot serve meanwhile.
    fn down(&self) -> Down;

    /// What shows that it took effect; `None` while nothing does.
    async fn proof(&mut self) -> Option<String>;

    /// Undoes it. Called once.
    ///
    /// # Errors
    /// What could not be undone.
    async fn heal(&mut self) -> Result<(), String>;
}

/// Why something was not broken.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::fault) enum Refused {
    /// It cannot be done here.
    NotApplicable(String),
    /// It should have been possible.
    Failed(String),
}

impl Refused {
    /// A script that looks whether it can be done, and does it: where it ran, its refusal is the node's.
    pub(super) fn by_script(e: AgentError) -> Self {
        match e {
            AgentError::Refused { node, why } => Self::NotApplicable(format!("{node}: {why}")),
            e @ (AgentError::Lost { .. } | AgentError::Late { .. }) => e.into(),
        }
    }
}

impl From<SelectError> for Refused {
    fn from(e: SelectError) -> Self {
        Self::Failed(e.to_string())
    }
}

impl From<NodeError> for Refused {
    fn from(e: NodeError) -> Self {
        Self::Failed(e.to_string())
    }
}

impl From<AgentError> for Refused {
    fn from(e: AgentError) -> Self {
        Self::Failed(e.to_string())
    }
}
