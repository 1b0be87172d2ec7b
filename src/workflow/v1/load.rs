//! A file of version 1 to its plan: imports in place, everything expanded, one process a task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use super::super::expand::{Artifacts, Loaded, Raw, Request, Unknown, Values, resolve, write_out};
use super::super::file::{Dialect, Node, Problem, Problems, Sources, Value, yaml11_key};
use super::super::plan::{Language, Plan, PlannedTask, Process, Step};
use super::decode::{self, File, Task, Word};
use super::merge::merge;
use crate::cluster::Topology;
use crate::spec::{ClusterSpec, Expectations, Invariants, Load};

/// Imports in imports.
const MOST_DEPTH: usize = 16;
/// A limit below this was surely meant to have a unit.
const UNLIKELY: Duration = Duration::from_millis(1);
/// The variable that tells tasks where artifacts go.
const ARTIFACTS: &str = "ARTIFACTS";

/// Does a text say that it is of version 1, if only in quotes?
pub(in crate::workflow) fn is_it(text: &str) -> bool {
    // read in the other way, which takes every key
    let root = Sources::default().add(Path::new(""), text.to_owned(), Dialect::Yaml12, &mut Vec::new());
    let said = |root: &Node| match decode::version(root).map(|node| &node.value) {
        Some(Value::Scalar(text)) => decode::is_one(text) || text.text == "1",
        Some(Value::List(_) | Value::Map(_)) | None => false,
    };
    root.is_ok_and(|root| said(&root))
}

/// The plan of a text that says it is of version 1.
///
/// # Errors
/// Everything that is wrong with it and with what it imports.
pub(in crate::workflow) fn plans(path: &Path, text: &str, request: &Request) -> Result<Loaded, Problems> {
    let mut sources = Sources::default();
    let mut problems = Vec::new();
    let root = sources.add(path, text.to_owned(), Dialect::Yaml11, &mut problems).map_err(|problem| problems.push(problem)).ok();
    let mut whole = root.map(|root| whole(root, path, &mut Vec::new(), &mut sources, &mut problems));
    let mut loaded = Loaded::default();
    if let Some(whole) = &mut whole {
        loaded.vars = whole.vars.keys().cloned().collect();
        for (name, value) in request.vars.iter().filter(|(name, _)| loaded.vars.contains(name)) {
            whole.vars.insert(name.clone(), Raw { text: value.clone(), place: None });
        }
        let plan = plan(path, whole, request, &sources, &mut problems);
        // there is no matrix that a choice could be of
        loaded.plans.extend(plan.filter(|_| request.cases.is_empty()));
    }
    if problems.is_empty() { Ok(loaded) } else { Err(Problems::new(sources, problems, false)) }
}

