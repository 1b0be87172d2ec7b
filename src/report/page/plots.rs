//! What each component used, as lines over the axis of the timeline; one plot a component and figure, one line a node.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use super::history::History;
use super::scale::Scale;
use super::series::Series;
use super::usage::Figure;
use crate::report::model::Case;
use crate::sys::clock::Stamp;

/// The plane that lines are drawn on.
const WIDE: f64 = 1_000.0;
const HIGH: f64 = 100.0;
/// Points of all lines of a plot, and of one line at most and at least.
const ALL_POINTS: usize = 10_000;
const MOST_POINTS: usize = 300;
const LEAST_POINTS: usize = 40;
/// So long without a point, or four times as long as usual, is a hole in a line.
const HOLE: Duration = Duration::from_secs(5);
/// Lines that have a colour of their own.
const COLOURS: usize = 8;

/// One plot.
#[derive(Debug, Serialize)]
pub(super) struct Plot {
    component: String,
    figure: &'static str,
    /// What its upper edge stands for.
    top: String,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    node: String,
    class: String,
    /// Its pieces: where nothing was seen for a while there is no line.
    pieces: Vec<String>,
    peak: String,
}

pub(super) fn plots(history: &History, case: &Case, scale: Scale) -> Vec<Plot> {
    let mut found: BTreeMap<_, Vec<(&str, &Series)>> = BTreeMap::new();
    // the order of nodes and their colours is the one of the timeline
    for node in case.nodes.iter() {
        let Some(story) = history.nodes.get(&node.name) else { continue };
        for ((component, figure), series) in &story.usages.series {
            found.entry((place(component), component.as_str(), *figure)).or_default().push((&node.name, series));
        }
    }
    found.into_iter().map(|((_, component, figure), all)| plot(component, figure, &all, case, scale)).collect()
}

fn plot(component: &str, figure: Figure, all: &[(&str, &Series)], case: &Case, scale: Scale) -> Plot {
    let peak = all.iter().map(|(_, series)| series.peak()).fold(0.0, f64::max);
    let top = if peak > 0.0 { peak * 1.05 } else { 1.0 };
    let most = (ALL_POINTS / all.len().max(1)).clamp(LEAST_POINTS, MOST_POINTS);
    let colour = |node: &str| case.nodes.iter().position(|other| other.name == node).filter(|at| *at < COLOURS);
    let line = |(node, series): &(&str, &Series)| Line {
        node: case.nodes.short(node).to_owned(),
        class: colour(node).map_or_else(|| "nx".into(), |at| format!("n{at}")),
        pieces: pieces(&series.points(most), top, scale),
        peak: words(figure, series.peak()),
    };
    Plot { component: component.to_owned(), figure: title(figure), top: words(figure, top), lines: all.iter().map(line).collect() }
}

fn pieces(points: &[(Stamp, f64)], top: f64, scale: Scale) -> Vec<String> {
    let mut apart: Vec<Duration> = points.windows(2).map(|two| two[1].0.since(two[0].0)).collect();
    apart.sort();
    let usual = apart.get(apart.len() / 2).copied().unwrap_or_default();
    let hole = HOLE.max(usual * 4);
    let piece = |points: &[(Stamp, f64)]| {
        let mut text = String::new();
        for (at, value) in points {
            let _ = write!(text, "{:.1},{:.1} ", scale.part(*at) * WIDE, HIGH - value / top * HIGH);
        }
        text
    };
    points.chunk_by(|one, next| next.0.since(one.0) < hole).map(piece).collect()
}

/// The parts of a control plane by how much they matter to a join.
fn place(component: &str) -> usize {
    ["etcd", "kube-apiserver", "kubelet", "node"].iter().position(|known| *known == component).unwrap_or(9)
}

fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Cpu => "CPUs in use",
        Figure::Memory => "memory (working set)",
        Figure::Disk => "disk, read and written",
        Figure::Network => "network, both ways",
        Figure::Peers => "peer traffic, both ways",
        Figure::Store => "size of the store",
        Figure::Fsync => "WAL fsync, 99th percentile",
    }
}

fn words(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Cpu => format!("{value:.2} CPUs"),
        Figure::Memory | Figure::Store => bytes(value),
        Figure::Disk | Figure::Network | Figure::Peers => format!("{}/s", bytes(value)),
        Figure::Fsync => format!("{:.1} ms", value * 1_000.0),
    }
}

fn bytes(value: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut at) = (value, 0);
    while value >= 1_024.0 && at + 1 < units.len() {
        value /= 1_024.0;
        at += 1;
    }
    if at == 0 { format!("{value:.0} B") } else { format!("{value:.1} {}", units[at]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::script::stamp;

    #[test]
    fn where_nothing_was_seen_there_is_no_line() {
        let scale = Scale::new(stamp(0), stamp(100_000));
        let at = |seconds: &[u64]| seconds.iter().map(|s| (stamp(s * 1_000), 1.0)).collect::<Vec<_>>();
        assert_eq!(pieces(&at(&[1, 2, 3, 40, 41]), 1.0, scale).len(), 2);
        assert_eq!(pieces(&at(&[10, 20, 30, 40]), 1.0, scale).len(), 1, "looks that are rare");
        assert_eq!(pieces(&[], 1.0, scale).len(), 0);
    }
}
