//! Files and folders on the command line to plans.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::{SelectArgs, VarArgs};
use super::exit::Exit;
use crate::image;
use crate::sys::env;
use crate::workflow::{self, Labels, Loaded, Plan, Request, suggestion};

/// What every file came to.
pub(super) type Each = Vec<(PathBuf, Loaded)>;

/// What is asked for besides the files, as far as it is the same for all verbs.
pub(super) fn request(vars: &VarArgs) -> Request {
    Request { vars: vars.vars.clone(), env: env::all(), labels: Labels::new(image::version_of_label), ..Request::default() }
}

/// Reads every file, or says everything that is wrong with all of them.
pub(super) fn load(paths: &[PathBuf], request: &Request) -> Result<Each, (Exit, String)> {
    let mut problems = Vec::new();
    let mut each = Vec::new();
    let files: Vec<PathBuf> = paths.iter().flat_map(|path| files(path, &mut problems)).collect();
    for file in files {
        match workflow::plans(&file, request) {
            Ok(loaded) => each.push((file, loaded)),
            Err(all) => problems.push(all.to_string()),
        }
    }
    if !problems.is_empty() {
        return Err((Exit::BadFile, problems.join("\n\n")));
    }
    let known: BTreeSet<&str> = each.iter().flat_map(|(_, loaded)| &loaded.vars).map(String::as_str).collect();
    match request.vars.iter().find(|(name, _)| !known.contains(name.as_str())) {
        Some((name, _)) => {
            let why = format!("error: --var {name}: no file has a var of that name{}", near(name, &known));
            Err((Exit::BadCommandLine, why))
        }
        None => Ok(each),
    }
}

/// The cases of all files that are asked for.
pub(super) fn plans(paths: &[PathBuf], request: &Request, select: &SelectArgs) -> Result<Vec<Plan>, (Exit, String)> {
    let each = load(paths, request)?;
    let wrong = |why: String| (Exit::BadCommandLine, format!("error: {why}"));
    for (name, value) in select.cases.iter().flat_map(|choice| &choice.0) {
        check_pair(name, value, &each).map_err(wrong)?;
    }
    let some: Vec<Plan> = each.into_iter().flat_map(|(_, loaded)| loaded.plans).collect();
    if some.is_empty() {
        let shown: Vec<String> = select.cases.iter().map(ToString::to_string).collect();
        return Err(wrong(format!("no case is so: --case '{}'", shown.join("' --case '"))));
    }
    Ok(match select.partition {
        None => some,
        Some(partition) => partition.of_all(some),
    })
}

fn check_pair(name: &str, value: &str, each: &Each) -> Result<(), String> {
    let known: BTreeSet<&str> = each.iter().filter_map(|(_, loaded)| loaded.axes.get(name)).flatten().map(String::as_str).collect();
    if known.is_empty() {
        let axes: BTreeSet<&str> = each.iter().flat_map(|(_, loaded)| loaded.axes.keys()).map(String::as_str).collect();
        return Err(format!("--case {name}={value}: no matrix has the axis {name:?}{}", near(name, &axes)));
    }
    if !known.contains(value) {
        return Err(format!("--case {name}={value}: {name} can be {}", known.into_iter().collect::<Vec<_>>().join(", ")));
    }
    Ok(())
}

fn near(word: &str, known: &BTreeSet<&str>) -> String {
    match suggestion(word, known.iter().copied()) {
        Some(meant) => format!("; is {meant:?} meant?"),
        None if known.is_empty() => String::new(),
        None => format!("; there are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
    }
}

/// A file as it is; a folder's `*.yaml` files, sorted, with those of its folders.
fn files(path: &Path, problems: &mut Vec<String>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(dir) = open.pop() {
        match std::fs::read_dir(&dir) {
            Err(e) => problems.push(format!("error: cannot read folder {}: {e}", dir.display())),
            Ok(entries) => {
                for entry in entries.flatten() {
                    let path = entry.path();
                    // Links to folders are not followed: they may lead round in circles.
                    if entry.file_type().is_ok_and(|t| t.is_dir()) {
                        open.push(path);
                    } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
                        found.push(path);
                    }
                }
            }
        }
    }
    if found.is_empty() && problems.is_empty() {
        problems.push(format!("error: folder {} has no *.yaml file", path.display()));
    }
    found.sort();
    found
}
