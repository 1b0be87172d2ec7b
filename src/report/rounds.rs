//! What many rounds of one case say: how many passed, how many may fail all the same, how long they took. Pure.

use std::time::Duration;

use super::model::{Case, CaseEnd, Run};
use crate::event::Work;
use crate::sys::clock::human;

/// How sure the bound is.
const SURE: f64 = 0.95;

/// A line for each case that had several rounds.
pub(super) fn lines(run: &Run) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for case in run.done.iter().filter(|case| case.rounds > 1) {
        if !names.contains(&case.base()) {
            names.push(case.base());
        }
    }
    names.iter().map(|name| line(name, &run.done.iter().filter(|case| case.base() == *name).collect::<Vec<_>>())).collect()
}

fn line(name: &str, rounds: &[&Case]) -> String {
    let ended: Vec<&&Case> = rounds.iter().filter(|case| case.end() != CaseEnd::Stopped).collect();
    let passed = ended.iter().filter(|case| matches!(case.end(), CaseEnd::Passed | CaseEnd::Left)).count();
    let undecided = ended.iter().filter(|case| case.end() == CaseEnd::Undecided).count();
    // An undecided round shows neither; it is none of those that are counted.
    let decided = ended.len() - undecided;
    let mut parts =
        vec![if decided > 0 { format!("{name}: {passed} of {decided} rounds passed") } else { format!("{name}: no round was decided") }];
    if undecided > 0 {
        parts.push(format!("{undecided} undecided"));
    }
    if decided > 0 {
        let most = percent(bound(decided, decided - passed));
        parts.push(format!("the chance of a failure is at most {most} ({:.0} % sure)", SURE * 100.0));
    }
    let joins: Vec<Duration> = rounds.iter().filter_map(|case| case.nodes.whole.get(&Work::Joins).copied()).collect();
    if let (Some(half), Some(most)) = (quantile(&joins, 0.5), quantile(&joins, 0.95)) {
        parts.push(format!("joins p50 {}, p95 {}", human(half), human(most)));
    }
    parts.join("; ")
}

/// The exact (Clopper-Pearson) upper bound of a chance, one-sided: with `failures` in `n` rounds a higher one would be seen in
/// less than 5 % of all such series. Without a failure it is 1 - 0.05^(1/n): 300 rounds for 1 %.
fn bound(n: usize, failures: usize) -> f64 {
    if failures >= n {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(n, failures, middle) > 1.0 - SURE { low = middle } else { high = middle }
    }
    high
}

/// The chance of at most `k` failures in `n` rounds that fail with chance `p` each.
fn at_most(n: usize, k: usize, p: f64) -> f64 {
    // by logarithms: the terms of some hundred rounds are too small for plain products
    let (log_p, log_q) = (p.ln(), (-p).ln_1p());
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    for i in 0..=k {
        if i > 0 {
            log_choose += (count(n - i + 1) / count(i)).ln();
        }
        sum += (log_choose + count(i) * log_p + count(n - i) * log_q).exp();
    }
    sum
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn percent(chance: f64) -> String {
    format!("{:.1} %", chance * 100.0)
}

/// The value that this share of all do not exceed (nearest rank).
fn quantile(all: &[Duration], share: f64) -> Option<Duration> {
    let mut sorted = all.to_vec();
    sorted.sort();
    let ranks = (1..=sorted.len()).find(|rank| count(*rank) >= share * count(sorted.len()))?;
    sorted.get(ranks - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_tables() {
        // Clopper and Pearson's, one-sided 95 %: https://en.wikipedia.org/wiki/Rule_of_three_(statistics) for k = 0
        for (n, failures, wanted) in
            [(10, 0, 0.2589), (20, 0, 0.1391), (299, 0, 0.00997), (300, 0, 0.00994), (10, 1, 0.3942), (20, 2, 0.2826)]
        {
            assert!((bound(n, failures) - wanted).abs() < 0.0002, "{failures} of {n}: {}", bound(n, failures));
        }
        assert!((bound(3, 3) - 1.0).abs() < f64::EPSILON);
        assert!(bound(5_000, 40) < 0.011);
    }

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let seconds: Vec<Duration> = (1..=20).rev().map(Duration::from_secs).collect();
        assert_eq!(quantile(&seconds, 0.5), Some(Duration::from_secs(10)));
        assert_eq!(quantile(&seconds, 0.95), Some(Duration::from_secs(19)));
        assert_eq!(quantile(&seconds[..1], 0.95), Some(Duration::from_secs(20)));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
