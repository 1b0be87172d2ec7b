//! Nodes that come to a cluster later, and nodes that leave it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::task::JoinSet;

use super::create::{Cluster, CreateError, Creation, Maker, free_ports, of_their_own};
use super::topology::NodePlace;
use crate::node::NodeError;
use crate::runtime::api::Subnet;

impl Cluster {
    /// Makes nodes at these places of the creation's topology, all at once; returns the cluster with them.
    ///
    /// # Errors
    /// The first error; the others' work is awaited. What was made is still there, with the run's label.
    pub async fn grow(&self, creation: &Creation<'_>, places: &[NodePlace]) -> Result<Self, CreateError> {
        let labels = creation.labels();
        let maker = Maker { creation, labels: &labels, subnet: Subnet::of(self.first().address), authority: None };
        let ports = free_ports(places.len()).await?;
        let mut making = JoinSet::new();
        for (place, port) in places.iter().zip(ports) {
            making.spawn(maker.node(place, port)?);
        }
        let made = making.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut grown = self.clone();
        grown.nodes.extend(made.into_iter().map(|(node, _)| Arc::new(node)));
        grown.skew.extend(of_their_own(places));
        grown.nodes.sort_by_key(|node| node.index);
        grown.route(creation.limits.boot).await?;
        Ok(grown)
    }

    /// The cluster without this node, whose container is to be removed by the caller.
    #[must_use]
    pub fn without(&self, node: &str) -> Self {
        let mut rest = self.clone();
        rest.nodes.retain(|other| other.name != node);
        rest
    }

    /// Tells every node the way to all others' pods.
    async fn route(&self, limit: Duration) -> Result<(), NodeError> {
        let routed = self.nodes.iter().map(|node| {
            let others: Vec<_> = self.nodes.iter().filter(|o| o.index != node.index).map(|o| (o.index, o.address)).collect();
            async move { node.route(&others, limit).await }
        });
        try_join_all(routed).await.map(drop)
    }
}
