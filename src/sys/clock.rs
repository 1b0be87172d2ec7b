//! The one place that reads a clock.

use std::time::Duration;

use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment on both clocks.
///
/// `mono` is `CLOCK_MONOTONIC` since boot, in nanoseconds. Containers share it with their host, so stamps taken inside a
/// node and outside of it can be subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// Nanoseconds since boot.
    #[serde(rename = "mono_ns")]
    pub mono: u64,
    /// Wall time, UTC.
    pub wall: Timestamp,
}

impl Stamp {
    /// Now, on both clocks.
    pub fn now() -> Self {
        Self { mono: mono_ns(), wall: Timestamp::now() }
    }

    /// The moment that a wall clock's stamp means, as far as that clock was not set since.
    pub fn of_wall(wall: Timestamp) -> Self {
        let now = Self::now();
        let ago = now.wall.as_nanosecond() - wall.as_nanosecond();
        Self { mono: u64::try_from(i128::from(now.mono) - ago).unwrap_or(0), wall }
    }

    /// So much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        let mono = self.mono.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Self { mono, wall: self.wall.checked_add(time).unwrap_or(self.wall) }
    }

    /// Time from `earlier` to `self` on the monotonic clock; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.mono.saturating_sub(earlier.mono))
    }
}

fn mono_ns() -> u64 {
    // CLOCK_MONOTONIC is always there on Linux; 0 keeps a stamp readable should it ever not be.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |t| u64::try_from(t.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec()).unwrap_or(0))
}

/// `83.4s`, `2m03s`, `412ms`: how a duration is shown to people.
pub fn human(took: Duration) -> String {
    let ms = took.as_millis();
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..120_000 => format!("{:.1}s", took.as_secs_f64()),
        _ => format!("{}m{:02}s", took.as_secs() / 60, took.as_secs() % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_a_person_says_them() {
        for (ms, want) in [(0, "0ms"), (412, "412ms"), (999, "999ms"), (1_000, "1.0s"), (83_440, "83.4s"), (123_000, "2m03s")] {
            assert_eq!(human(Duration::from_millis(ms)), want);
        }
    }

    #[test]
    fn a_wall_stamp_finds_its_place_on_the_other_clock() {
        let now = Stamp::now();
        let before = Stamp::of_wall(now.wall - Duration::from_secs(2));
        let apart = now.since(before);
        assert!(apart > Duration::from_millis(1_900) && apart < Duration::from_millis(2_100), "{apart:?}");
        assert_eq!(Stamp::of_wall(Timestamp::UNIX_EPOCH).mono, 0, "before the machine was up");
    }

    #[test]
    fn an_earlier_stamp_never_gives_a_negative_time() {
        let a = Stamp::now();
        let b = Stamp::now();
        assert_eq!(a.since(b).min(Duration::from_nanos(1)), a.since(b));
        assert!(b.since(a) < Duration::from_mins(1));
    }
}
