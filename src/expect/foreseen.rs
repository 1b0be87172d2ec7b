//! `joins: oracle`: what joins came to, held against what was predicted before they ran.

use std::collections::BTreeMap;
use std::time::Duration;

use super::joins::{Residues, left};
use super::window::Window;
use crate::event::{Judgement, Verdict};
use crate::observe::{Foresight, KubeadmEnd, Record};
use crate::sys::clock::human;

/// kubeadm's waits and our clock may differ by this much.
const UNSURE: Duration = Duration::from_secs(1);

/// Judges the joins that ended in the step.
pub fn foreseen(foresight: &Result<Foresight, String>, record: &Record, window: Window, residues: &Residues) -> Judgement {
    let judgement = |verdict, wanted, saw, evidence| Judgement { name: "joins".into(), verdict, wanted, saw, evidence };
    let foresight = match foresight {
        Ok(foresight) => foresight,
        Err(why) => {
            return judgement(Verdict::Undecided, "as the oracle predicts".into(), format!("it predicts nothing: {why}"), Vec::new());
        }
    };
    let wanted = format!("as the oracle predicts of {}: {}", foresight.before, foresight.prediction);
    let mut ends: BTreeMap<&str, Vec<&KubeadmEnd>> = BTreeMap::new();
    for (node, all) in &record.story.ends {
        ends.insert(node, all.iter().filter(|end| end.join && window.holds(end.at)).collect());
    }
    let noise = record.measures.noise(window.from, window.to).is_some();
    let (mut verdicts, mut saw) = (Vec::new(), Vec::new());
    let mut succeeded = 0;
    for node in &foresight.nodes {
        let ends = ends.get(node.as_str()).map_or(&[][..], Vec::as_slice);
        let said = one(foresight, ends, noise);
        succeeded += usize::from(said.succeeded);
        verdicts.push(said.verdict);
        saw.push(format!("{node}: {}", said.saw));
        let wanted = foresight.prediction.fails.as_ref().and_then(|fails| fails.residue);
        if let (Some(wanted), false) = (wanted, said.succeeded || ends.is_empty()) {
            let (verdict, left) = left(wanted, residues.get(node));
            verdicts.push(verdict);
            saw.push(format!("residue of {node}: {left}"));
        }
    }
    let (least, most) = foresight.prediction.succeed;
    if !(least..=most).contains(&succeeded) {
        // whoever was not seen may be the one that is missing
        let unseen = verdicts.contains(&Verdict::Undecided);
        verdicts.push(if unseen { Verdict::Undecided } else { Verdict::Fail });
    }
    let others = ends.iter().filter(|(node, _)| !foresight.nodes.iter().any(|own| own == *node));
    for (node, ends) in others.filter(|(_, ends)| ends.iter().any(|end| end.code != Some(0))) {
        // without a quorum nothing can join
        verdicts.push(if foresight.prediction.fails.as_ref().is_some_and(|f| f.residue.is_none()) { Verdict::Pass } else { Verdict::Fail });
        let error = ends.iter().find_map(|end| end.error.as_deref());
        saw.push(format!("{node}: {}", error.unwrap_or("failed without a word")));
    }
    let verdict = verdicts.into_iter().max().unwrap_or(Verdict::Undecided);
    let evidence = ends.values().flatten().map(|end| end.seq).collect();
    judgement(verdict, wanted, saw.join("; "), evidence)
}

/// What one node's join came to.
struct Said {
    succeeded: bool,
    verdict: Verdict,
    saw: String,
}

