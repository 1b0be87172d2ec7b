//! What has been broken, until it is undone.

use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

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

/// What a fault makes in nodes has this in its name: letters, digits and `_`, another for each key.
pub(super) fn name_in_nodes(key: &str) -> String {
    let safe: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    let digest = Sha256::digest(key.as_bytes());
    format!("{safe}_{:08x}", u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_nodes_is_one_that_nft_takes_and_another_for_each_fault() {
        let name = name_in_nodes("3/split-brain");
        assert!(name.starts_with("3_split_brain_"), "{name}");
        let keys = ["3/split_brain", "3/ü", "3/ä", &format!("3/{}", "x".repeat(60)), &format!("3/{}y", "x".repeat(60))];
        let names: std::collections::BTreeSet<String> = keys.into_iter().map(name_in_nodes).chain([name]).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        assert!(names.iter().all(|name| name.len() < 60 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')), "{names:?}");
    }
}
