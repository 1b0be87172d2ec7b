//! What joins should come to, from what is seen before them.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::advice::seen;
use super::observer::Observer;
use super::record::Record;
pub use crate::kubeadm::oracle::Limits;
use crate::kubeadm::oracle::{Before, Joining, Prediction, before, predict};
use crate::node::Node;
use crate::sys::clock::Stamp;
use crate::sys::wait::{Look, Patience, wait};

/// Looks are told at least once a second.
const LOOKS: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(50);

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
    looked_at(nodes, observer, Stamp::now()).await;
    let seen = seen(nodes, absent, observer).await;
    let last = observer.look(|record| record.last_words().clone());
    let before = before(&seen, &Joining { nodes: joining.clone(), at_once, limits, last })?;
    let prediction = predict(&before)?;
    Ok(Foresight { nodes: joining, before, prediction })
}

/// What has just been done to a member shows in the next look at it. Whoever is not looked at is told of as unseen.
async fn looked_at(nodes: &[Arc<Node>], observer: &Observer, since: Stamp) {
    let patience = Patience { limit: LOOKS, every: GLANCE, stop: CancellationToken::new() };
    let fresh = |record: &Record| nodes.iter().all(|node| record.last(&node.name).is_none_or(|sample| sample.seen > since));
    let _ = wait("a look at each member".to_owned(), &patience, || async {
        if observer.look(fresh) { Look::Done(()) } else { Look::NotYet("not each was looked at".into()) }
    })
    .await;
}
