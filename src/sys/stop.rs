//! Stopping has two levels: soft ends ordinary work and leaves cleanup running, hard ends cleanup too.

use tokio_util::sync::CancellationToken;

/// The two levels of stopping. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// No more ordinary work.
    pub soft: CancellationToken,
    /// No cleanup either: say what is left and go. Implies [`Stop::soft`].
    pub hard: CancellationToken,
    /// Asked for once more, for whoever takes [`Stop::hard`] for the end of ordinary work alone.
    pub last: CancellationToken,
}

impl Stop {
    /// Neither level is set.
    pub fn new() -> Self {
        let hard = CancellationToken::new();
        Self { soft: hard.child_token(), hard, last: CancellationToken::new() }
    }

    /// A stop for part of the work: ends when `self` ends, and can be ended alone.
    #[must_use]
    pub fn part(&self) -> Self {
        Self { soft: self.soft.child_token(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_implies_soft_and_a_part_does_not_stop_the_whole() {
        let whole = Stop::new();
        let part = whole.part();
        part.soft.cancel();
        assert!(!whole.soft.is_cancelled());
        whole.soft.cancel();
        assert!(!whole.hard.is_cancelled());
        let whole = Stop::new();
        whole.hard.cancel();
        assert!(whole.soft.is_cancelled() && whole.part().soft.is_cancelled());
    }
}