/// A file with its imports in place.
fn whole(mut root: Node, path: &Path, above: &mut Vec<PathBuf>, sources: &mut Sources, problems: &mut Vec<Problem>) -> File {
    merge(&mut root, problems);
    let mut file = decode::file(&root, problems);
    above.push(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    for task in std::mem::take(&mut file.tasks) {
        if task.import.text.is_empty() {
            file.tasks.push(task);
            continue;
        }
        let Some(imported) = import(&task, path, above, sources, problems) else { continue };
        file.tasks.extend(imported.tasks);
        // who imports wins, and of two imports the first
        for (own, others) in [(&mut file.vars, imported.vars), (&mut file.env, imported.env)] {
            for (name, raw) in others {
                own.entry(name).or_insert(raw);
            }
        }
    }
    above.pop();
    file
}

fn import(task: &Task, path: &Path, above: &mut Vec<PathBuf>, sources: &mut Sources, problems: &mut Vec<Problem>) -> Option<File> {
    let place = task.import.place.unwrap_or(task.place);
    let target = path.parent().unwrap_or(Path::new("")).join(&task.import.text);
    let real = target.canonicalize().unwrap_or_else(|_| target.clone());
    if let Some(from) = above.iter().position(|open| *open == real) {
        let short = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let circle: Vec<String> = above[from..].iter().chain([&real]).map(short).collect();
        problems.push(Problem::at(place, format!("files import each other in a circle: {}", circle.join(" → "))));
        return None;
    }
    if above.len() > MOST_DEPTH {
        problems.push(Problem::at(place, format!("imports are nested more than {MOST_DEPTH} deep")));
        return None;
    }
    if sources.full(place, problems) {
        return None;
    }
    if let Err(e) = std::fs::metadata(&target) {
        let problem = Problem::at(place, format!("cannot import {}: {e}", target.display()));
        problems.push(problem.help("the path is taken from the folder of the file that names it"));
        return None;
    }
    match sources.load(&target, Dialect::Yaml11, problems) {
        Ok(root) => Some(whole(root, &target, above, sources, problems)),
        Err(problem) => {
            problems.push(Problem { place: problem.place.or(Some(place)), ..problem });
            None
        }
    }
}

fn plan(path: &Path, file: &File, request: &Request, sources: &Sources, problems: &mut Vec<Problem>) -> Option<Plan> {
    let rules = (request.labels.clone(), Unknown::WhereAsked);
    let first = problems.len();
    let mut values = resolve(&file.vars, &file.env, &request.env, rules, sources, problems);
    let own: BTreeSet<&String> = file.env.keys().collect();
    let artifacts = artifacts(&request.artifacts, &values);
    // only now, as kinder does: a var sees what the environment says
    values.env.insert(ARTIFACTS.to_owned(), artifacts.display().to_string());
    let named = values.env.iter().filter(|(name, _)| own.contains(name) || name.as_str() == ARTIFACTS);
    let env: Vec<(String, String)> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
    let expand = |word: &Word, problems: &mut Vec<Problem>| match word.place {
        Some(place) => write_out(&word.text, place, &values, sources).map_err(|all| problems.extend(all)).unwrap_or_default(),
        None => String::new(),
    };
    let mut tasks = Vec::new();
    for (at, task) in file.tasks.iter().enumerate() {
        let before = problems.len();
        let program = expand(&task.cmd, problems);
        let args = task.args.iter().map(|arg| expand(arg, problems)).collect();
        if program.is_empty() && problems.len() == before && !task.cmd.text.is_empty() {
            problems.push(Problem::at(task.cmd.place.unwrap_or(task.place), "`cmd` names no program once it is written out"));
        }
        let dir = (!task.dir.is_empty()).then(|| PathBuf::from(&task.dir));
        tasks.push(planned(at, task, Process { program, args, dir, env: env.clone() }));
    }
    for problem in &mut problems[first..] {
        teach(problem, &file.vars);
    }
    let mut topology = Topology::of(&ClusterSpec::default(), request.name.as_deref()).ok()?;
    let short = tasks.iter().filter(|task| task.limit < UNLIKELY);
    topology.warnings.extend(
        short.map(|task| format!("task-{:02} has {} ns: a timeout without a unit is nanoseconds", task.index, task.limit.as_nanos())),
    );
    Some(Plan {
        language: Language::V1 { artifacts },
        file: path.display().to_string(),
        case: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        choice: Vec::new(),
        summary: file.summary.clone(),
        cluster: ClusterSpec::default(),
        topology,
        // kinder's tasks are processes: there is nothing that joinder could see
        load: Load { off: true, ..Load::default() },
        known_bad: Vec::new(),
        invariants: Invariants::none(),
        tasks,
    })
}

/// A key that means something else without quotes is looked for in vain.
fn teach(problem: &mut Problem, vars: &BTreeMap<String, Raw>) {
    let Some(name) = problem.what.strip_prefix("there is no var `").and_then(|rest| rest.strip_suffix('`')) else { return };
    let meant = yaml11_key(name).filter(|key| key != name && vars.contains_key(key));
    if let Some(key) = meant {
        problem.help = Some(format!("the key {name} without quotes is {key} in YAML 1.1: write \"{name}\" among the vars"));
    }
}

fn artifacts(asked: &Artifacts, values: &Values) -> PathBuf {
    let said = || values.env.get(ARTIFACTS).filter(|dir| !dir.is_empty()).map(|dir| absolute(dir).unwrap_or_else(|_| dir.into()));
    match asked {
        Artifacts::Here(dir) => dir.clone(),
        Artifacts::Else(dir) => said().unwrap_or_else(|| dir.clone()),
    }
}

/// kinder counts from 0.
fn planned(index: usize, task: &Task, process: Process) -> PlannedTask {
    let name = if task.name.text.is_empty() { format!("task-{index:02}") } else { task.name.text.clone() };
    PlannedTask {
        index,
        name,
        step: Step::Cmd(process),
        limit: task.limit,
        force: task.force,
        ignore_error: task.ignore_error,
        description: task.description.clone(),
        when: None,
        faults: Vec::new(),
        expect: Expectations::default(),
    }
}
