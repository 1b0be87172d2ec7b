//! A type from a tree with all that does not fit, not the first only.
//!
//! serde stops at the first misfit. So what does not fit is noted and left out, and the rest is read again, until the rest fits.

use std::collections::HashSet;

use serde::de::DeserializeOwned;

use super::decode::De;
use super::problem::Problem;
use super::tree::{Node, Value};

/// A type read from a tree.
pub(in crate::workflow) struct Read<T> {
    /// The value without what did not fit; `None` when the rest is none.
    pub(in crate::workflow) value: Option<T>,
    /// Was nothing left out?
    pub(in crate::workflow) whole: bool,
}

/// Reads a type; each misfit goes to `problems`.
pub(in crate::workflow) fn decode<T: DeserializeOwned>(root: &Node, problems: &mut Vec<Problem>) -> Read<T> {
    let mut rest = std::borrow::Cow::Borrowed(root);
    // A key that was left out is not missing: (the map's id, the key).
    let mut left_out: HashSet<(usize, String)> = HashSet::new();
    loop {
        let misfit = match T::deserialize(De(&rest)) {
            Ok(value) => return Read { value: Some(value), whole: left_out.is_empty() },
            Err(misfit) => misfit,
        };
        let (node, missing) = (misfit.leave_out, misfit.missing);
        let follows = node.zip(missing).is_some_and(|(node, key)| left_out.contains(&(node, key.to_owned())));
        if !follows {
            problems.extend(misfit.problem());
        }
        let Some(from) = node.and_then(|id| remove(rest.to_mut(), id)) else {
            return Read { value: None, whole: false };
        };
        left_out.insert(from);
    }
}

/// Takes a node out of the map or list that holds it; returns that one's id, and the key.
fn remove(node: &mut Node, id: usize) -> Option<(usize, String)> {
    let own = node.id;
    match &mut node.value {
        Value::Scalar(_) => None,
        Value::List(items) => match items.iter().position(|item| item.id == id) {
            Some(at) => {
                items.remove(at);
                Some((own, String::new()))
            }
            None => items.iter_mut().find_map(|item| remove(item, id)),
        },
        Value::Map(entries) => match entries.iter().position(|entry| entry.node.id == id) {
            Some(at) => Some((own, entries.remove(at).key)),
            None => entries.iter_mut().find_map(|entry| remove(&mut entry.node, id)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Sources;
    use super::super::tree::Dialect;
    use super::*;
    use crate::spec::Workflow;

    fn problems(text: &str) -> Vec<String> {
        let (mut sources, mut problems) = (Sources::default(), Vec::new());
        match sources.add("x.yaml".as_ref(), text.to_owned(), Dialect::Yaml12, &mut problems) {
            Ok(root) => drop(decode::<Workflow>(&root, &mut problems)),
            Err(problem) => problems.push(problem),
        }
        problems.into_iter().map(|p| format!("{} | {}", p.what, p.help.unwrap_or_default())).collect()
    }

    #[test]
    fn every_misfit_is_found_and_what_follows_from_one_is_not() {
        let text = "version: two\nclusters: {}\ncluster: {workers: -1, discovery: fil}\ntasks:\n- name: a\n  init: {}\n  force: yes\n- nam: b\n  timeout: 20\n  exec: {command: [x]}\n  wait: {until: redy}\n  copy: [a, b]\n";
        let found = problems(text);
        let wanted = [
            "this is \"two\", wanted is a whole number from 0 to 4294967295",
            "unknown key `clusters` | is `cluster` meant?",
            "this is \"-1\", wanted is a whole number from 0 to 255",
            "\"fil\" is none of the words",
            "this is \"yes\", wanted is true or false",
            "unknown key `nam` | is `name` meant?",
            "the duration \"20\" has no unit",
            "the key `nodes` is missing",
            "is \"ready\" meant?",
            "this is a list, wanted is a map",
        ];
        assert_eq!(found.len(), wanted.len(), "{found:#?}");
        for wanted in wanted {
            assert!(found.iter().any(|f| f.contains(wanted)), "{wanted}: {found:#?}");
        }
    }

    #[test]
    fn bombs_and_depths_are_refused() {
        let bomb: String = (1..8).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let aliases = vec![format!("*a{}", n - 1); 9].join(",");
            text + &format!("a{n}: &a{n} [{aliases}]\n")
        });
        assert!(problems(&bomb)[0].contains("more than 100000 values"), "{:?}", problems(&bomb));
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert!(problems(&deep)[0].contains("nested"), "{:?}", problems(&deep));
        assert!(problems("a: &a [*a]\n")[0].contains("alias"), "{:?}", problems("a: &a [*a]\n"));
    }
}
