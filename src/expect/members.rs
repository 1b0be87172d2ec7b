//! `members`: what the settled member list holds.

use std::collections::BTreeSet;

use crate::event::{Judgement, Member, Verdict};
use crate::spec::{Compare, Members};

/// Judges one settled list, or its absence. `Fail` means "not yet" while there is time left.
pub fn members(wanted: &Members, seen: Result<&[Member], &str>) -> Judgement {
    let name = "members".to_owned();
    let words = describe_wanted(wanted);
    let list = match seen {
        Ok(list) => list,
        Err(why) => {
            let saw = format!("no voter answered: {why}");
            return Judgement { name, verdict: Verdict::Undecided, wanted: words, saw, evidence: Vec::new() };
        }
    };
    let voters = list.iter().filter(|m| !m.learner).count();
    let learners = list.len() - voters;
    let started = list.iter().filter(|m| m.started()).count();
    let names: BTreeSet<&str> = list.iter().map(|m| m.name.as_str()).collect();
    let is = |wanted: Option<Compare<usize>>, seen: usize| wanted.is_none_or(|w| w.holds(seen));
    let holds = is(wanted.voters, voters)
        && is(wanted.learners, learners)
        && is(wanted.started, started)
        && wanted.names.as_ref().is_none_or(|all| all.iter().map(String::as_str).collect::<BTreeSet<_>>() == names);
    let verdict = if holds { Verdict::Pass } else { Verdict::Fail };
    Judgement { name, verdict, wanted: words, saw: describe_seen(list, voters, learners, started), evidence: Vec::new() }
}

pub(super) fn describe_wanted(wanted: &Members) -> String {
    let count = |what: &str, n: Option<Compare<usize>>| n.map(|n| format!("{what} {n}"));
    let names = wanted.names.as_ref().map(|n| format!("names {}", n.join(" ")));
    let parts = [count("voters", wanted.voters), count("learners", wanted.learners), count("started", wanted.started), names];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn describe_seen(list: &[Member], voters: usize, learners: usize, started: usize) -> String {
    let each = list.iter().map(|m| {
        let kind = if m.learner { "learner" } else { "voter" };
        let state = if m.started() { "" } else { ", not started" };
        format!("{} ({kind}{state})", m.label())
    });
    format!("voters {voters}, learners {learners}, started {started}: {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MemberId;

    #[expect(clippy::unnecessary_wraps, reason = "as the field has it")]
    fn is(count: usize) -> Option<Compare<usize>> {
        Some(Compare::just(count))
    }

    fn list() -> Vec<Member> {
        let member = |id, name: &str, learner| Member { id: MemberId(id), name: name.into(), peer_urls: vec![], learner };
        vec![member(1, "cp-1", false), member(2, "cp-2", false), member(3, "", true)]
    }

    fn verdict(wanted: &Members) -> Verdict {
        members(wanted, Ok(&list())).verdict
    }

    #[test]
    fn each_part_can_hold_and_break() {
        let all = Members { voters: is(2), learners: is(1), started: is(2), ..Members::default() };
        assert_eq!(verdict(&all), Verdict::Pass);
        assert_eq!(verdict(&Members { voters: is(3), ..all.clone() }), Verdict::Fail);
        assert_eq!(verdict(&Members { learners: is(0), ..all.clone() }), Verdict::Fail);
        assert_eq!(verdict(&Members { started: is(3), ..all.clone() }), Verdict::Fail);
        let names = |names: &[&str]| Members { names: Some(names.iter().map(|n| (*n).to_owned()).collect()), ..Members::default() };
        assert_eq!(verdict(&names(&["cp-2", "cp-1", ""])), Verdict::Pass);
        assert_eq!(verdict(&names(&["cp-1", "cp-2"])), Verdict::Fail);
    }

    #[test]
    fn says_who_is_there_and_not_seen_is_not_passed() {
        let judged = members(&Members { voters: is(9), ..Members::default() }, Ok(&list()));
        assert_eq!(judged.saw, "voters 2, learners 1, started 2: cp-1 (voter), cp-2 (voter), 3 (learner, not started)");
        assert_eq!(members(&Members::default(), Err("down")).verdict, Verdict::Undecided);
    }
}
