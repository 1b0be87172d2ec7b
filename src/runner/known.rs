//! What is known to fail: a failure in just that way is `known`, any other stays one, and so is passing where it should fail.

use super::residue;
use crate::event::{Judgement, Verdict};
use crate::expect::Residues;
use crate::spec::KnownBad;
use crate::step::World;

/// The entries of a workflow.
#[derive(Clone, Copy)]
pub(super) struct Known<'a>(pub(super) &'a [KnownBad]);

impl<'a> Known<'a> {
    /// A failure that counts, against the entries about these versions: the known failure where one is met just so, else what
    /// each of them says to it.
    pub(super) fn failed(self, world: &World, task: &str, why: &[String], residues: &Residues) -> Vec<Judgement> {
        let all: Vec<Judgement> = self.about(world).map(|entry| judge_failure(entry, task, why, residues)).collect();
        match all.iter().find(|judgement| judgement.verdict == Verdict::Known) {
            Some(known) => vec![known.clone()],
            None => all,
        }
    }

    /// A case without a failure that counts or is known.
    pub(super) fn passed(self, world: &World) -> Vec<(&'a KnownBad, Judgement)> {
        self.about(world).map(|entry| (entry, judge_pass(entry))).collect()
    }

    fn about(self, world: &World) -> impl Iterator<Item = &'a KnownBad> {
        // A binary of the user's own has no version that an entry could be about.
        let kubeadm = world.kubernetes().filter(|_| world.overrides.kubeadm.is_none());
        let etcd = world.images.etcd.as_deref().filter(|_| world.overrides.etcd.is_none());
        self.0.iter().filter(move |entry| entry.is_about(kubeadm, etcd))
    }
}

fn judge_failure(entry: &KnownBad, task: &str, why: &[String], residues: &Residues) -> Judgement {
    let same = task == entry.fails.step;
    let said = entry.fails.error.as_ref().is_none_or(|error| why.iter().any(|why| why.contains(error.as_str())));
    let left = entry.fails.residue.map_or(Some(true), |wanted| residue::all_are(residues, wanted));
    let verdict = match (same && said, left) {
        (true, Some(true)) => Verdict::Known,
        (true, None) => Verdict::Undecided,
        (false, _) | (true, Some(false)) => Verdict::Fail,
    };
    let mut saw = format!("task {task:?} failed: {}", why.join("; "));
    if entry.fails.residue.is_some() {
        let each = residues.iter().map(|(node, residue)| match residue {
            Ok(residue) => format!("{node} {}", residue.as_str()),
            Err(why) => format!("{node} not known: {why}"),
        });
        let all: Vec<String> = each.collect();
        let all = if all.is_empty() { "no join failed".to_owned() } else { all.join(", ") };
        saw = format!("{saw}; residue: {all}");
    }
    judgement(entry, verdict, saw)
}

fn judge_pass(entry: &KnownBad) -> Judgement {
    if entry.strict {
        return judgement(entry, Verdict::Fail, "it passed: take the entry out, or these versions out of it".into());
    }
    judgement(entry, Verdict::Pass, "it passed, which the entry allows".into())
}

fn judgement(entry: &KnownBad, verdict: Verdict, saw: String) -> Judgement {
    let error = entry.fails.error.as_ref().map(|error| format!(" with {error:?}")).unwrap_or_default();
    let residue = entry.fails.residue.map(|residue| format!(", residue {}", residue.as_str())).unwrap_or_default();
    let wanted = format!("task {:?} fails{error}{residue}", entry.fails.step);
    Judgement { name: format!("known bad: {}", entry.issue), verdict, wanted, saw, evidence: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Failing, Residue};

    fn entry(strict: bool) -> KnownBad {
        KnownBad {
            kubeadm: [("1.34".to_owned(), ">=1.34.4".parse().expect("a demand"))].into(),
            etcd: std::collections::BTreeMap::new(),
            issue: "kubernetes/kubeadm#3317".into(),
            fails: Failing { step: "join".into(), error: Some("can only promote".into()), residue: None },
            strict,
        }
    }

    #[test]
    fn only_the_failure_that_is_known_is_known() {
        for (task, why, verdict) in [
            ("join", "etcd: can only promote a learner", Verdict::Known),
            ("join", "timed out", Verdict::Fail),
            ("init", "can only promote", Verdict::Fail),
        ] {
            let judgement = judge_failure(&entry(true), task, &[why.to_owned()], &Residues::new());
            assert_eq!(judgement.verdict, verdict, "{task}: {why}");
        }
    }

    #[test]
    fn another_residue_is_another_failure_and_an_unseen_one_decides_nothing() {
        let mut entry = entry(true);
        entry.fails.residue = Some(Residue::Voter);
        let why = ["can only promote".to_owned()];
        for (residue, verdict) in [
            (Some(Ok(Residue::Voter)), Verdict::Known),
            (Some(Ok(Residue::UnnamedLearner)), Verdict::Fail),
            (Some(Err("nobody answers".to_owned())), Verdict::Undecided),
            (None, Verdict::Fail),
        ] {
            let residues: Residues = residue.clone().map(|residue| ("cp-2".to_owned(), residue)).into_iter().collect();
            assert_eq!(judge_failure(&entry, "join", &why, &residues).verdict, verdict, "{residue:?}");
        }
    }

    #[test]
    fn passing_where_it_should_fail_is_a_failure_unless_the_entry_allows_it() {
        assert_eq!(judge_pass(&entry(true)).verdict, Verdict::Fail);
        assert_eq!(judge_pass(&entry(false)).verdict, Verdict::Pass);
    }
}
