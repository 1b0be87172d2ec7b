//! A file to one plan a case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::file::{self, Node, Problem, Problems, Sources, Style, Text, Value};
use super::super::plan::{self, ARTIFACTS, Named, Plan};
use super::super::v1;
use super::import::{self, Complete};
use super::labels::Labels;
use super::matrix::{self, Choice};
use super::template::{self, Unknown, Values};
use super::vars::{self, Raw};

/// What is asked for besides the file.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Replaces the cluster's name.
    pub name: Option<String>,
    /// `--var`: they win over the matrix and over the file's.
    pub vars: Vec<(String, String)>,
    /// `--case`: only these are planned; all when empty.
    pub cases: Vec<Choice>,
    /// joinder's own environment.
    pub env: BTreeMap<String, String>,
    /// Looks versions up for `resolve`.
    pub labels: Labels,
    /// Where artifacts go, for `.env.ARTIFACTS` in a file of version 1.
    pub artifacts: Artifacts,
}

/// Where artifacts go, as far as that is known before a file is read.
#[derive(Clone, Debug)]
pub enum Artifacts {
    /// Here, whatever the file says.
    Here(PathBuf),
    /// Where the environment or the file itself says, else here.
    Else(PathBuf),
}

impl Default for Artifacts {
    fn default() -> Self {
        Self::Else("_artifacts".into())
    }
}

/// What a file comes to.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// One plan a case, in the order of its matrix.
    pub plans: Vec<Plan>,
    /// Names that `--var` can set: its vars, those that it imports, and the axes of its matrix.
    pub vars: BTreeSet<String>,
    /// Were tasks left out, so that the others could not be looked at together?
    pub(in crate::workflow) partial: bool,
    /// The axes of its matrix with all their values, whichever cases were asked for.
    pub axes: BTreeMap<String, BTreeSet<String>>,
}

/// The plans of a file's cases.
///
/// # Errors
/// Everything that is wrong with it, whichever case it is wrong in.
pub fn plans(path: &Path, request: &Request) -> Result<Loaded, Problems> {
    planned(path, None, request)
}

/// The plans of a text, as if it stood in the file `path`.
///
/// # Errors
/// As [`plans`].
pub fn plans_of_text(path: &Path, text: &str, request: &Request) -> Result<Loaded, Problems> {
    planned(path, Some(text), request)
}

fn planned(path: &Path, text: Option<&str>, request: &Request) -> Result<Loaded, Problems> {
    // Once: what a shell puts for `<(command)` can be read only once.
    let text = match text {
        Some(text) => text.to_owned(),
        None => file::read(path).map_err(|problem| Problems::new(Sources::default(), vec![problem], false))?,
    };
    if v1::is_it(&text) {
        return v1::plans(path, &text, request);
    }
    let text = Some(text.as_str());
    let mut sources = Sources::default();
    let mut problems = Vec::new();
    let loaded = match import::load(path, text, &mut sources, &mut problems) {
        Some(whole) => of_cases(path, &whole, request, &sources, &mut problems),
        None => Loaded::default(),
    };
    // A plan whose tasks were all whole is looked at to its end.
    if problems.is_empty() { Ok(loaded) } else { Err(Problems::new(sources, problems, loaded.partial)) }
}

