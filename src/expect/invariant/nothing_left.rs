//! I13: cleanup leaves nothing. The last cleanup of a case counts: an earlier one may have failed.

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Told};

/// What the last cleanup removed and left.
#[derive(Default)]
pub(super) struct NothingLeft(Option<(usize, Vec<String>, u64)>);

impl Rule for NothingLeft {
    fn hear(&mut self, told: &Told, _: &View) -> Option<Shown> {
        if let Event::Cleaned { removed, left } = &told.event {
            self.0 = Some((removed.len(), left.clone(), told.seq));
        }
        None
    }

    fn end(&self, _: &View) -> End {
        match &self.0 {
            None => End::Unseen("nothing was cleaned up".into()),
            Some((removed, left, seq)) if left.is_empty() => End::Held(Shown::new(format!("{removed} objects removed"), [*seq])),
            Some((_, left, seq)) => End::Broken(Shown::new(left.join("; "), [*seq])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::NothingLeft;

    #[test]
    fn the_last_cleanup_decides() {
        let left = Tale::new(1).cleaned(&["network x: in use"]);
        assert_eq!(left.clone().judged(ONE), (Verdict::Fail, "network x: in use".into()));
        assert_eq!(left.cleaned(&[]).judged(ONE).0, Verdict::Pass, "it was removed after all");
        assert_eq!(Tale::new(1).judged(ONE).0, Verdict::Undecided, "kept");
    }
}
