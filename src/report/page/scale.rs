//! Time to places on an axis. Places are per cent: what is drawn at them can be stretched without stretching its text.

use serde::Serialize;

use crate::sys::clock::Stamp;

/// How far the axis can be stretched.
pub(super) const ZOOMS: [u32; 5] = [1, 2, 4, 8, 16];
/// Pixels that the axis has about when it is not stretched.
const WIDTH: f64 = 1_000.0;
/// Pixels that a letter takes about, and what stands free around a word.
const LETTER: f64 = 6.4;
const AROUND: f64 = 8.0;

/// The axis of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    zero: Stamp,
    seconds: f64,
}

/// Marks of the axis for one stretch of it.
#[derive(Debug, Serialize)]
pub(super) struct Ticks {
    zoom: u32,
    ticks: Vec<Tick>,
}

#[derive(Debug, Serialize)]
struct Tick {
    x: String,
    text: String,
}

impl Scale {
    pub(super) fn new(zero: Stamp, last: Stamp) -> Self {
        Self { zero, seconds: last.since(zero).as_secs_f64().max(1.0) }
    }

    /// The same, for an axis that is as long as another.
    pub(super) fn as_long_as(self, seconds: f64) -> Self {
        Self { seconds: self.seconds.max(seconds), ..self }
    }

    pub(super) fn seconds(self) -> f64 {
        self.seconds
    }

    /// Seconds from the start.
    pub(super) fn at(self, stamp: Stamp) -> f64 {
        stamp.since(self.zero).as_secs_f64()
    }

    /// `17.4s`.
    pub(super) fn time(self, stamp: Stamp) -> String {
        format!("{:.1}s", self.at(stamp))
    }

    /// Of the axis, 0 to 1.
    pub(super) fn part(self, stamp: Stamp) -> f64 {
        (self.at(stamp) / self.seconds).clamp(0.0, 1.0)
    }

    /// Left edge and width in per cent.
    pub(super) fn stretch(self, from: Stamp, to: Stamp) -> (String, String) {
        let (left, right) = (self.part(from), self.part(to));
        (percent(left), percent((right - left).max(0.000_4)))
    }

    /// The least stretch at which a word fits between these; 0 for none.
    pub(super) fn fits(self, text: &str, from: Stamp, to: Stamp) -> u32 {
        let width = (self.part(to) - self.part(from)) * WIDTH;
        let letters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let wanted = f64::from(letters) * LETTER + AROUND;
        ZOOMS.into_iter().find(|zoom| width * f64::from(*zoom) >= wanted).unwrap_or(0)
    }

    pub(super) fn ticks(self) -> Vec<Ticks> {
        ZOOMS.map(|zoom| Ticks { zoom, ticks: self.ticks_at(zoom) }).into()
    }

    fn ticks_at(self, zoom: u32) -> Vec<Tick> {
        let step = step(self.seconds / (10.0 * f64::from(zoom)));
        let mut ticks = Vec::new();
        let mut at = 0.0;
        // the last tenth of a step would put its number beyond the edge
        while at <= self.seconds - step * 0.1 {
            ticks.push(Tick { x: percent(at / self.seconds), text: seconds(at, step) });
            at += step;
        }
        ticks
    }
}

/// The next of 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, … seconds.
fn step(least: f64) -> f64 {
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0];
    steps.into_iter().find(|step| *step >= least).unwrap_or_else(|| (least / 3_600.0).ceil() * 3_600.0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run")]
fn seconds(at: f64, step: f64) -> String {
    if step < 1.0 {
        return format!("{at:.1}s");
    }
    let whole = at.round() as u64;
    if whole < 120 { format!("{whole}s") } else { format!("{}m{:02}", whole / 60, whole % 60) }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.3}", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::script::stamp;

    #[test]
    fn an_axis_has_about_ten_marks_for_each_stretch() {
        for ms in [900, 7_000, 66_000, 180_000, 3_600_000, 40_000_000] {
            let scale = Scale::new(stamp(0), stamp(ms));
            for ticks in scale.ticks() {
                let count = ticks.ticks.len();
                assert!(count >= 4 && count <= 11 * ticks.zoom as usize, "{ms} ms, {}: {count}", ticks.zoom);
            }
        }
    }

    #[test]
    fn what_lies_outside_is_at_the_edge_and_nothing_is_without_width() {
        let scale = Scale::new(stamp(1_000), stamp(11_000));
        assert_eq!(scale.stretch(stamp(0), stamp(6_000)), ("0.000".into(), "50.000".into()));
        assert_eq!(scale.stretch(stamp(20_000), stamp(20_000)), ("100.000".into(), "0.040".into()));
        assert_eq!(scale.fits("a word", stamp(1_000), stamp(11_000)), 1);
        assert_eq!(scale.fits("a word", stamp(1_000), stamp(1_200)), 4);
        assert_eq!(scale.fits("a word", stamp(1_000), stamp(1_001)), 0);
    }
}
