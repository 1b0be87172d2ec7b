//! Waits are data: a condition has a name, says what it saw, and gets its limit, interval and stop from the caller.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::clock::human;

/// What one look at a condition gave.
#[derive(Debug)]
pub enum Look<T> {
    /// It holds.
    Done(T),
    /// It does not hold yet; what was seen instead.
    NotYet(String),
    /// It can never hold; why.
    Never(String),
}

/// Why a wait ended without its condition.
#[derive(Debug, Error)]
pub enum WaitError {
    /// The limit passed.
    #[error("{what}: not after {}; first seen: {first}; last seen: {last}", human(*.limit))]
    TimedOut {
        /// The condition's name.
        what: String,
        /// The limit that passed.
        limit: Duration,
        /// What the first look saw.
        first: String,
        /// What the last look saw.
        last: String,
    },
    /// It can never hold.
    #[error("{what}: {why}")]
    Never {
        /// The condition's name.
        what: String,
        /// What was seen.
        why: String,
    },
    /// The stop token fired.
    #[error("{what}: stopped")]
    Stopped {
        /// The condition's name.
        what: String,
    },
}

/// As good as no limit: whoever waits so long has a stop.
pub const FOREVER: Duration = Duration::from_hours(365 * 24);

/// How long, how often, and until which stop.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Give up after this.
    pub limit: Duration,
    /// Pause between two looks.
    pub every: Duration,
    /// Give up at once.
    pub stop: CancellationToken,
}

/// Waits for just this time.
///
/// # Errors
/// [`WaitError::Stopped`] when the stop fires.
pub async fn pause(what: impl Display, time: Duration, stop: &CancellationToken) -> Result<(), WaitError> {
    tokio::select! {
        () = stop.cancelled() => Err(WaitError::Stopped { what: what.to_string() }),
        () = sleep(time) => Ok(()),
    }
}

/// Looks at a condition until it holds.
///
/// # Errors
/// [`WaitError`] when the limit passes, the condition says never, or the stop fires. A look that hangs is cut off at the limit.
pub async fn wait<T, F, Fut>(what: impl Display, patience: &Patience, mut look: F) -> Result<T, WaitError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Look<T>>,
{
    let end = Instant::now() + patience.limit;
    let (mut first, mut last) = (None::<String>, "nothing: the first look did not come back".to_owned());
    loop {
        let seen = tokio::select! {
            biased;
            () = patience.stop.cancelled() => return Err(WaitError::Stopped { what: what.to_string() }),
            seen = timeout_at(end, look()) => seen,
        };
        match seen {
            Ok(Look::Done(value)) => return Ok(value),
            Ok(Look::Never(why)) => return Err(WaitError::Never { what: what.to_string(), why }),
            Ok(Look::NotYet(saw)) => {
                first.get_or_insert_with(|| saw.clone());
                last = saw;
            }
            Err(_) => {}
        }
        if Instant::now() + patience.every >= end {
            let first = first.unwrap_or_else(|| last.clone());
            return Err(WaitError::TimedOut { what: what.to_string(), limit: patience.limit, first, last });
        }
        tokio::select! {
            () = patience.stop.cancelled() => {}
            () = sleep(patience.every) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(limit: u64) -> Patience {
        Patience { limit: Duration::from_secs(limit), every: Duration::from_millis(500), stop: CancellationToken::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn says_what_it_saw_first_and_last() {
        let mut n = 0;
        let error = wait("all members voting", &patience(3), || {
            n += 1;
            let saw = format!("{} of 3", n.min(2));
            async move { Look::<()>::NotYet(saw) }
        })
        .await
        .expect_err("it never holds");
        assert_eq!(error.to_string(), "all members voting: not after 3.0s; first seen: 1 of 3; last seen: 2 of 3");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_hangs_is_cut_off() {
        let error = wait("x", &patience(2), std::future::pending::<Look<()>>).await.expect_err("it hangs");
        assert!(matches!(error, WaitError::TimedOut { .. }), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_the_wait_at_once() {
        let patience = patience(60);
        patience.stop.cancel();
        let error = wait("x", &patience, || async { Look::<()>::NotYet("y".into()) }).await.expect_err("stopped");
        assert!(matches!(error, WaitError::Stopped { .. }), "{error}");
    }
}
