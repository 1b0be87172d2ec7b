//! I3: no member is without a name for long after its join has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Member, MemberId, Told};
use crate::sys::clock::{Stamp, human};

/// The kubelet may still be at it when kubeadm has ended: a container takes seconds to start.
const WITHIN: Duration = Duration::from_secs(10);

/// Members without a name, since when, and the event that showed it first.
#[derive(Default)]
pub(super) struct Started {
    nameless: BTreeMap<MemberId, (Stamp, u64)>,
    most: usize,
    last: Option<u64>,
}

impl Rule for Started {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        let Event::Etcd { sample, .. } = &told.event else { return None };
        let list = view.latest().filter(|_| sample.members.is_some())?;
        self.most = self.most.max(list.value.len());
        self.last = Some(list.seq);
        self.nameless.retain(|id, _| list.value.iter().any(|member| member.id == *id && !member.started()));
        for member in list.value.iter().filter(|member| !member.started()) {
            let (first, seq) = *self.nameless.entry(member.id).or_insert((sample.seen, told.seq));
            let (who, waits, since) = clock(member, first, view);
            let age = sample.seen.since(since);
            if !waits && age >= WITHIN {
                let saw = format!("member {} of {who} is without a name, and no join of it has run for {}", member.id, human(age));
                return Some(Shown::new(saw, [seq, told.seq]));
            }
        }
        None
    }

    fn end(&self, _: &View) -> End {
        match (self.last, self.nameless.iter().next()) {
            (None, _) => End::Unseen("no voter gave its list".into()),
            (Some(_), Some((id, _))) => End::Unseen(format!("member {id} was without a name at the end, for less than {}", human(WITHIN))),
            (Some(last), None) => End::Held(Shown::new(format!("all of up to {} members have names", self.most), [last])),
        }
    }
}

/// Whose member it is, whether its join still runs, and since when there is none.
fn clock(member: &Member, first: Stamp, view: &View) -> (String, bool, Stamp) {
    let later = |joined: Option<Stamp>| joined.map_or(first, |joined| joined.max(first));
    if let Some((name, node)) = view.node_of(member).and_then(|name| Some((name, view.nodes.get(name)?))) {
        if !view.has_kubeadm {
            return (name.to_owned(), node.etcd_runs.is_none(), later(node.etcd_runs));
        }
        return (name.to_owned(), node.joining, later(node.joined));
    }
    let joined = view.nodes.values().filter_map(|node| node.joined).max();
    (member.peer_urls.join(" "), view.nodes.values().any(|node| node.joining), later(joined))
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::Started;

    fn joining() -> Tale {
        Tale::new(2).looks(1, &[1]).kubeadm(2, "join").adds(1, 2)
    }

    #[test]
    fn a_member_that_never_starts_breaks_it_after_its_join() {
        let tale = joining().wait(60_000).adds(1, 2);
        assert_eq!(tale.clone().judged(ONE).0, Verdict::Undecided, "its join goes on");
        let tale = tale.ends(2, Some(1), Some("etcd-join: timed out")).wait(9_000).adds(1, 2);
        assert_eq!(tale.clone().judged(ONE).0, Verdict::Undecided, "there is time yet");
        let (verdict, saw) = tale.wait(1_500).adds(1, 2).judged(ONE);
        assert_eq!((verdict, saw.as_str()), (Verdict::Fail, "member 2 of cp-2 is without a name, and no join of it has run for 10.5s"));
    }

    #[test]
    fn in_an_etcd_alone_the_clock_begins_with_the_process() {
        let added = || Tale::new(2).looks(1, &[1]).adds(1, 2).wait(60_000).adds(1, 2);
        assert_eq!(added().judged(ONE).0, Verdict::Undecided, "the workflow has not started it yet");
        let runs = added().runs(2).wait(9_000).adds(1, 2);
        assert_eq!(runs.clone().judged(ONE).0, Verdict::Undecided, "there is time yet");
        assert_eq!(runs.wait(1_500).adds(1, 2).judged(ONE).0, Verdict::Fail);
    }

    #[test]
    fn one_that_starts_late_or_is_removed_does_not() {
        let late = joining().ends(2, Some(0), None).wait(9_900).adds(1, 2).wait(50).looks(1, &[1, 2]).wait(20_000).looks(1, &[1, 2]);
        assert_eq!(late.judged(ONE).0, Verdict::Pass);
        let removed = joining().ends(2, Some(1), None).wait(9_900).looks(1, &[1]).wait(9_900).looks(1, &[1]);
        assert_eq!(removed.judged(ONE).0, Verdict::Pass);
        assert_eq!(Tale::new(1).judged(ONE).0, Verdict::Undecided);
    }
}
