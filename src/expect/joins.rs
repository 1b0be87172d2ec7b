//! `joins`: how the joins of a step ended, by kubeadm's own words.

use std::collections::BTreeMap;

use super::window::Window;
use crate::event::{Judgement, Verdict};
use crate::observe::{KubeadmEnd, Record};
use crate::spec::{JoinEnd, Joins, Pick, Residue};

/// What joins have left in etcd, by node; why it is not known.
pub type Residues = BTreeMap<String, Result<Residue, String>>;

/// Judges the joins that ended in the step; `name_of` finds a node's name.
pub fn joins(wanted: &Joins, record: &Record, window: Window, residues: &Residues, name_of: impl Fn(&Pick) -> String) -> Judgement {
    let words = describe(wanted);
    let mut ends: BTreeMap<&str, Vec<&KubeadmEnd>> = BTreeMap::new();
    for (node, all) in &record.story.ends {
        let here: Vec<&KubeadmEnd> = all.iter().filter(|end| end.join && window.holds(end.at)).collect();
        if !here.is_empty() {
            ends.insert(node, here);
        }
    }
    let fail: BTreeMap<String, &JoinEnd> = match wanted {
        Joins::Ok(_) | Joins::Oracle => BTreeMap::new(),
        Joins::These(these) => these.iter().map(|(pick, end)| (name_of(pick), end)).collect(),
    };
    let mut verdicts: Vec<Verdict> = fail.keys().filter(|node| !ends.contains_key(node.as_str())).map(|_| Verdict::Undecided).collect();
    let mut saw: Vec<String> = fail
        .keys()
        .filter(|node| !ends.contains_key(node.as_str()))
        .map(|node| format!("{node}: no kubeadm join was seen to end"))
        .collect();
    for (node, ends) in &ends {
        let wanted = fail.get(*node);
        let (verdict, said) = one(wanted.map(|end| end.fails.as_str()), ends);
        verdicts.push(verdict);
        saw.push(format!("{node}: {said}"));
        if let Some(wanted) = wanted.and_then(|end| end.residue) {
            let joined = ends.iter().all(|end| end.code == Some(0));
            let (verdict, said) = if joined { (Verdict::Fail, "none, as it joined".to_owned()) } else { left(wanted, residues.get(*node)) };
            verdicts.push(verdict);
            saw.push(format!("residue of {node}: {said}"));
        }
    }
    let verdict = verdicts.into_iter().max().unwrap_or(Verdict::Undecided);
    if saw.is_empty() {
        saw.push("no kubeadm join was seen to end".into());
    }
    let evidence = ends.values().flatten().map(|end| end.seq).collect();
    Judgement { name: "joins".into(), verdict, wanted: words, saw: saw.join("; "), evidence }
}

pub(super) fn left(wanted: Residue, seen: Option<&Result<Residue, String>>) -> (Verdict, String) {
    match seen {
        Some(Ok(seen)) => (if *seen == wanted { Verdict::Pass } else { Verdict::Fail }, seen.as_str().to_owned()),
        Some(Err(why)) => (Verdict::Undecided, format!("not known: {why}")),
        None => (Verdict::Undecided, "nobody looked".into()),
    }
}

