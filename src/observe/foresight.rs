//! What joins should come to, from what is seen before them.

use std::sync::Arc;

use super::advice::seen;
use super::observer::Observer;
pub use crate::kubeadm::oracle::Limits;
use crate::kubeadm::oracle::{Before, Joining, Prediction, before, predict};
use crate::node::Node;

/// A prediction, with what it is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foresight {
    /// The control planes that join.
    pub nodes: Vec<String>,
    /// What they meet.
    pub before: Before,
    /// What they should come to.
    pub prediction: Prediction,
}

/// What the joins of these nodes should come to, all at once or one after the other, within kubeadm's limits where they are said.
/// `absent` are control planes whose containers do not run, each with its state, which are none of `nodes`.
///
/// # Errors
/// Why nothing is predicted.
pub async fn foresee(
    nodes: &[Arc<Node>],
    absent: &[(String, String)],
    observer: &Observer,
    joining: Vec<String>,
    at_once: bool,
    limits: Limits,
) -> Result<Foresight, String> {
    let seen = seen(nodes, absent, observer).await;
    let last = observer.look(|record| record.last_words().clone());
    let before = before(&seen, &Joining { nodes: joining.clone(), at_once, limits, last })?;
    let prediction = predict(&before)?;
    Ok(Foresight { nodes: joining, before, prediction })
}
