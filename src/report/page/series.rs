//! A figure over time, thinned while it grows: an hour of seconds must not make a page of megabytes.

use crate::sys::clock::Stamp;

/// A series that would grow beyond this has every two of its points made one.
const MOST: usize = 600;

/// Points in the order of time. Of several that become one the highest stays: peaks are what is looked for.
#[derive(Clone, Debug)]
pub(in crate::report) struct Series {
    points: Vec<(Stamp, f64)>,
    /// How many values make a point.
    every: usize,
    /// Values that the last point is made of so far.
    filled: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), every: 1, filled: 0 }
    }
}

impl Series {
    /// Adds a value. What is no number is left out.
    pub(super) fn push(&mut self, at: Stamp, value: f64) {
        if !value.is_finite() {
            return;
        }
        match self.points.last_mut() {
            Some(last) if self.filled < self.every => {
                last.1 = last.1.max(value);
                self.filled += 1;
            }
            Some(_) | None => {
                self.points.push((at, value));
                self.filled = 1;
            }
        }
        if self.points.len() > MOST {
            self.points = thin(&self.points, 2);
            self.every *= 2;
            // the last point may hold fewer values than it could; one more peak is kept than need be
            self.filled = self.every;
        }
    }

    /// At most so many points.
    pub(in crate::report) fn points(&self, most: usize) -> Vec<(Stamp, f64)> {
        thin(&self.points, self.points.len().div_ceil(most.max(1)))
    }

    /// The highest.
    pub(super) fn peak(&self) -> f64 {
        self.points.iter().map(|point| point.1).fold(0.0, f64::max)
    }
}

fn thin(points: &[(Stamp, f64)], by: usize) -> Vec<(Stamp, f64)> {
    points.chunks(by.max(1)).map(|chunk| (chunk[0].0, chunk.iter().map(|point| point.1).fold(f64::MIN, f64::max))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::script::stamp;

    #[test]
    fn an_hour_is_thinned_and_keeps_its_peak_and_its_place() {
        let mut series = Series::default();
        for second in 0..3_600_u32 {
            series.push(stamp(u64::from(second) * 1_000), if second == 1_801 { 99.0 } else { 1.0 });
        }
        let points = series.points(300);
        assert!(points.len() <= 300 && points.len() > 100, "{}", points.len());
        let peak = points.iter().find(|point| point.1 > 50.0).expect("kept");
        assert!(peak.0 >= stamp(1_770_000) && peak.0 <= stamp(1_801_000), "{peak:?}");
        assert!(points.is_sorted_by_key(|point| point.0));
        assert!((series.peak() - 99.0).abs() < f64::EPSILON);
    }

    #[test]
    fn few_values_stay_as_they_are_and_none_is_no_number() {
        let mut series = Series::default();
        for value in [1.0, f64::NAN, f64::INFINITY, 2.0] {
            series.push(stamp(1), value);
        }
        assert_eq!(series.points(600), [(stamp(1), 1.0), (stamp(1), 2.0)]);
    }
}
