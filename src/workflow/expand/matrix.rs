//! The cases of a matrix, and which of them are asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::super::file::{Entry, Node, Problem, Text, Value};
use super::vars::Raw;

/// More are refused: nobody runs them, and a misplaced list makes them.
const MOST_CASES: usize = 10_000;

/// One value of an axis, `order=parallel`; several of them, as `--case` takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice(pub Vec<(String, String)>);

impl Choice {
    /// Does a case have all these values?
    pub fn holds(&self, case: &[(String, String)]) -> bool {
        self.0.iter().all(|pair| case.contains(pair))
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("{part:?} is no choice: write it as in order=parallel"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        let pairs: Vec<_> = text.split([',', ' ']).filter(|part| !part.is_empty()).map(pair).collect::<Result<_, String>>()?;
        // as of a variable of a shell that is not set: it would mean every case
        if pairs.is_empty() { Err("an empty choice: write it as in order=parallel".into()) } else { Ok(Self(pairs)) }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&pairs.join(" "))
    }
}

/// A name of the matrix with its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) values: Vec<Raw>,
}

/// The axes of a matrix; one that `--var` sets is none any more.
pub(super) fn axes(matrix: Option<&Node>, set: &BTreeMap<String, Raw>, problems: &mut Vec<Problem>) -> Vec<Axis> {
    let Some(Value::Map(entries)) = matrix.map(|node| &node.value) else { return Vec::new() };
    entries.iter().filter(|entry| !set.contains_key(&entry.key)).filter_map(|entry| axis(entry, problems)).collect()
}

fn axis(entry: &Entry, problems: &mut Vec<Problem>) -> Option<Axis> {
    // what is no list is left to the types to complain of
    let Value::List(items) = &entry.node.value else { return None };
    if items.is_empty() {
        problems
            .push(Problem::at(entry.at, format!("the axis `{}` has no value", entry.key)).help("name at least one, or leave the axis out"));
        return None;
    }
    let mut values: Vec<Raw> = Vec::new();
    for item in items {
        let Value::Scalar(Text { text, .. }) = &item.value else { return None };
        if values.iter().any(|earlier| earlier.text == *text) {
            problems.push(Problem::at(item.place, format!("the axis `{}` has the value {text:?} twice", entry.key)));
        }
        values.push(Raw { text: text.clone(), place: Some(item.place) });
    }
    Some(Axis { name: entry.key.clone(), values })
}

/// Every combination, the last axis turning fastest; just one empty combination when there is no axis.
pub(super) fn combinations(axes: &[Axis], matrix: Option<&Node>, problems: &mut Vec<Problem>) -> Vec<Vec<(String, Raw)>> {
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST_CASES) {
        let shown = count.map_or_else(|| "more cases than can be counted".to_owned(), |count| format!("{count} cases"));
        let place = matrix.map(|node| node.place);
        problems.push(Problem { place, what: format!("the matrix has {shown}, at most {MOST_CASES} can be run"), help: None });
        return Vec::new();
    }
    axes.iter().fold(vec![Vec::new()], |cases, axis| {
        let with = |case: &Vec<(String, Raw)>, value: &Raw| case.iter().cloned().chain([(axis.name.clone(), value.clone())]).collect();
        cases.iter().flat_map(|case| axis.values.iter().map(move |value| with(case, value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_names_pairs_that_a_case_has() {
        let case = [("order".to_owned(), "serial".to_owned()), ("n".to_owned(), "3".to_owned())];
        for (text, wanted) in [("order=serial", true), ("order=serial,n=5", false), ("order=serial n=3", true), ("nodes=3", false)] {
            assert_eq!(text.parse::<Choice>().expect("a choice").holds(&case), wanted, "{text}");
        }
        assert!("serial".parse::<Choice>().is_err() && " ".parse::<Choice>().is_err());
    }
}