fn one(fails: Option<&str>, ends: &[&KubeadmEnd]) -> (Verdict, String) {
    let failed = ends.iter().find(|end| end.code != Some(0));
    let said = match failed {
        None => "joined".to_owned(),
        Some(KubeadmEnd { error: Some(error), .. }) => error.clone(),
        Some(KubeadmEnd { code: Some(code), .. }) => format!("exit code {code} without a word"),
        Some(_) => "nobody saw how it ended".to_owned(),
    };
    let verdict = match (failed, fails) {
        (None, None) => Verdict::Pass,
        (Some(KubeadmEnd { code: None, error: None, .. }), _) => Verdict::Undecided,
        (Some(_), Some(text)) if said.contains(text) => Verdict::Pass,
        (Some(_), None | Some(_)) | (None, Some(_)) => Verdict::Fail,
    };
    (verdict, said)
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &Joins) -> String {
    match wanted {
        Joins::Ok(_) => "all succeed".into(),
        Joins::Oracle => "as the oracle predicts".into(),
        Joins::These(these) => {
            let each = these.iter().map(|(node, end)| {
                format!(
                    "{node} fails with {:?}{}",
                    end.fails,
                    end.residue.map(|r| format!(" and leaves {}", r.as_str())).unwrap_or_default()
                )
            });
            format!("{}, all others succeed", each.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::spec::AllOk;
    use crate::sys::clock::Stamp;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn judged(wanted: &Joins, ends: &[(&str, Option<i32>, Option<&str>)]) -> Judgement {
        let mut record = Record::default();
        let end = |join, s, code, error: Option<&str>| KubeadmEnd {
            join,
            at: at(s),
            code,
            error: error.map(str::to_owned),
            took: Duration::ZERO,
            seq: s,
        };
        // before the step, and no join: neither counts
        record.story.ends.entry("cp-1".into()).or_default().extend([end(true, 1, Some(1), None), end(false, 12, Some(1), None)]);
        for (node, code, error) in ends {
            record.story.ends.entry((*node).to_owned()).or_default().push(end(true, 15, *code, *error));
        }
        joins(wanted, &record, Window { from: at(10), to: at(20) }, &Residues::new(), |pick| pick.to_string().replace("cp", "cp-"))
    }

    const FULL: &str = "error execution phase etcd-join: etcdserver: too many learner members in cluster";

    #[test]
    fn all_succeed_or_one_does_not() {
        let ok = Joins::Ok(AllOk::Ok);
        assert_eq!(judged(&ok, &[("cp-2", Some(0), None), ("cp-3", Some(0), None)]).verdict, Verdict::Pass);
        let failed = judged(&ok, &[("cp-2", Some(0), None), ("cp-3", Some(1), Some(FULL))]);
        assert_eq!(failed.verdict, Verdict::Fail);
        assert_eq!(failed.saw, format!("cp-2: joined; cp-3: {FULL}"));
    }

    #[test]
    fn the_one_that_is_named_must_fail_in_just_that_way() {
        let third = |text: &str| Joins::These(vec![(Pick::ControlPlane(3), JoinEnd { fails: text.into(), residue: None })]);
        let ends: &[_] = &[("cp-2", Some(0), None), ("cp-3", Some(1), Some(FULL))];
        assert_eq!(judged(&third("too many learner"), ends).verdict, Verdict::Pass);
        assert_eq!(judged(&third("unhealthy cluster"), ends).verdict, Verdict::Fail);
        assert_eq!(judged(&third("too many learner"), &[("cp-3", Some(0), None)]).verdict, Verdict::Fail, "it joined");
        assert_eq!(judged(&third("x"), &[("cp-2", Some(0), None)]).verdict, Verdict::Undecided, "nobody saw it");
        let both: &[_] = &[("cp-2", Some(1), Some("x")), ("cp-3", Some(1), Some(FULL))];
        assert_eq!(judged(&third("too many learner"), both).verdict, Verdict::Fail, "another one failed too");
    }

    #[test]
    fn what_is_left_must_be_just_that_and_must_be_seen() {
        let mut record = Record::default();
        let end = KubeadmEnd { join: true, at: at(15), code: Some(1), error: Some(FULL.into()), took: Duration::ZERO, seq: 1 };
        record.story.ends.insert("cp-3".into(), vec![end]);
        let wanted = JoinEnd { fails: "too many".into(), residue: Some(Residue::UnnamedLearner) };
        let wanted = Joins::These(vec![(Pick::ControlPlane(3), wanted)]);
        for (seen, verdict) in [
            (Some(Ok(Residue::UnnamedLearner)), Verdict::Pass),
            (Some(Ok(Residue::None)), Verdict::Fail),
            (Some(Err("no voter answers".to_owned())), Verdict::Undecided),
            (None, Verdict::Undecided),
        ] {
            let residues: Residues = seen.clone().map(|seen| ("cp-3".to_owned(), seen)).into_iter().collect();
            let window = Window { from: at(10), to: at(20) };
            assert_eq!(joins(&wanted, &record, window, &residues, |_| "cp-3".into()).verdict, verdict, "{seen:?}");
        }
    }

    #[test]
    fn a_lost_agent_and_no_join_at_all_decide_nothing() {
        assert_eq!(judged(&Joins::Ok(AllOk::Ok), &[("cp-2", None, None)]).verdict, Verdict::Undecided);
        assert_eq!(judged(&Joins::Ok(AllOk::Ok), &[]).verdict, Verdict::Undecided);
    }
}
