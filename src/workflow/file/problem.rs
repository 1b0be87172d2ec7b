//! What is wrong with a file, where, and what would be right.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::source::Sources;
use super::tree::Place;

/// More are counted, not shown.
const MOST_SHOWN: usize = 50;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::workflow) struct Problem {
    pub(in crate::workflow) place: Option<Place>,
    pub(in crate::workflow) what: String,
    pub(in crate::workflow) help: Option<String>,
}

impl Problem {
    /// Something wrong at a place.
    pub(in crate::workflow) fn at(place: Place, what: impl Into<String>) -> Self {
        Self { place: Some(place), what: what.into(), help: None }
    }

    /// Something wrong with no place in a file.
    pub(in crate::workflow) fn of(what: impl Into<String>) -> Self {
        Self { place: None, what: what.into(), help: None }
    }

    /// With what would be right.
    #[must_use]
    pub(in crate::workflow) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Everything that is wrong, with the files that it points into.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    sources: Sources,
    all: Vec<Problem>,
}

impl Problems {
    pub(in crate::workflow) fn new(sources: Sources, mut all: Vec<Problem>) -> Self {
        // In the order of the file, whoever found them.
        all.sort_by_key(|problem| problem.place);
        all.dedup();
        Self { sources, all }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

impl fmt::Display for Problems {
    /// Each with `file:line:column`, its lines, a caret, and what would be right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.all.iter().take(MOST_SHOWN).enumerate() {
            if at > 0 {
                f.write_str("\n\n")?;
            }
            f.write_str(&render(&self.sources, problem))?;
        }
        if self.all.len() > MOST_SHOWN {
            write!(f, "\n\n… and {} more", self.all.len() - MOST_SHOWN)?;
        }
        Ok(())
    }
}

fn render(sources: &Sources, problem: &Problem) -> String {
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
    Renderer::plain().render(&[group])
}

/// The one of `known` that was probably meant.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let close = |other: &str| {
        let other = other.to_lowercase();
        if other == lower { 2.0 } else { strsim::jaro_winkler(&other, &lower) }
    };
    let best = known.into_iter().map(|other| (close(other), other)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = ["controlPlanes", "workers", "kubernetes"];
        for (word, meant) in [
            ("contolPlanes", Some("controlPlanes")),
            ("controlplanes", Some("controlPlanes")),
            ("worker", Some("workers")),
            ("image", None),
        ] {
            assert_eq!(suggestion(word, known), meant, "{word}");
        }
    }
}
