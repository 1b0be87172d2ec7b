//! What is known to fail: a failure in just that way is `known`, any other stays one, and so is passing where it should fail.

use super::run::Failed;
use crate::event::{Judgement, Verdict};
use crate::spec::KnownBad;

/// What a case came to, seen against one entry that is about its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// What is told of it.
    pub(super) judgement: Judgement,
    /// Does it turn the case's failure into a known one?
    pub(super) forgives: bool,
}

/// Looks at one entry, when it is about these versions.
pub(super) fn look(known: &KnownBad, kubernetes: Option<&str>, etcd: Option<&str>, failed: Option<&Failed>) -> Option<Seen> {
    if !known.is_about(kubernetes, etcd) {
        return None;
    }
    let wanted = match &known.fails.error {
        Some(error) => format!("task {:?} fails with {error:?}", known.fails.step),
        None => format!("task {:?} fails", known.fails.step),
    };
    let (verdict, saw) = match failed {
        None if known.strict => (Verdict::Fail, "it passed: take the entry out, or these versions out of it".to_owned()),
        None => (Verdict::Pass, "it passed".to_owned()),
        Some(failed) => {
            let same = failed.task == known.fails.step;
            let said = known.fails.error.as_ref().is_none_or(|error| failed.why.iter().any(|why| why.contains(error.as_str())));
            let verdict = if same && said { Verdict::Known } else { Verdict::Fail };
            (verdict, format!("task {:?} failed: {}", failed.task, failed.why.join("; ")))
        }
    };
    let judgement = Judgement { name: format!("known bad: {}", known.issue), verdict, wanted, saw, evidence: Vec::new() };
    Some(Seen { judgement, forgives: verdict == Verdict::Known })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Failing;

    fn verdict(strict: bool, task: Option<(&str, &str)>, version: &str) -> Option<Verdict> {
        let known = KnownBad {
            kubeadm: [("1.34".to_owned(), ">=1.34.4".parse().expect("a demand"))].into(),
            etcd: std::collections::BTreeMap::new(),
            issue: "kubernetes/kubeadm#3317".into(),
            fails: Failing { step: "join".into(), error: Some("can only promote".into()), residue: None },
            strict,
        };
        let failed = task.map(|(task, why)| Failed { task: task.to_owned(), why: vec![why.to_owned()] });
        look(&known, Some(version), None, failed.as_ref()).map(|seen| seen.judgement.verdict)
    }

    #[test]
    fn only_the_failure_that_is_known_is_known() {
        assert_eq!(verdict(true, Some(("join", "etcd: can only promote a learner")), "v1.34.4"), Some(Verdict::Known));
        assert_eq!(verdict(true, Some(("join", "timed out")), "v1.34.4"), Some(Verdict::Fail), "another error");
        assert_eq!(verdict(true, Some(("init", "can only promote")), "v1.34.4"), Some(Verdict::Fail), "another task");
        assert_eq!(verdict(true, None, "v1.34.4"), Some(Verdict::Fail), "passing where it should fail");
        assert_eq!(verdict(false, None, "v1.34.4"), Some(Verdict::Pass));
        assert_eq!(verdict(true, Some(("join", "can only promote")), "v1.34.0"), None, "a good version");
    }
}
