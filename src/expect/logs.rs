//! `logs`: texts that logs hold, and texts that they do not.

use std::collections::BTreeMap;

use crate::event::{Judgement, Verdict};
use crate::spec::{Logs, Texts};

/// Where a text was found in a component's logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Nodes whose log holds it.
    pub nodes: Vec<String>,
    /// Nodes whose log could not be read, each with the reason.
    pub unread: Vec<String>,
}

/// By component and text.
pub type Findings = BTreeMap<(String, String), Found>;

/// Judges each component that something is demanded of.
pub fn logs(wanted: &Logs, found: &Findings) -> Vec<Judgement> {
    wanted.each().map(|(component, texts)| one(component, texts, found)).collect()
}

fn one(component: &str, texts: &Texts, found: &Findings) -> Judgement {
    let nothing = Found { nodes: Vec::new(), unread: vec!["nobody looked".into()] };
    let of = |text: &String| found.get(&(component.to_owned(), text.clone())).unwrap_or(&nothing);
    let unread = |found: &Found| !found.unread.is_empty();
    let some = texts.some.iter().map(|text| match of(text) {
        found if !found.nodes.is_empty() => Verdict::Pass,
        found if unread(found) => Verdict::Undecided,
        _ => Verdict::Fail,
    });
    let none = texts.none.iter().map(|text| match of(text) {
        found if !found.nodes.is_empty() => Verdict::Fail,
        found if unread(found) => Verdict::Undecided,
        _ => Verdict::Pass,
    });
    let verdict = some.chain(none).max().unwrap_or(Verdict::Undecided);
    let saw = texts.some.iter().chain(&texts.none).map(|text| {
        let Found { nodes, unread } = of(text);
        let on = if nodes.is_empty() { "on no node".to_owned() } else { format!("on {}", nodes.join(" ")) };
        let but = if unread.is_empty() { String::new() } else { format!(", not read: {}", unread.join("; ")) };
        format!("{text:?} {on}{but}")
    });
    let saw = saw.collect::<Vec<_>>().join(", ");
    Judgement { name: format!("logs {component}"), verdict, wanted: words(texts), saw, evidence: Vec::new() }
}

fn words(texts: &Texts) -> String {
    let some = texts.some.iter().map(|text| format!("{text:?} somewhere"));
    let none = texts.none.iter().map(|text| format!("{text:?} nowhere"));
    some.chain(none).collect::<Vec<_>>().join(", ")
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &Logs) -> String {
    wanted.each().map(|(component, texts)| format!("{component}: {}", words(texts))).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(nodes: &[&str], unread: &[&str]) -> (Verdict, Verdict) {
        let own = |all: &[&str]| all.iter().map(|node| (*node).to_owned()).collect();
        let found = Findings::from([(("etcd".to_owned(), "panic".to_owned()), Found { nodes: own(nodes), unread: own(unread) })]);
        let verdict = |texts| logs(&Logs { etcd: Some(texts), ..Logs::default() }, &found).remove(0).verdict;
        let some = verdict(Texts { some: vec!["panic".into()], none: vec![] });
        (some, verdict(Texts { some: vec![], none: vec!["panic".into()] }))
    }

    #[test]
    fn some_and_none_are_opposites_and_what_was_not_read_decides_neither() {
        assert_eq!(judged(&["cp-2"], &[]), (Verdict::Pass, Verdict::Fail));
        assert_eq!(judged(&[], &[]), (Verdict::Fail, Verdict::Pass));
        assert_eq!(judged(&[], &["cp-1: gone"]), (Verdict::Undecided, Verdict::Undecided));
        assert_eq!(judged(&["cp-2"], &["cp-1: gone"]), (Verdict::Pass, Verdict::Fail), "found is found");
    }

    #[test]
    fn says_where_and_what_nobody_looked_for_is_undecided() {
        let texts = Texts { some: vec!["a".into()], none: vec!["b".into()] };
        let found = Findings::from([(("etcd".to_owned(), "a".to_owned()), Found { nodes: vec!["cp-1".into()], unread: vec![] })]);
        let judged = logs(&Logs { etcd: Some(texts), ..Logs::default() }, &found).remove(0);
        assert_eq!(judged.verdict, Verdict::Undecided);
        assert_eq!(judged.saw, r#""a" on cp-1, "b" on no node, not read: nobody looked"#);
        assert_eq!(judged.wanted, r#""a" somewhere, "b" nowhere"#);
    }
}
