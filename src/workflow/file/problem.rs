//! What is wrong with a file, where, and what would be right.

use super::place::Place;

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
