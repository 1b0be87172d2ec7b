//! A node's network, slower: a token bucket on its interface.

use std::sync::Arc;

use async_trait::async_trait;

use super::super::ground::Ground;
use super::each;
use super::guard::{ASK, Down, Guard, Refused};
use crate::node::Node;
use crate::spec::Bandwidth;

/// Bits a second, `$1`.
const SLOW: &str = r#"command -v tc >/dev/null || { echo "there is no tc in this image"; exit 3; }
tc qdisc replace dev eth0 root tbf rate "${1}bit" burst 64kb latency 400ms 2>&1"#;
const COUNTS: &str = "tc -s qdisc show dev eth0 root";
/// Without it the kernel's own is back.
const FAST: &str = "tc qdisc del dev eth0 root 2>&1 || ! tc qdisc show dev eth0 root | grep -q tbf";

/// Nodes with a slow network.
pub(super) struct Slow {
    nodes: Vec<Arc<Node>>,
}

impl Slow {
    pub(super) async fn strike(wanted: &Bandwidth, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        let nodes = ground.nodes(&wanted.nodes).await?;
        let rate = wanted.rate.0.saturating_mul(8).to_string();
        let mut this = Self { nodes: Vec::new() };
        for node in nodes {
            match node.script(SLOW, &[&rate], ASK).await {
                Ok(_) => this.nodes.push(node),
                Err(e) => {
                    let _ = this.heal().await;
                    // also a kernel without the module
                    return Err(Refused::by_script(e));
                }
            }
        }
        Ok(Box::new(this))
    }
}

/// How often a packet had to wait.
fn waited(said: &str) -> u64 {
    let words: Vec<&str> = said.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[0] == "overlimits").filter_map(|pair| pair[1].parse::<u64>().ok()).sum()
}

#[async_trait]
impl Guard for Slow {
    // a slow member serves
    fn down(&self) -> Down {
        Down::default()
    }

    async fn proof(&mut self) -> Option<String> {
        let counts = each::said(&self.nodes, COUNTS, &[]).await.into_iter().map(|(node, said)| (node, waited(&said)));
        each::proof(counts.filter(|(_, count)| *count > 0).map(|(node, count)| format!("packets of {node} had to wait {count} times")))
    }

    async fn heal(&mut self) -> Result<(), String> {
        each::undo(&self.nodes, FAST, &[]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_tells_how_often_it_was_empty() {
        let said = "qdisc tbf 8001: root refcnt 2 rate 8Mbit\n Sent 1 bytes 1 pkt (dropped 0, overlimits 42 requeues 0)\n backlog 0b 0p requeues 0";
        assert_eq!(waited(said), 42);
    }
}
