//! Rules of `nft` in a node's own network, a table for each fault.

use super::guard::{ASK, Refused};
use crate::agent::AgentError;
use crate::node::Node;

/// Takes rules, `$1`; 3 where there is no `nft`.
const ADD: &str = r#"command -v nft >/dev/null || { echo "there is no nft in this image"; exit 3; }
printf '%s\n' "$1" | nft -f - 2>&1"#;

/// Adds a table.
///
/// # Errors
/// [`Refused::NotApplicable`] with what `nft` said.
pub(super) async fn add(node: &Node, rules: &str) -> Result<(), Refused> {
    node.script(ADD, &[rules], ASK).await.map(drop).map_err(Refused::by_script)
}

/// Takes a table away; one that is not there, as after the node's restart, is fine.
pub(super) async fn remove(node: &Node, table: &str) -> Result<(), AgentError> {
    node.script(ADD, &[&format!("add table ip {table}\ndelete table ip {table}")], ASK).await.map(drop)
}

/// Packets that its rules have counted.
pub(super) async fn packets(node: &Node, table: &str) -> Option<u64> {
    let said = node.script(r#"nft list table ip "$1""#, &[table], ASK).await.ok()?;
    Some(count(&said))
}

fn count(said: &str) -> u64 {
    let words: Vec<&str> = said.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[0] == "packets").filter_map(|pair| pair[1].parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_counters_of_a_table_are_summed() {
        let said = "table ip x {\n chain out {\n ip daddr 10.0.0.3 counter packets 12 bytes 720 drop\n }\n chain in {\n counter packets 3 bytes 9\n }\n}";
        assert_eq!(count(said), 15);
        assert_eq!(count("table ip x {\n}"), 0);
    }
}
