//! All nodes of a fault at once.

use std::fmt::Display;
use std::sync::Arc;

use futures_util::future::join_all;

use super::guard::ASK;
use crate::node::Node;

/// What each says to a script, by its name; one that says nothing or cannot be asked is left out.
pub(super) async fn said(nodes: &[Arc<Node>], script: &str, args: &[&str]) -> Vec<(String, String)> {
    let looks = nodes.iter().map(async |node| (node.name.clone(), node.script(script, args, ASK).await));
    let said = join_all(looks).await.into_iter().filter_map(|(node, said)| Some((node, said.ok()?.trim().to_owned())));
    said.filter(|(_, said)| !said.is_empty()).collect()
}

/// Undoes it on each by a script.
///
/// # Errors
/// All that could not be undone.
pub(super) async fn undo(nodes: &[Arc<Node>], script: &str, args: &[&str]) -> Result<(), String> {
    undone(join_all(nodes.iter().map(|node| node.script(script, args, ASK))).await)
}

/// What became of the undoing of each.
///
/// # Errors
/// All that could not be undone.
pub(super) fn undone<T, E: Display>(each: impl IntoIterator<Item = Result<T, E>>) -> Result<(), String> {
    let left: Vec<String> = each.into_iter().filter_map(|one| one.err().map(|e| e.to_string())).collect();
    if left.is_empty() { Ok(()) } else { Err(left.join("; ")) }
}

/// A proof of what each shows; none where nobody shows anything.
pub(super) fn proof(shown: impl IntoIterator<Item = String>) -> Option<String> {
    let shown: Vec<String> = shown.into_iter().collect();
    (!shown.is_empty()).then(|| shown.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shown_is_no_proof() {
        assert_eq!(proof([]), None);
        assert_eq!(proof(["a".to_owned(), "b".to_owned()]).as_deref(), Some("a; b"));
    }

    #[test]
    fn all_that_is_left_is_told() {
        assert_eq!(undone([Ok(()), Err("a"), Err("b")]), Err("a; b".to_owned()));
        assert_eq!(undone([Ok::<(), &str>(())]), Ok(()));
    }
}