fn one(foresight: &Foresight, ends: &[&KubeadmEnd], noise: bool) -> Said {
    let took: Duration = ends.iter().map(|end| end.took).sum();
    let undecided = |saw: &str| Said { succeeded: false, verdict: Verdict::Undecided, saw: saw.to_owned() };
    if ends.is_empty() {
        return undecided("no kubeadm join was seen to end");
    }
    let (right, bounds, words) = match ends.iter().find(|end| end.code != Some(0)) {
        None => (true, foresight.prediction.took, "joined".to_owned()),
        Some(KubeadmEnd { code: None, error: None, .. }) => return undecided("nobody saw how it ended"),
        Some(end) => {
            let words = end.error.clone().unwrap_or_else(|| "failed without a word".into());
            let Some(fails) = &foresight.prediction.fails else {
                return Said { succeeded: false, verdict: Verdict::Fail, saw: format!("{words}, in {}", human(took)) };
            };
            (fails.texts.iter().any(|text| words.contains(text)), fails.took, words)
        }
    };
    let succeeded = ends.iter().all(|end| end.code == Some(0));
    let mut saw = format!("{words}, in {}", human(took));
    let verdict = if !right {
        Verdict::Fail
    } else if took + UNSURE < bounds.least {
        saw += ": too soon";
        Verdict::Fail
    } else if took > bounds.most {
        saw += if noise { ": too late, or there was too much noise" } else { ": too late" };
        if noise { Verdict::Undecided } else { Verdict::Fail }
    } else {
        Verdict::Pass
    };
    Said { succeeded, verdict, saw }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeadm::oracle::{Before, Limits, Own, predict};
    use crate::spec::Residue;
    use crate::sys::clock::Stamp;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn before(voters: usize, down: usize) -> Before {
        let limits = Limits { etcd_api_call: Duration::from_secs(20), ..Limits::default() };
        let (kubeadm, etcd) = ("v1.36.3".into(), "3.6.16".into());
        let own = Own::Nothing;
        Before { kubeadm, etcd, voters, down, stale: 0, limit: 1, own, no_space: false, joiners: 1, at_once: true, limits }
    }

    fn foresight(before: Before) -> Foresight {
        let prediction = predict(&before).expect("a prediction");
        let nodes = (0..before.joiners).map(|n| format!("cp-{}", n + 7)).collect();
        Foresight { nodes, before, prediction }
    }

    /// Node, exit code, error, seconds.
    type End<'a> = (&'a str, Option<i32>, Option<&'a str>, u64);

    fn judged(foresight: &Foresight, ends: &[End<'_>], residue: Option<Residue>) -> Judgement {
        let mut record = Record::default();
        for (node, code, error, took) in ends {
            let took = Duration::from_secs(*took);
            let end = KubeadmEnd { join: true, at: at(15), code: *code, error: error.map(str::to_owned), took, seq: 1 };
            record.story.ends.entry((*node).to_owned()).or_default().push(end);
        }
        let residues = residue.map(|residue| ("cp-7".to_owned(), Ok(residue))).into_iter().collect();
        foreseen(&Ok(foresight.clone()), &record, Window { from: at(10), to: at(20) }, &residues)
    }

    const UNHEALTHY: &str = "error execution phase etcd-join: etcdserver: unhealthy cluster";

    #[test]
    fn a_join_that_ends_otherwise_than_predicted_fails_the_step() {
        let refused = foresight(before(3, 1));
        for (ends, residue, verdict) in [
            (&[("cp-7", Some(1), Some(UNHEALTHY), 50)][..], Some(Residue::None), Verdict::Pass),
            (&[("cp-7", Some(1), Some(UNHEALTHY), 50)], Some(Residue::Voter), Verdict::Fail),
            (&[("cp-7", Some(1), Some(UNHEALTHY), 50)], None, Verdict::Undecided),
            (&[("cp-7", Some(1), Some("too many learner members"), 50)], Some(Residue::None), Verdict::Fail),
            (&[("cp-7", Some(1), Some(UNHEALTHY), 30)], Some(Residue::None), Verdict::Fail),
            (&[("cp-7", Some(1), Some(UNHEALTHY), 3000)], Some(Residue::None), Verdict::Fail),
            (&[("cp-7", Some(0), None, 50)], None, Verdict::Fail),
            (&[("cp-7", None, None, 50)], Some(Residue::None), Verdict::Undecided),
            (&[], None, Verdict::Undecided),
        ] {
            let judgement = judged(&refused, ends, residue);
            assert_eq!(judgement.verdict, verdict, "{ends:?} {residue:?}: {}", judgement.saw);
        }
        let said = judged(&refused, &[("cp-7", Some(0), None, 50)], None);
        assert!(said.wanted.contains("3 voters, 1 down: fails with \"unhealthy cluster\""), "{}", said.wanted);
        assert_eq!(said.saw, "cp-7: joined, in 50.0s");
    }

    #[test]
    fn a_join_that_should_succeed_must_and_not_too_soon() {
        let fine = foresight(before(5, 1));
        assert_eq!(judged(&fine, &[("cp-7", Some(0), None, 45)], None).verdict, Verdict::Pass);
        assert_eq!(judged(&fine, &[("cp-7", Some(0), None, 10)], None).verdict, Verdict::Fail, "each that is down costs its time");
        assert_eq!(judged(&fine, &[("cp-7", Some(1), Some(UNHEALTHY), 45)], Some(Residue::None)).verdict, Verdict::Fail);
    }

    #[test]
    fn of_several_just_so_many_may_fail_and_nobody_else() {
        let limits = Limits { etcd_api_call: Duration::from_secs(7), ..Limits::default() };
        let queue = foresight(Before { joiners: 3, limits, ..before(1, 0) });
        let ok = |node| (node, Some(0), None, 20);
        let full = |node| (node, Some(1), Some("etcdserver: too many learner members in cluster"), 20);
        let none = Some(Residue::None);
        assert_eq!(judged(&queue, &[full("cp-7"), ok("cp-8"), ok("cp-9")], none).verdict, Verdict::Pass);
        assert_eq!(judged(&queue, &[ok("cp-7"), ok("cp-8"), ok("cp-9")], None).verdict, Verdict::Fail, "all is more than fit");
        let worker = [full("cp-7"), ok("cp-8"), ok("cp-9"), ("worker-1", Some(1), Some("x"), 5)];
        assert_eq!(judged(&queue, &worker, none).verdict, Verdict::Fail, "nobody said that the worker would fail");
        assert_eq!(judged(&queue, &[ok("cp-7"), ok("cp-8")], None).verdict, Verdict::Undecided, "nobody saw the third");
    }

    #[test]
    fn without_a_prediction_nothing_is_decided() {
        let none = Err("nobody has looked into kubeadm v1.35.6".to_owned());
        let said = foreseen(&none, &Record::default(), Window { from: at(10), to: at(20) }, &Residues::new());
        assert_eq!((said.verdict, said.saw.as_str()), (Verdict::Undecided, "it predicts nothing: nobody has looked into kubeadm v1.35.6"));
    }
}
