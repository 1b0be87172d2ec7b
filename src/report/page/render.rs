//! Views to HTML. The templates are part of the program.

use std::io;

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::compare::Comparison;
use super::view::{View, ending};
use crate::event::Verdict;
use crate::report::model::{Case, Run};
use crate::report::tone::plain;
use crate::sys::clock::human;

const TEMPLATES: [(&str, &str); 7] = [
    ("page.html", include_str!("page.html")),
    ("index.html", include_str!("index.html")),
    ("compare.html", include_str!("compare.html")),
    ("base.html", include_str!("base.html")),
    ("timeline.html", include_str!("timeline.html")),
    ("plots.html", include_str!("plots.html")),
    ("style.css", include_str!("style.css")),
];

/// The file of a case's page, of the list of a run's cases, and of two runs side by side.
pub(in crate::report) const FILE: &str = "report.html";
pub(in crate::report) const INDEX: &str = "index.html";
pub(in crate::report) const COMPARISON: &str = "compare.html";

/// A case's page.
///
/// # Errors
/// When a template does not fit its view, which is a fault of joinder's.
pub(in crate::report) fn page(view: &View) -> io::Result<Vec<u8>> {
    render("page.html", view)
}

/// Two pages side by side.
pub(super) fn comparison(comparison: &Comparison) -> io::Result<Vec<u8>> {
    render("compare.html", comparison)
}

/// The list of a run's cases.
#[derive(Serialize)]
struct Index {
    title: String,
    sentence: String,
    cases: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    class: &'static str,
    word: &'static str,
    name: String,
    link: String,
    sentence: String,
    pass: usize,
    fail: usize,
    undecided: usize,
    known: usize,
    took: String,
}

/// The page of a run with several cases: each with its verdicts and the way to its page, the worst first.
///
/// # Errors
/// As [`page`].
pub(in crate::report) fn index(run: &Run) -> io::Result<Vec<u8>> {
    let mut cases: Vec<&Case> = run.cases().collect();
    cases.sort_by_key(|case| (case.end(), case.index));
    let row = |case: &&Case| {
        let ending = ending(case);
        Row {
            class: ending.class,
            word: ending.word,
            name: case.name.clone(),
            // whatever the folder is called, it is one
            link: format!("./{}/{FILE}", case.folder),
            sentence: ending.sentence,
            pass: case.verdicts(Verdict::Pass),
            fail: case.verdicts(Verdict::Fail),
            undecided: case.verdicts(Verdict::Undecided),
            known: case.verdicts(Verdict::Known),
            took: case.took.map(human).unwrap_or_default(),
        }
    };
    let of = cases.first().map_or(0, |case| case.of);
    let id = run.about.as_ref().map_or("", |about| about.0.as_str());
    let end = run.finished.map_or_else(|| "it has not ended".to_owned(), |(exit, took)| format!("exit code {exit} after {}", human(took)));
    let index = Index {
        title: format!("run {id}"),
        sentence: format!("{} of {of} cases ran; {end}.", cases.len()),
        cases: cases.iter().map(row).collect(),
    };
    render("index.html", &index)
}

fn render(name: &str, view: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut env = Environment::empty();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|name| if name == "style.css" { AutoEscape::None } else { AutoEscape::Html });
    // What would command a terminal or hide something is made visible before it is escaped.
    env.set_formatter(|out, state, value| match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => minijinja::escape_formatter(out, state, &Value::from(plain(text))),
        None => minijinja::escape_formatter(out, state, value),
    });
    let rendered = TEMPLATES
        .iter()
        .try_for_each(|(name, source)| env.add_template(name, source))
        .and_then(|()| env.get_template(name)?.render(Value::from(Serde(view))));
    rendered.map(String::into_bytes).map_err(|e| io::Error::other(format!("cannot draw {name}: {e:#}")))
}
