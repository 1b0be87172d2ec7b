//! Two runs side by side: what was judged in both, what took how long, and both timelines on axes of one length.

use std::io;

use serde::Serialize;

use super::history::History;
use super::render::comparison;
use super::scale::Scale;
use super::view::{Finding, View, view_on};
use crate::report::model::{Case, Run};

/// What is shown.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    sides: Vec<Side>,
    verdicts: Vec<Pair>,
    tasks: Vec<Pair>,
    figures: Vec<Pair>,
}

#[derive(Debug, Serialize)]
struct Side {
    letter: &'static str,
    view: View,
}

/// What both have under one name; empty where one of them has nothing.
#[derive(Debug, Serialize)]
struct Pair {
    name: String,
    a: Cell,
    b: Cell,
    differs: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Cell {
    class: &'static str,
    word: String,
    text: String,
}

/// The page of two cases.
///
/// # Errors
/// When a template does not fit, which is a fault of joinder's.
pub(in crate::report) fn compare(a: (&Run, &Case, &History), b: (&Run, &Case, &History)) -> io::Result<Vec<u8>> {
    let scales = [a, b].map(|(_, _, history)| Scale::new(history.zero, history.last));
    let longest = scales[0].seconds().max(scales[1].seconds());
    let sides = [(a, "A"), (b, "B")].map(|((run, case, history), letter)| Side {
        letter,
        view: view_on(run, case, history, Scale::new(history.zero, history.last).as_long_as(longest)),
    });
    let verdicts = pairs(&verdicts(&sides[0].view, a.1), &verdicts(&sides[1].view, b.1), |a, b| a.word != b.word);
    let tasks = pairs(&tasks(&sides[0].view), &tasks(&sides[1].view), |_, _| false);
    let figures = pairs(&figures(&sides[0].view), &figures(&sides[1].view), |_, _| false);
    comparison(&Comparison { verdicts, tasks, figures, sides: sides.into() })
}

/// All names of both, in the order of the first, then of the second.
fn pairs(a: &[(String, Cell)], b: &[(String, Cell)], differ: fn(&Cell, &Cell) -> bool) -> Vec<Pair> {
    let find = |all: &[(String, Cell)], name: &str| all.iter().find(|(other, _)| other == name).map(|(_, cell)| cell.clone());
    let mut names: Vec<&String> = a.iter().map(|(name, _)| name).collect();
    for (name, _) in b {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let pair = |name: &String| {
        let (a, b) = (find(a, name), find(b, name));
        let differs = match (&a, &b) {
            (Some(a), Some(b)) => differ(a, b),
            (None, _) | (_, None) => true,
        };
        Pair { name: name.clone(), a: a.unwrap_or_default(), b: b.unwrap_or_default(), differs }
    };
    names.into_iter().map(pair).collect()
}

/// Verdicts by task and name. The cluster's name may be another in each run.
fn verdicts(view: &View, case: &Case) -> Vec<(String, Cell)> {
    let cluster = case.nodes.cluster.as_ref().map(|cluster| format!("{cluster}-"));
    let cell = |finding: &Finding| {
        let name = cluster.as_ref().map_or_else(|| finding.name.clone(), |prefix| finding.name.replace(prefix, ""));
        let cell = Cell { class: finding.class, word: finding.word.to_owned(), text: finding.saw.clone() };
        (format!("{} / {name}", finding.task), cell)
    };
    view.findings.iter().chain(&view.passed).chain(&view.invariants).map(cell).collect()
}

fn tasks(view: &View) -> Vec<(String, Cell)> {
    view.tasks.iter().map(|task| (task.name.clone(), Cell { text: task.took.clone(), ..Cell::default() })).collect()
}

/// The table of figures, one row a node and span.
fn figures(view: &View) -> Vec<(String, Cell)> {
    let Some((heads, rows)) = view.figures.split_first() else { return Vec::new() };
    let of = |row: &Vec<String>| {
        let node = row[0].clone();
        let cells = heads.iter().zip(row).skip(1).filter(|(_, value)| *value != "-");
        cells.map(|(head, value)| (format!("{node}: {head}"), Cell { text: value.clone(), ..Cell::default() })).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of).collect()
}
