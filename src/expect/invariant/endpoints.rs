//! I9: kubeadm asks started voters only. Seen where a proxy stands between it and etcd.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::{View, address_of};
use crate::event::{EtcdCall, Event, Told};
use crate::sys::clock::Stamp;

/// A promotion is seen so long after it at most, and so is a removal known to whoever asked at that moment.
const SPREAD: Duration = Duration::from_secs(2);
/// Kinds of calls that are counted apart.
const METHODS: usize = 20;
/// Asking a learner how it is, is what its joiner has to do.
const OF_ANYBODY: &str = "Status";

/// Who is a voter, who was one, and calls whose endpoint may yet turn out to be one.
#[derive(Default)]
pub(super) struct Endpoints {
    voters: BTreeMap<Ipv4Addr, Stamp>,
    former: BTreeMap<Ipv4Addr, Stamp>,
    open: Vec<(String, EtcdCall, u64)>,
    /// How often each call was made.
    calls: BTreeMap<String, u64>,
    last: u64,
}

impl Rule for Endpoints {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        if let Event::Proxied { node, call } = &told.event {
            // whoever calls what etcd does not know must not fill the memory
            let method = if self.calls.len() < METHODS || self.calls.contains_key(&call.method) { &call.method } else { "others" };
            *self.calls.entry(method.to_owned()).or_default() += 1;
            self.last = told.seq;
            if call.method != OF_ANYBODY && !self.voters.is_empty() && self.stranger(call) {
                self.open.push((node.clone(), call.clone(), told.seq));
            }
        }
        let Event::Etcd { .. } = &told.event else { return None };
        self.keep(view);
        self.settle(view.now)
    }

    fn end(&self, view: &View) -> End {
        let calls: Vec<String> = self.calls.iter().map(|(method, times)| format!("{times} {method}")).collect();
        match (calls.is_empty(), self.open.first()) {
            (true, _) if !view.has_kubeadm => End::Idle("no kubeadm runs here".into()),
            (true, _) => End::Unseen("no proxy saw kubeadm's calls".into()),
            (_, Some((node, call, _))) => End::Unseen(format!("it was too late to see what {} is, which {node} asked", call.endpoint)),
            (false, None) => {
                let all: u64 = self.calls.values().sum();
                let saw = format!("kubeadm's calls to etcd, {all}: {}; all but Status to started voters", calls.join(", "));
                End::Held(Shown::new(saw, [self.last]))
            }
        }
    }
}

impl Endpoints {
    fn keep(&mut self, view: &View) {
        let Some(list) = view.latest() else { return };
        let voters = list.value.iter().filter(|member| !member.learner && member.started());
        let now: Vec<Ipv4Addr> = voters.flat_map(|member| member.peer_urls.iter().filter_map(|url| address_of(url))).collect();
        for address in &now {
            self.voters.entry(*address).or_insert(list.since);
        }
        let (gone, here) = std::mem::take(&mut self.voters).into_iter().partition(|(address, _)| !now.contains(address));
        self.voters = here;
        self.former.extend(BTreeMap::<Ipv4Addr, Stamp>::into_keys(gone).map(|address| (address, view.now)));
    }

    /// Is it neither a voter nor one that was a voter just now?
    fn stranger(&self, call: &EtcdCall) -> bool {
        let Some(address) = address_of(&call.endpoint) else { return true };
        let voter = self.voters.get(&address).is_some_and(|since| since.since(call.ended) <= SPREAD);
        let was = self.former.get(&address).is_some_and(|until| call.began.since(*until) <= SPREAD);
        !voter && !was
    }

    fn settle(&mut self, now: Stamp) -> Option<Shown> {
        let open = std::mem::take(&mut self.open);
        let (strange, cleared): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, call, _)| self.stranger(call));
        drop(cleared);
        let due = strange.iter().find(|(_, call, _)| now.since(call.ended) > SPREAD);
        let shown = due.map(|(node, call, seq)| {
            let saw = format!("kubeadm of {node} sent {} to {}, which is no started voter's", call.method, call.endpoint);
            Shown::new(saw, [*seq])
        });
        self.open = strange;
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::Endpoints;

    fn tale() -> Tale {
        Tale::new(3).looks(1, &[1, 2]).kubeadm(3, "join").learners_of(1, &[1, 2], &[3])
    }

    #[test]
    fn a_call_to_a_learner_breaks_it() {
        let asked = tale().proxied(3, "MemberList", 2).proxied(3, "Status", 3);
        assert_eq!(
            asked.clone().judged(ONE),
            (Verdict::Pass, "kubeadm's calls to etcd, 2: 1 MemberList, 1 Status; all but Status to started voters".into())
        );
        let broken = asked.proxied(3, "MemberList", 3).wait(2_500).learners_of(1, &[1, 2], &[3]);
        let (verdict, saw) = broken.judged(ONE);
        assert_eq!(
            (verdict, saw.as_str()),
            (Verdict::Fail, "kubeadm of cp-3 sent MemberList to 10.0.0.3:2379, which is no started voter's")
        );
    }

    #[test]
    fn one_that_is_seen_to_be_a_voter_just_after_does_not() {
        let late = tale().proxied(3, "Range", 3).wait(1_500).looks(1, &[1, 2, 3]).wait(3_000).looks(1, &[1, 2, 3]);
        assert_eq!(late.judged(ONE).0, Verdict::Pass);
        let removed = tale().looks(1, &[1]).wait(500).proxied(3, "MemberRemove", 2).wait(3_000).looks(1, &[1]);
        assert_eq!(removed.judged(ONE).0, Verdict::Pass, "it had been one a moment before");
        assert_eq!(tale().judged(ONE).0, Verdict::Undecided, "a proxy could have seen it");
        let alone = Tale::new(1).looks(1, &[1]).judged(ONE);
        assert_eq!(alone, (Verdict::NotApplicable, "no kubeadm runs here".into()));
        assert_eq!(tale().proxied(3, "Range", 3).judged(ONE).0, Verdict::Undecided, "it ends too early to say");
    }
}
