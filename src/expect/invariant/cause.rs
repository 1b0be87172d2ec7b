//! I12: a kubeadm that fails names the cause. Most causes nobody can know; what is judged is an error that is empty, that is only the
//! end of a wait, or that blames the log of a member that never started.

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Told};

/// How waits end in Go, with nothing said of what was waited for.
const ENDS_OF_WAITS: [&str; 3] = ["timed out waiting for the condition", "context deadline exceeded", "context canceled"];
/// etcd's word for a learner that is behind, and for one that never started (kubernetes/kubeadm#3269).
const BEHIND: &str = "in sync with leader";

/// Failures whose cause may be the true one.
#[derive(Default)]
pub(super) struct Cause {
    named: Vec<(String, u64)>,
    more: usize,
}

impl Rule for Cause {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        let Event::KubeadmFinished { node, code: Some(code), error, .. } = &told.event else { return None };
        if *code == 0 {
            return None;
        }
        let error = error.as_deref().unwrap_or_default().trim();
        let said = error.strip_prefix("error execution phase ").and_then(|rest| rest.split_once(": ")).map_or(error, |(_, said)| said);
        let unstarted = || {
            let own = |list: &[crate::event::Member]| list.iter().any(|m| !m.started() && view.node_of(m) == Some(node));
            view.latest().is_some_and(|list| own(&list.value))
        };
        let why = if said.is_empty() {
            "nothing".to_owned()
        } else if ENDS_OF_WAITS.contains(&said) {
            format!("only {said:?}")
        } else if said.contains(BEHIND) && unstarted() {
            format!("that its member is not {BEHIND}, which never started")
        } else {
            if self.named.is_empty() {
                self.named.push((format!("{node}: {said}"), told.seq));
            } else {
                self.more += 1;
            }
            return None;
        };
        Some(Shown::new(format!("kubeadm on {node} ended with exit code {code} and says {why}"), [told.seq]))
    }

    fn end(&self, _: &View) -> End {
        match self.named.first() {
            None => End::Idle("no kubeadm failed".into()),
            Some((said, _)) => End::Unseen(format!("nobody can say whether it is the cause that {said}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    fn judged(error: Option<&str>, started: bool) -> (Verdict, String) {
        let tale = Tale::new(2).looks(1, &[1]).kubeadm(2, "join");
        let tale = if started { tale.looks(1, &[1, 2]) } else { tale.adds(1, 2) };
        tale.ends(2, Some(1), error).judged(Invariant::Cause)
    }

    #[test]
    fn an_empty_error_and_the_last_symptom_break_it() {
        assert_eq!(judged(None, true).1, "kubeadm on cp-2 ended with exit code 1 and says nothing");
        let symptom = "error execution phase etcd-join: timed out waiting for the condition";
        assert_eq!(judged(Some(symptom), true).0, Verdict::Fail);
        let behind = "error execution phase etcd-join: can only promote a learner member which is in sync with leader";
        assert_eq!(judged(Some(behind), false).0, Verdict::Fail);
        assert_eq!(judged(Some(behind), true).0, Verdict::Undecided, "it may be so");
        let cause = "error execution phase etcd-join: etcdserver: too many learner members in cluster";
        assert_eq!(judged(Some(cause), false).0, Verdict::Undecided);
        assert_eq!(Tale::new(1).judged(Invariant::Cause), (Verdict::NotApplicable, "no kubeadm failed".into()));
    }
}
