//! Merge keys, `<<: *name`, which YAML 1.1 has: the entries of another map where the own one has none of that name.

use super::super::file::{Node, Problem, Value};

/// The key.
const MERGE: &str = "<<";

/// Puts in place what merge keys name, everywhere in a tree.
pub(super) fn merge(node: &mut Node, problems: &mut Vec<Problem>) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::List(items) => items.iter_mut().for_each(|item| merge(item, problems)),
        Value::Map(entries) => {
            for entry in entries.iter_mut() {
                merge(&mut entry.node, problems);
            }
            let Some(at) = entries.iter().position(|entry| entry.key == MERGE) else { return };
            let merged = entries.remove(at);
            let maps = match merged.node.value {
                Value::List(maps) => maps,
                Value::Map(_) | Value::Scalar(_) => vec![merged.node],
            };
            for map in maps {
                let Value::Map(others) = map.value else {
                    problems.push(Problem::at(map.place, "only a map can be merged into a map"));
                    continue;
                };
                for other in others {
                    if !entries.iter().any(|entry| entry.key == other.key) {
                        entries.push(other);
                    }
                }
            }
        }
    }
}