fn of_cases(path: &Path, whole: &Complete, request: &Request, sources: &Sources, problems: &mut Vec<Problem>) -> Loaded {
    let matrix = whole.root.get("matrix");
    let axis_names = match matrix.map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.iter().map(|entry| entry.key.clone()).collect(),
        Some(Value::Scalar(_) | Value::List(_)) | None => Vec::new(),
    };
    let vars: BTreeSet<String> = whole.vars.keys().cloned().chain(axis_names).collect();
    // One that this file does not have may be another file's.
    let set: BTreeMap<String, Raw> = request
        .vars
        .iter()
        .filter(|(name, _)| vars.contains(name))
        .map(|(name, text)| (name.clone(), Raw { text: text.clone(), place: None }))
        .collect();
    let axes = matrix::axes(matrix, &set, problems);
    let combinations = matrix::combinations(&axes, matrix, problems);
    let mut found = Found::default();
    let mut plans = Vec::new();
    let mut axes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut cases, mut partial) = (0, false);
    for combination in combinations {
        let mut raw = whole.vars.clone();
        raw.extend(combination.iter().cloned());
        raw.extend(set.clone());
        let mut own = Vec::new();
        let values = vars::resolve(&raw, &whole.env, &request.env, (request.labels.clone(), Unknown::Everywhere), sources, &mut own);
        let choice: Vec<(String, String)> =
            combination.iter().map(|(name, _)| (name.clone(), values.vars.get(name).cloned().unwrap_or_default())).collect();
        for (name, value) in &choice {
            axes.entry(name.clone()).or_default().insert(value.clone());
        }
        // What is wrong with a value is everybody's; what is wrong with a case is only of who asks for it.
        if !request.cases.is_empty() && !request.cases.iter().any(|wanted| wanted.holds(&choice)) {
            found.hear(own, &Choice(choice));
            continue;
        }
        cases += 1;
        let mut root = whole.root.clone();
        for key in ["summary", "cluster", "load", "knownBad", "invariants"] {
            if let Some(node) = entry(&mut root, key) {
                expand(node, &values, sources, &mut own);
            }
        }
        if let Some(node) = entry(&mut root, "tasks") {
            let mut of_process = values.clone();
            if !whole.env.contains_key("ARTIFACTS") {
                of_process.env.insert("ARTIFACTS".into(), ARTIFACTS.into());
            }
            expand_tasks(node, &values, &of_process, sources, &mut own);
        }
        let env = whole.env.keys().filter_map(|name| Some((name.clone(), values.env.get(name)?.clone()))).collect();
        let named = Named { file: path, choice: &choice, name: request.name.as_deref(), env };
        let planned = plan::plan(&root, whole.whole && own.is_empty(), &named, &mut own);
        partial |= planned.partial;
        let plan = planned.plan;
        found.hear(own, &Choice(choice.clone()));
        plans.extend(plan);
    }
    problems.extend(found.told(cases));
    if problems.is_empty() && partial {
        // Whatever left something out has said why; a file of which nothing is left must never look fine.
        problems.push(Problem::of(format!("{} could not be planned, and nothing says why: please report it", path.display())));
    }
    Loaded { plans, vars, partial, axes }
}

/// Problems of all cases, each once.
#[derive(Default)]
struct Found(Vec<(Problem, usize, Choice)>);

impl Found {
    fn hear(&mut self, problems: Vec<Problem>, case: &Choice) {
        for problem in problems {
            match self.0.iter_mut().find(|(known, ..)| *known == problem) {
                Some((_, count, _)) => *count += 1,
                None => self.0.push((problem, 1, case.clone())),
            }
        }
    }

    /// A problem that not all cases have says in which one it was first.
    fn told(self, cases: usize) -> impl Iterator<Item = Problem> {
        self.0.into_iter().map(move |(mut problem, count, first)| {
            if count < cases {
                problem.what = format!("{} (in {count} of {cases} cases, first in {first})", problem.what);
            }
            problem
        })
    }
}

fn entry<'a>(root: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    match &mut root.value {
        Value::Map(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node),
        Value::Scalar(_) | Value::List(_) => None,
    }
}

/// Writes out tasks. What makes a process has values of its own: only there is it known where artifacts go.
fn expand_tasks(node: &mut Node, values: &Values, of_process: &Values, sources: &Sources, problems: &mut Vec<Problem>) {
    match &mut node.value {
        Value::Scalar(_) => expand(node, values, sources, problems),
        Value::List(items) => items.iter_mut().for_each(|item| expand_tasks(item, values, of_process, sources, problems)),
        Value::Map(entries) => {
            let is_process = entries.iter().any(|entry| entry.key == "cmd");
            for entry in entries {
                if is_process && ["cmd", "args", "dir"].contains(&entry.key.as_str()) {
                    expand(&mut entry.node, of_process, sources, problems);
                } else {
                    expand_tasks(&mut entry.node, values, of_process, sources, problems);
                }
            }
        }
    }
}

/// Writes out every template in a tree. What comes out is typed by who reads it: `"{{ .vars.n }}"` can be a number.
fn expand(node: &mut Node, values: &Values, sources: &Sources, problems: &mut Vec<Problem>) {
    let place = node.place;
    match &mut node.value {
        Value::Scalar(Text { text, style }) => {
            if template::is_one(text) {
                match template::expand(text, place, values, sources) {
                    Ok(written) => (*text, *style) = (written, Style::Written),
                    Err(all) => {
                        *style = Style::Broken;
                        problems.extend(all);
                    }
                }
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| expand(item, values, sources, problems)),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| expand(&mut entry.node, values, sources, problems)),
    }
}
