//! I7: what kubeadm says of a join is so. One that ended well has given a started voter of that name, which serves; one that failed
//! leaves something that has a name, for which there is a way to go on.

use std::time::Duration;

use super::rule::{End, Rule, Shown};
use super::view::{Held, View, is_at};
use crate::event::{Event, Member, Told, Work};
use crate::sys::clock::{Stamp, human};

/// kubeadm itself has waited for it; the looks need their time.
const WITHIN: Duration = Duration::from_secs(10);
/// What a failed join leaves is read so long after it.
const RESIDUE: Duration = Duration::from_secs(1);
/// So many joins are told one by one.
const MOST: usize = 12;

/// Joins that ended.
#[derive(Default)]
pub(super) struct Truthful {
    open: Vec<Claim>,
    seen: Vec<String>,
    more: usize,
    evidence: Vec<u64>,
}

/// What kubeadm says of a join.
struct Claim {
    node: String,
    joined: bool,
    at: Stamp,
    seq: u64,
}

/// What a look at a claim shows.
enum Look {
    True(String, Vec<u64>),
    False(String, Vec<u64>),
    NotYet,
}

impl Rule for Truthful {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        let claim = |node: &String, joined| Claim { node: node.clone(), joined, at: told.at, seq: told.seq };
        let has_member = |node: &String| view.nodes.get(node).is_some_and(|node| node.has_member);
        if let Event::Worked { work: Work::Join, on, .. } = &told.event
            && has_member(on)
        {
            self.open.push(claim(on, true));
            return self.look(view);
        }
        // the view has heard it already
        let of_a_join = |node: &String| has_member(node) && view.nodes.get(node).is_some_and(|node| node.joined == Some(told.at));
        if let Event::KubeadmFinished { node, code, .. } = &told.event
            && *code != Some(0)
            && of_a_join(node)
        {
            self.open.push(claim(node, false));
        }
        // whoever is made anew or taken out owes nothing any more
        if let Event::KubeadmStarted { node, .. } = &told.event {
            self.open.retain(|claim| claim.node != *node);
        }
        if let Event::Etcd { .. } = &told.event {
            return self.look(view);
        }
        None
    }

    fn end(&self, view: &View) -> End {
        // Of a failed join the last lists are what can be known.
        let last = view.nodes.values().filter_map(|node| node.list.as_ref()).max_by_key(|list| list.last);
        let mut seen = self.seen.clone();
        let mut evidence = self.evidence.clone();
        for claim in &self.open {
            match last.filter(|list| !claim.joined && list.last >= claim.at).map(|list| residue(claim, list, view)) {
                Some(Look::True(saw, shows)) => {
                    seen.push(saw);
                    evidence.extend(shows);
                }
                Some(Look::False(saw, shows)) => return End::Broken(Shown::new(saw, shows)),
                Some(Look::NotYet) | None => {
                    return End::Unseen(format!("nobody could look at {} after its join", claim.node));
                }
            }
        }
        if seen.is_empty() {
            return view.no_join().unwrap_or_else(|| End::Unseen("no control plane's join ended".into()));
        }
        let more = if self.more > 0 { format!("; and {} more", self.more) } else { String::new() };
        End::Held(Shown::new(seen.join("; ") + &more, evidence))
    }
}

impl Truthful {
    fn look(&mut self, view: &View) -> Option<Shown> {
        let mut open = Vec::new();
        for claim in std::mem::take(&mut self.open) {
            match if claim.joined { joined(&claim, view) } else { failed(&claim, view) } {
                Look::True(saw, shows) if self.seen.len() < MOST => {
                    self.seen.push(saw);
                    self.evidence.extend(shows);
                }
                Look::True(..) => self.more += 1,
                Look::False(saw, shows) => return Some(Shown::new(saw, shows)),
                Look::NotYet => open.push(claim),
            }
        }
        self.open = open;
        None
    }
}

