//! `nodes`: Node objects that are Ready.

use std::time::Duration;

use crate::event::{Judgement, Verdict};
use crate::spec::NodesReady;
use crate::sys::clock::human;

/// Node objects as an API server lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Names of those that are Ready.
    pub ready: Vec<String>,
    /// Names of the others.
    pub waiting: Vec<String>,
}

/// Judges one list, or its absence, seen `after` the step. `Fail` means "not yet" while there is time left.
pub fn nodes(wanted: &NodesReady, limit: Duration, seen: Result<&Readiness, &str>, after: Duration) -> Judgement {
    let words = describe(wanted, limit);
    let (verdict, saw) = match seen {
        Err(why) => (Verdict::Undecided, format!("no list of nodes: {why}")),
        Ok(list) if wanted.ready.holds(list.ready.len()) => (Verdict::Pass, format!("{} Ready after {}", list.ready.len(), human(after))),
        Ok(list) => (Verdict::Fail, format!("{} Ready, not Ready: [{}]", list.ready.len(), list.waiting.join(" "))),
    };
    Judgement { name: "nodes".into(), verdict, wanted: words, saw, evidence: Vec::new() }
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &NodesReady, limit: Duration) -> String {
    format!("{} Ready within {}", wanted.ready, human(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Compare;

    #[test]
    fn counts_exactly_and_does_not_pass_what_was_not_seen() {
        let wanted = NodesReady { ready: Compare::just(1), within: None, when: None };
        let verdict = |seen: Result<&Readiness, &str>| nodes(&wanted, Duration::from_secs(1), seen, Duration::ZERO);
        let list = |ready: &[&str], waiting: &[&str]| Readiness {
            ready: ready.iter().map(|n| (*n).to_owned()).collect(),
            waiting: waiting.iter().map(|n| (*n).to_owned()).collect(),
        };
        assert_eq!(verdict(Ok(&list(&["a"], &["b"]))).verdict, Verdict::Pass);
        assert_eq!(verdict(Ok(&list(&["a", "b"], &[]))).verdict, Verdict::Fail, "one too many");
        let none = verdict(Ok(&list(&[], &["a"])));
        assert_eq!((none.verdict, none.saw.as_str()), (Verdict::Fail, "0 Ready, not Ready: [a]"));
        assert_eq!(verdict(Err("connection refused")).verdict, Verdict::Undecided);
    }
}
