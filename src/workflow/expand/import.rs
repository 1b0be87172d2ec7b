//! Imported files: their tasks in place of the task that names them, their vars below those of the file that does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::file::{Dialect, Node, Place, Problem, Sources, Value, decode};
use super::vars::{self, Raw};
use crate::spec::{Named, Scalar};

/// Imports in imports.
const MOST_DEPTH: usize = 16;

/// A file with all its imports in place.
pub(super) struct Complete {
    /// Its tree; `tasks` holds those of the imported files.
    pub(super) root: Node,
    pub(super) vars: BTreeMap<String, Raw>,
    pub(super) env: BTreeMap<String, Raw>,
    /// Is nothing missing that later looks could stumble over?
    pub(super) whole: bool,
}

/// What a file may hold at its top, before anything in it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "read to find what does not fit; the values are taken from the tree")]
struct Top {
    version: u32,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    vars: Named<Scalar>,
    #[serde(default)]
    env: Named<Scalar>,
    #[serde(default)]
    matrix: Named<Vec<Scalar>>,
    cluster: Option<IgnoredAny>,
    load: Option<IgnoredAny>,
    known_bad: Option<IgnoredAny>,
    invariants: Option<IgnoredAny>,
    tasks: Vec<IgnoredAny>,
}

/// What an import may have beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read to find what does not fit")]
struct ImportTask {
    import: String,
    name: Option<String>,
    description: Option<String>,
}

/// Reads a file, or a text in its place, and all that it imports.
pub(super) fn load(path: &Path, text: Option<&str>, sources: &mut Sources, problems: &mut Vec<Problem>) -> Option<Complete> {
    file(path, text.map_or(From::Disk, From::Text), &mut Vec::new(), sources, problems)
}

/// Where a file comes from.
#[derive(Clone, Copy)]
enum From<'a> {
    /// The command line named it.
    Disk,
    /// It stands for a file.
    Text(&'a str),
    /// A task names it here.
    Import(Place),
}

fn file(path: &Path, from: From<'_>, above: &mut Vec<PathBuf>, sources: &mut Sources, problems: &mut Vec<Problem>) -> Option<Complete> {
    let root = match from {
        From::Disk => sources.load(path, Dialect::Yaml12, problems),
        From::Text(text) => sources.add(path, text.to_owned(), Dialect::Yaml12, problems),
        From::Import(place) => {
            sources.load(path, Dialect::Yaml12, problems).map_err(|problem| Problem { place: problem.place.or(Some(place)), ..problem })
        }
    };
    let root = root.map_err(|problem| problems.push(problem)).ok()?;
    // Asked first: a file of another version breaks this one's rules everywhere.
    if let Some(problem) = other_version(&root, path) {
        problems.push(problem);
        return None;
    }
    let read = decode::<Top>(&root, problems);
    let mut whole = Complete { vars: vars::scalars(root.get("vars")), env: vars::scalars(root.get("env")), whole: read.whole, root };
    let imports = above.len();
    above.push(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    if imports > 0 {
        for key in ["matrix", "knownBad", "invariants", "cluster", "load"] {
            if let Some(node) = whole.root.get(key) {
                let what = format!("an imported file has no `{key}`");
                problems.push(Problem::at(node.place, what).help("put it into the file that imports this one"));
                whole.whole = false;
            }
        }
    }
    import_tasks(&mut whole, path, above, sources, problems);
    above.pop();
    Some(whole)
}

fn other_version(root: &Node, path: &Path) -> Option<Problem> {
    let node = root.get("version")?;
    let Value::Scalar(text) = &node.value else { return None };
    match text.text.as_str() {
        "1" => {
            let what = format!("{} is of version 1, kinder's language, and the file that imports it is of version 2", path.display());
            Some(Problem::at(node.place, what).help(format!("joinder migrate {} -o FILE makes a file of version 2 of it", path.display())))
        }
        "2" => None,
        other if other.parse::<u32>().is_ok() => {
            Some(Problem::at(node.place, format!("there is no version {other} of the language")).help("write `version: 2`"))
        }
        _ => None,
    }
}

fn import_tasks(whole: &mut Complete, path: &Path, above: &mut Vec<PathBuf>, sources: &mut Sources, problems: &mut Vec<Problem>) {
    let Value::Map(entries) = &mut whole.root.value else { return };
    let Some(tasks) = entries.iter_mut().find(|entry| entry.key == "tasks") else { return };
    let Value::List(items) = &mut tasks.node.value else { return };
    let mut flat = Vec::new();
    for task in std::mem::take(items) {
        let Some(named) = task.get("import") else {
            flat.push(task);
            continue;
        };
        whole.whole &= decode::<ImportTask>(&task, problems).whole;
        let imported = match &named.value {
            Value::Scalar(text) if !text.text.is_empty() => import(&text.text, named, path, above, sources, problems),
            Value::Scalar(text) if !text.is_null() => {
                problems.push(Problem::at(named.place, "the import names no file"));
                None
            }
            // of another type: told by it
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        };
        let Some(imported) = imported else {
            whole.whole = false;
            continue;
        };
        whole.whole &= imported.whole;
        if let Some(Value::List(tasks)) = imported.root.get("tasks").map(|node| node.value.clone()) {
            flat.extend(tasks);
        }
        // who imports wins, and of two imports the first
        for (name, raw) in imported.vars {
            whole.vars.entry(name).or_insert(raw);
        }
        for (name, raw) in imported.env {
            whole.env.entry(name).or_insert(raw);
        }
    }
    *items = flat;
}

fn import(
    name: &str,
    at: &Node,
    path: &Path,
    above: &mut Vec<PathBuf>,
    sources: &mut Sources,
    problems: &mut Vec<Problem>,
) -> Option<Complete> {
    let target = path.parent().unwrap_or(Path::new("")).join(name);
    let real = target.canonicalize().unwrap_or_else(|_| target.clone());
    if let Some(from) = above.iter().position(|open| *open == real) {
        let short = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let circle: Vec<String> = above[from..].iter().chain([&real]).map(short).collect();
        problems.push(Problem::at(at.place, format!("files import each other in a circle: {}", circle.join(" → "))));
        return None;
    }
    if above.len() > MOST_DEPTH {
        problems.push(Problem::at(at.place, format!("imports are nested more than {MOST_DEPTH} deep")));
        return None;
    }
    if sources.full(at.place, problems) {
        return None;
    }
    if let Err(e) = std::fs::metadata(&target) {
        let problem = Problem::at(at.place, format!("cannot import {}: {e}", target.display()));
        problems.push(problem.help("the path is taken from the folder of the file that names it"));
        return None;
    }
    file(&target, From::Import(at.place), above, sources, problems)
}