fn joined(claim: &Claim, view: &View) -> Look {
    let node = view.nodes.get(&claim.node);
    let own = node.and_then(|node| view.fresh(node.status.as_ref())).filter(|status| !status.value.learner);
    let entry = view.latest().and_then(|list| Some((list, list.value.iter().find(|member| member.name == claim.node)?)));
    match (own, entry) {
        (Some(own), Some((list, member))) if !member.learner && member.id == own.value.id => {
            Look::True(format!("{} joined, and is a voter that serves", claim.node), vec![claim.seq, list.seq, own.seq])
        }
        (own, entry) if view.now.since(claim.at) >= WITHIN => {
            let listed = match entry {
                None => "no list holds a member of that name",
                Some((_, member)) if member.learner => "the list has a learner of that name",
                Some(_) => "the list has a voter of that name",
            };
            let serves = if own.is_some() { "its member answers as a voter" } else { "its member does not answer as a voter" };
            let saw = format!("kubeadm join of {} ended well, and {} later {listed}, and {serves}", claim.node, human(WITHIN));
            Look::False(saw, [Some(claim.seq), entry.map(|(list, _)| list.seq)].into_iter().flatten().collect())
        }
        _ => Look::NotYet,
    }
}

fn failed(claim: &Claim, view: &View) -> Look {
    match view.latest() {
        Some(list) if list.last.since(claim.at) >= RESIDUE => residue(claim, list, view),
        Some(_) | None => Look::NotYet,
    }
}

/// What a failed join has left in the list.
fn residue(claim: &Claim, list: &Held<Vec<Member>>, view: &View) -> Look {
    let node = &claim.node;
    let address = view.nodes.get(node).and_then(|node| node.address);
    let own = |member: &&Member| member.name == *node || address.is_some_and(|address| is_at(member, address));
    let shows = vec![claim.seq, list.seq];
    let what = match list.value.iter().find(own) {
        None => "no member",
        Some(member) if member.learner && member.started() => "a learner with a name",
        Some(member) if member.learner => "a learner without a name",
        Some(member) if member.started() => "a voter",
        Some(_) => {
            let saw = format!("the join of {node} failed and left a voter without a name: quorum counts on it, and nobody runs it");
            return Look::False(saw, shows);
        }
    };
    Look::True(format!("{node} failed to join, and left {what}"), shows)
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::Truthful;

    fn joining() -> Tale {
        Tale::new(2).looks(1, &[1]).down(2).kubeadm(2, "join").adds(1, 2)
    }

    #[test]
    fn a_join_that_ended_well_must_have_given_a_voter_that_serves() {
        let voter = joining().looks(1, &[1, 2]).looks(2, &[1, 2]).ends(2, Some(0), None).joined(2).wait(50).looks(1, &[1, 2]);
        assert_eq!(voter.judged(ONE), (Verdict::Pass, "cp-2 joined, and is a voter that serves".into()));
        let late = joining().ends(2, Some(0), None).joined(2).wait(9_800).looks(1, &[1, 2]).looks(2, &[1, 2]);
        assert_eq!(late.judged(ONE).0, Verdict::Pass);
        // kubeadm saw a voter, and its process crash-loops
        let dead = joining().looks(1, &[1, 2]).ends(2, Some(0), None).joined(2);
        assert_eq!(dead.clone().judged(ONE).0, Verdict::Undecided, "it may come yet");
        let (verdict, saw) = dead.wait(10_100).looks(1, &[1, 2]).judged(ONE);
        assert_eq!(verdict, Verdict::Fail);
        assert!(saw.ends_with("the list has a voter of that name, and its member does not answer as a voter"), "{saw}");
    }

    #[test]
    fn a_failed_join_leaves_what_has_a_name() {
        let failed = |tale: Tale| tale.wait(10).ends(2, Some(1), Some("etcd-join: x")).wait(1_100);
        for (tale, what) in [
            (failed(joining()).looks(1, &[1]), "no member"),
            (failed(joining()).adds(1, 2), "a learner without a name"),
            (failed(joining()).learners(1, &[2]), "a learner without a name"),
            (failed(joining()).looks(1, &[1, 2]), "a voter"),
        ] {
            assert_eq!(tale.judged(ONE), (Verdict::Pass, format!("cp-2 failed to join, and left {what}")));
        }
        assert_eq!(failed(joining()).nameless_voter(1, 2).judged(ONE).0, Verdict::Fail);
        assert_eq!(failed(joining()).judged(ONE).0, Verdict::Undecided, "nobody looked since");
        let nobody = Tale::new(2).kubeadm(1, "init").looks(1, &[1]).judged(ONE);
        assert_eq!(nobody, (Verdict::NotApplicable, "nobody joined".into()));
    }
}
