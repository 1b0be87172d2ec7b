//! Nodes that cannot reach others: packets between their addresses are dropped and counted in the nodes themselves. Members are
//! looked at from inside, so the looks go on.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;

use super::super::ground::Ground;
use super::guard::{Down, Guard, Refused, name_in_nodes};
use super::{each, rules};
use crate::node::Node;
use crate::spec::Partition;

/// Before everything else that filters.
const PRIORITY: i32 = -300;

/// A cut between nodes.
pub(super) struct Cut {
    table: String,
    nodes: Vec<Arc<Node>>,
    /// The smaller side, which is without the others.
    apart: Vec<String>,
}

impl Cut {
    pub(super) async fn strike(wanted: &Partition, key: &str, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        let (from, to) = (ground.nodes(&wanted.from).await?, ground.nodes(&wanted.to).await?);
        let table = format!("joinder_cut_{}", name_in_nodes(key));
        let smaller = if from.len() <= to.len() { &from } else { &to };
        let apart = smaller.iter().map(|node| node.name.clone()).collect();
        let mut this = Self { table: table.clone(), nodes: Vec::new(), apart };
        for node in from {
            let others: Vec<Ipv4Addr> = to.iter().filter(|other| other.name != node.name).map(|other| other.address).collect();
            if others.is_empty() {
                continue;
            }
            this.nodes.push(node.clone());
            if let Err(refused) = rules::add(&node, &text(&table, &others, wanted.one_way)).await {
                let _ = this.heal().await;
                return Err(refused);
            }
        }
        if this.nodes.is_empty() {
            return Err(Refused::Failed("there is nothing to cut: both sides are the same node".into()));
        }
        Ok(Box::new(this))
    }
}

/// `forward` is for the pods' packets.
fn text(table: &str, others: &[Ipv4Addr], one_way: bool) -> String {
    let set = others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let chain = |hook: &str, side: &str| {
        format!("chain {hook} {{\n type filter hook {hook} priority {PRIORITY}\n ip {side} {{ {set} }} counter drop\n }}\n")
    };
    let mut chains = chain("output", "daddr") + &chain("forward", "daddr");
    if !one_way {
        chains += &chain("input", "saddr");
    }
    format!("table ip {table} {{\n {chains}}}")
}

#[async_trait]
impl Guard for Cut {
    fn down(&self) -> Down {
        Down { nodes: self.apart.clone(), lasts: true }
    }

    async fn proof(&mut self) -> Option<String> {
        let counts = join_all(self.nodes.iter().map(async |node| (node.name.clone(), rules::packets(node, &self.table).await))).await;
        let dropped = counts.into_iter().filter_map(|(node, count)| Some((node, count.filter(|count| *count > 0)?)));
        each::proof(dropped.map(|(node, count)| format!("{count} packets dropped on {node}")))
    }

    async fn heal(&mut self) -> Result<(), String> {
        each::undone(join_all(self.nodes.iter().map(|node| rules::remove(node, &self.table))).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_lets_the_others_packets_in() {
        let others = ["10.0.0.2", "10.0.0.3"].map(|text| text.parse().expect("an address"));
        let both = text("t", &others, false);
        assert!(both.contains("hook output priority -300\n ip daddr { 10.0.0.2, 10.0.0.3 } counter drop"), "{both}");
        assert!(both.contains("hook input priority -300\n ip saddr"), "{both}");
        assert!(!text("t", &others, true).contains("hook input"));
    }
}
