//! What noise leaves of a bound on a time: a machine that is busy makes things take longer, and never shorter.

use std::time::Duration;

use crate::event::Verdict;
use crate::spec::{Compare, Span};

/// Judges a time that lies between `least` and `most`. Where the machine was `busy`, a time that is short enough is short all the same, and
/// one that is too short is too; but nothing is known by a long one, which may be the machine's.
pub(super) fn bound(bounds: &Compare<Span>, (least, most): (Duration, Duration), busy: bool) -> Verdict {
    let (min, max) = (bounds.equals.or(bounds.min), bounds.equals.or(bounds.max));
    let too_short = min.is_some_and(|min| most < min.0);
    let too_long = max.is_some_and(|max| least > max.0) && !busy;
    let long_enough = min.is_none_or(|min| least >= min.0 && !busy);
    let short_enough = max.is_none_or(|max| most <= max.0);
    match (too_short || too_long, long_enough && short_enough) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Undecided,
    }
}

/// What was seen, with the noise in which it was.
pub(super) fn beside(saw: String, verdict: Verdict, noise: Option<&impl std::fmt::Display>) -> String {
    match (noise, verdict) {
        (None, _) => saw,
        (Some(noise), Verdict::Undecided) => format!("{saw}; but {noise}"),
        (Some(noise), _) => format!("{saw}; that {noise} changes nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_takes_no_verdict_from_what_is_short() {
        let span = |s| Some(Span(Duration::from_secs(s)));
        let at_most = |s| Compare { equals: None, min: None, max: span(s) };
        let at_least = |s| Compare { equals: None, min: span(s), max: None };
        let just = |s| Compare { equals: span(s), min: None, max: None };
        // two seconds, or three
        let judged = |bounds: Compare<Span>, busy| bound(&bounds, (Duration::from_secs(2), Duration::from_secs(3)), busy);
        for (bounds, quiet, busy) in [
            (at_most(3), Verdict::Pass, Verdict::Pass),
            (at_most(2), Verdict::Undecided, Verdict::Undecided),
            (at_most(1), Verdict::Fail, Verdict::Undecided),
            (at_least(2), Verdict::Pass, Verdict::Undecided),
            (at_least(3), Verdict::Undecided, Verdict::Undecided),
            (at_least(4), Verdict::Fail, Verdict::Fail),
            (just(1), Verdict::Fail, Verdict::Undecided),
            (just(2), Verdict::Undecided, Verdict::Undecided),
            (just(4), Verdict::Fail, Verdict::Fail),
        ] {
            assert_eq!((judged(bounds, false), judged(bounds, true)), (quiet, busy), "{bounds}");
        }
    }
}
