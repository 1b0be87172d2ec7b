//! All that is wrong, as people see it: `file:line:column`, the line, a caret, and what would be right.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::place::Place;
use super::problem::Problem;
use super::source::Sources;

/// More are counted, not shown.
const MOST_SHOWN: usize = 50;
/// The same for places of one problem.
const MOST_PLACES: usize = 8;

/// Everything that is wrong, with the files that it points into.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    sources: Sources,
    all: Vec<Problem>,
    /// Was something not looked at, because of what is wrong?
    partial: bool,
}

impl Problems {
    pub(in crate::workflow) fn new(sources: Sources, mut all: Vec<Problem>, partial: bool) -> Self {
        // In the order of the file, whoever found them.
        all.sort_by_key(|problem| problem.place);
        all.dedup();
        Self { sources, all, partial }
    }

    /// The first one in words, without its place.
    pub(in crate::workflow) fn first(&self) -> String {
        self.all.first().map(|problem| problem.what.clone()).unwrap_or_default()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

impl fmt::Display for Problems {
    /// Each with `file:line:column`, its lines, a caret, and what would be right; one that several places have once, with all of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut different: Vec<(&Problem, Vec<Place>)> = Vec::new();
        for problem in &self.all {
            let same = different.iter_mut().find(|(first, _)| first.what == problem.what && first.help == problem.help);
            match (same, problem.place) {
                (Some((_, also)), Some(place)) => also.push(place),
                (Some(_), None) => {}
                (None, _) => different.push((problem, Vec::new())),
            }
        }
        for (at, (problem, also)) in different.iter().take(MOST_SHOWN).enumerate() {
            if at > 0 {
                f.write_str("\n\n")?;
            }
            f.write_str(&render(&self.sources, problem, also))?;
        }
        if different.len() > MOST_SHOWN {
            write!(f, "\n\n… and {} more", different.len() - MOST_SHOWN)?;
        }
        if self.partial {
            f.write_str("\n\nHow the tasks fit together could not be looked at before this is mended: there may be more.")?;
        }
        Ok(())
    }
}

fn render(sources: &Sources, problem: &Problem, also: &[Place]) -> String {
    let title = Level::ERROR.primary_title(problem.what.as_str());
    let mut group = match problem.place {
        None => annotate_snippets::Group::with_title(title),
        Some(place) => {
            let (name, text) = sources.get(place.file);
            let snippet = Snippet::source(text).path(name).annotation(AnnotationKind::Primary.span(place.start..place.end));
            title.element(snippet)
        }
    };
    if let Some(help) = &problem.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    if let Some(also) = places(sources, also) {
        group = group.element(Level::NOTE.message(also));
    }
    Renderer::plain().render(&[group])
}

/// `also at w.yaml:3:9, w.yaml:5:1`, as far as anybody reads it.
fn places(sources: &Sources, also: &[Place]) -> Option<String> {
    let shown = also.iter().take(MOST_PLACES).map(|place| {
        let (name, text) = sources.get(place.file);
        let before = &text[..place.start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        format!("{name}:{}:{}", before.matches('\n').count() + 1, line.chars().count() + 1)
    });
    let shown: Vec<String> = shown.collect();
    let more = also.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("also at {}{more}", shown.join(", ")))
}
