//! All that is wrong, as people see it: `file:line:column`, the line, a caret, and what would be right.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::problem::Problem;
use super::source::Sources;

/// More are counted, not shown.
const MOST_SHOWN: usize = 50;

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
        if self.partial {
            f.write_str("\n\nHow the tasks fit together could not be looked at before this is mended: there may be more.")?;
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
