//! I8: a joiner's `--initial-cluster` is the member list at its add. Judged at the join alone: later writers of the manifest may say
//! otherwise, and etcd does not read it again.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{End, Rule, Shown};
use super::view::{View, is_at, names};
use crate::event::{Event, Member, MemberId, Notice, Told};

/// So many joins are told one by one.
const MOST: usize = 12;

/// So many members' first lists are kept.
const ADDS: usize = 64;

/// The list in which each member was seen first, and manifests whose member is in no list yet.
#[derive(Default)]
pub(super) struct InitialCluster {
    adds: BTreeMap<MemberId, Add>,
    open: Vec<Manifest>,
    equal: Vec<String>,
    more: usize,
    unsure: Option<String>,
    evidence: Vec<u64>,
}

struct Add {
    list: Vec<Member>,
    seq: u64,
    /// Was it the only new one?
    alone: bool,
}

struct Manifest {
    node: String,
    entries: Vec<String>,
    seq: u64,
}

impl Rule for InitialCluster {
    fn hear(&mut self, told: &Told, view: &View) -> Option<Shown> {
        if let Event::Noticed { node, notice: Notice::InitialCluster { entries }, .. } = &told.event
            && view.nodes.get(node).is_some_and(|node| node.joining)
        {
            self.open.push(Manifest { node: node.clone(), entries: entries.clone(), seq: told.seq });
        }
        if let Event::Etcd { sample, .. } = &told.event
            && let Some(list) = &sample.members
        {
            self.keep(list, told.seq);
        }
        self.look(view)
    }

    fn end(&self, view: &View) -> End {
        match (self.equal.is_empty(), &self.unsure, self.open.first()) {
            (_, Some(why), _) => End::Unseen(why.clone()),
            (_, None, Some(open)) => End::Unseen(format!("no list was seen with the member that {} announced", open.node)),
            (true, None, None) => view.no_join().unwrap_or_else(|| End::Unseen("no join was seen to write etcd's manifest".into())),
            (false, None, None) => {
                let more = if self.more > 0 { format!(", and {} more", self.more) } else { String::new() };
                End::Held(Shown::new(format!("equal for {}{more}", self.equal.join(", ")), self.evidence.clone()))
            }
        }
    }
}

impl InitialCluster {
    fn keep(&mut self, list: &[Member], seq: u64) {
        let new: Vec<MemberId> = list.iter().map(|member| member.id).filter(|id| !self.adds.contains_key(id)).collect();
        for id in &new {
            self.adds.insert(*id, Add { list: list.to_vec(), seq, alone: new.len() == 1 });
        }
        while self.adds.len() > ADDS {
            let oldest = self.adds.iter().min_by_key(|(_, add)| add.seq).map(|(id, _)| *id);
            oldest.and_then(|id| self.adds.remove(&id));
        }
    }

    fn look(&mut self, view: &View) -> Option<Shown> {
        let mut open = Vec::new();
        for manifest in std::mem::take(&mut self.open) {
            let address = view.nodes.get(&manifest.node).and_then(|node| node.address);
            let own = |member: &&Member| address.is_some_and(|address| is_at(member, address));
            let list = view.latest();
            let add = list.and_then(|list| self.adds.get(&list.value.iter().find(own)?.id));
            let (Some(add), Some(list)) = (add, list) else {
                open.push(manifest);
                continue;
            };
            // a repeated join finds its entry there, and takes the list of that moment
            let own = address.map(|address| address.to_string());
            let wrong = |list: &[Member]| check(&manifest, list, own.as_deref());
            let wrong = wrong(&add.list).filter(|_| wrong(&list.value).is_some());
            let shows = [manifest.seq, add.seq];
            match wrong {
                None if self.equal.len() < MOST => {
                    self.equal.push(manifest.node);
                    self.evidence.extend(shows);
                }
                None => self.more += 1,
                Some(_) if !add.alone => {
                    self.unsure = Some(format!("several members came between two looks, one of them that of {}", manifest.node));
                }
                Some(why) => return Some(Shown::new(format!("etcd.yaml of {}: {why}", manifest.node), shows)),
            }
        }
        self.open = open;
        None
    }
}

/// What is wrong with a manifest beside a list.
fn check(manifest: &Manifest, list: &[Member], own: Option<&str>) -> Option<String> {
    let parts: Vec<(&str, &str)> = manifest.entries.iter().map(|entry| entry.split_once('=').unwrap_or(("", entry))).collect();
    let said = manifest.entries.join(",");
    let names_said: BTreeSet<&str> = parts.iter().map(|(name, _)| *name).collect();
    if names_said.contains("") || names_said.len() != parts.len() {
        return Some(format!("not each entry of {said} has a name of its own"));
    }
    let named = |(name, url): &(&str, &str)| own.is_none_or(|own| !url.contains(&format!("//{own}:")) || *name == manifest.node);
    if !parts.iter().all(named) {
        return Some(format!("its own entry in {said} has another name"));
    }
    let urls: BTreeSet<&str> = parts.iter().map(|(_, url)| *url).collect();
    let listed: BTreeSet<&str> = list.iter().flat_map(|member| member.peer_urls.iter().map(String::as_str)).collect();
    (urls != listed).then(|| format!("it says {said}, and the list at its add holds {}", names(list)))
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::InitialCluster;

    fn joining() -> Tale {
        Tale::new(3).looks(1, &[1, 2]).kubeadm(3, "join")
    }

    fn judged(entries: &[&str]) -> (Verdict, String) {
        joining().manifest(3, entries).wait(30).adds_to(1, &[1, 2], 3).judged(ONE)
    }

    #[test]
    fn one_entry_too_few_or_a_name_twice_breaks_it() {
        let [one, two, three] = ["cp-1=https://10.0.0.1:2380", "cp-2=https://10.0.0.2:2380", "cp-3=https://10.0.0.3:2380"];
        assert_eq!(judged(&[one, two, three]), (Verdict::Pass, "equal for cp-3".into()));
        assert_eq!(judged(&["1bcb=https://10.0.0.1:2380", two, three]).0, Verdict::Pass, "any name stands in for another's");
        let (verdict, saw) = judged(&[two, three]);
        assert_eq!(verdict, Verdict::Fail);
        assert_eq!(saw, format!("etcd.yaml of cp-3: it says {two},{three}, and the list at its add holds cp-1, cp-2, 3 (learner)"));
        assert_eq!(judged(&[one, two, "=https://10.0.0.3:2380"]).0, Verdict::Fail);
        assert_eq!(judged(&[one, two, "cp-2=https://10.0.0.3:2380"]).0, Verdict::Fail);
        assert_eq!(judged(&[one, two, "x=https://10.0.0.3:2380"]).0, Verdict::Fail, "not its own name");
    }

    #[test]
    fn without_a_join_or_with_two_at_once_nothing_is_judged() {
        let upgrade = Tale::of_three().manifest(3, &["cp-3=https://10.0.0.3:2380"]).looks(1, &[1, 2, 3]);
        assert_eq!(upgrade.judged(ONE).0, Verdict::NotApplicable, "no kubeadm runs");
        let two = Tale::new(3).looks(1, &[1]).kubeadm(2, "join").kubeadm(3, "join");
        let two = two.manifest(3, &["cp-1=https://10.0.0.1:2380", "cp-3=https://10.0.0.3:2380"]).learners(1, &[2, 3]);
        assert_eq!(two.judged(ONE).0, Verdict::Undecided);
        assert_eq!(joining().manifest(3, &["cp-3=https://10.0.0.3:2380"]).judged(ONE).0, Verdict::Undecided, "no list since");
    }
}
