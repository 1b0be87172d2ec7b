//! A value over time, as changes, within a bound: what is old gets coarser, and keeps its extremes.

use crate::sys::clock::Stamp;

/// Points that are kept at most.
const MOST: usize = 512;

/// A value that stayed within bounds from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    from: Stamp,
    to: Stamp,
    /// The largest value.
    most: u64,
    /// All that it had grown by up to `to`, over restarts too.
    grown: u64,
}

/// A level, or a counter that begins at 0 again when its owner restarts.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    points: Vec<Point>,
    last: Option<u64>,
}

impl Series {
    /// Adds what was seen; a value that did not change only lengthens the last point.
    pub(super) fn push(&mut self, at: Stamp, value: u64) {
        let grown_before = self.points.last().map_or(0, |point| point.grown);
        // what was counted before anybody looked is the owner's all the same; less than before is a new owner
        let step = self.last.filter(|last| *last <= value).map_or(value, |last| value - last);
        if self.last == Some(value)
            && let Some(point) = self.points.last_mut()
        {
            point.to = at;
            return;
        }
        self.last = Some(value);
        self.points.push(Point { from: at, to: at, most: value, grown: grown_before.saturating_add(step) });
        if self.points.len() > MOST {
            self.thin();
        }
    }

    /// Makes one point of two in the older half.
    fn thin(&mut self) {
        let newer = self.points.split_off(MOST / 2);
        let older = std::mem::replace(&mut self.points, Vec::with_capacity(MOST));
        self.points.extend(older.chunks(2).filter_map(|pair| {
            let (first, last) = (pair.first()?, pair.last()?);
            Some(Point { from: first.from, to: last.to, most: first.most.max(last.most), grown: last.grown })
        }));
        self.points.extend(newer);
    }

    /// The largest value in that time; what was held over its beginning counts.
    pub(super) fn most(&self, from: Stamp, to: Stamp) -> Option<u64> {
        self.within(from, to).map(|point| point.most).max()
    }

    /// By how much it grew in that time.
    pub(super) fn grown(&self, from: Stamp, to: Stamp) -> Option<u64> {
        let last = self.within(from, to).last()?.grown;
        let before = self.points.iter().rev().find(|point| point.from < from).map_or(0, |point| point.grown);
        // with stamps out of order the last one may be from before
        Some(last.saturating_sub(before))
    }

    /// The last value seen before.
    pub(super) fn before(&self, at: Stamp) -> Option<u64> {
        self.points.iter().rev().find(|point| point.from < at).map(|point| point.most)
    }

    fn within(&self, from: Stamp, to: Stamp) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.to >= from && point.from <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn series(values: &[(u64, u64)]) -> Series {
        let mut series = Series::default();
        for (s, value) in values {
            series.push(at(*s), *value);
        }
        series
    }

    #[test]
    fn a_level_has_its_most_and_a_counter_its_growth_within_a_time() {
        let level = series(&[(1, 10), (2, 30), (3, 20), (4, 20), (5, 5)]);
        assert_eq!(level.points.len(), 4, "a repeat is no new point");
        assert_eq!(level.most(at(3), at(4)), Some(20));
        assert_eq!(level.most(at(0), at(9)), Some(30));
        assert_eq!(level.most(at(6), at(9)), None);
        assert_eq!(level.before(at(3)), Some(30));
        let counter = series(&[(1, 100), (2, 150), (3, 170), (4, 30), (5, 50)]);
        assert_eq!(counter.grown(at(2), at(3)), Some(70), "over the look before");
        assert_eq!(counter.grown(at(4), at(5)), Some(50), "it restarted");
        assert_eq!(counter.grown(at(0), at(9)), Some(220));
    }

    #[test]
    fn an_hour_fits_and_keeps_its_extremes() {
        let mut long = Series::default();
        for s in 0..3_600 {
            long.push(at(s), if s == 77 { 1_000_000 } else { s });
        }
        assert!(long.points.len() <= MOST, "{}", long.points.len());
        assert_eq!(long.most(at(0), at(3_600)), Some(1_000_000));
        assert_eq!(long.most(at(3_500), at(3_599)), Some(3_599), "what is new is fine");
        assert_eq!(long.most(at(3_590), at(3_595)), Some(3_595));
    }
}
