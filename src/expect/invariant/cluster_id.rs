//! I1: all members that run have one cluster id, also those that are in nobody's list.

use std::collections::BTreeSet;

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, MemberId, Told};

/// The first id that was told, by whom, and who has told it since.
#[derive(Default)]
pub(super) struct OneCluster {
    first: Option<(MemberId, String, u64)>,
    members: BTreeSet<MemberId>,
    last: u64,
}

impl Rule for OneCluster {
    fn hear(&mut self, told: &Told, _: &View) -> Option<Shown> {
        if let Event::KubeadmStarted { argv, .. } = &told.event
            && argv.get(1).is_some_and(|command| command == "init")
        {
            // a new cluster, in place of one that was reset
            *self = Self::default();
        }
        let Event::Etcd { node, sample } = &told.event else { return None };
        let status = sample.status.as_ref().filter(|status| status.cluster != MemberId(0))?;
        let (id, who, seq) = self.first.get_or_insert_with(|| (status.cluster, node.clone(), told.seq));
        if *id != status.cluster {
            let saw = format!("{node} is in cluster {}, {who} in {id}", status.cluster);
            return Some(Shown::new(saw, [*seq, told.seq]));
        }
        self.members.insert(status.id);
        self.last = told.seq;
        None
    }

    fn end(&self, _: &View) -> End {
        match &self.first {
            Some((id, _, seq)) => End::Held(Shown::new(format!("{id}, of {} members", self.members.len()), [*seq, self.last])),
            None => End::Unseen("no member told its cluster's id".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    const ONE: Invariant = Invariant::OneCluster;

    #[test]
    fn a_member_of_another_cluster_breaks_it_though_no_list_holds_it() {
        let tale = || Tale::of_three();
        let broken = tale().cluster(3, 0xbad).looks(3, &[3]).judged(ONE);
        assert_eq!((broken.0, broken.1.as_str()), (Verdict::Fail, "cp-3 is in cluster bad, cp-1 in c1"));
    }

    #[test]
    fn a_reset_and_a_new_init_make_another_one() {
        let tale = Tale::of_three().down(1).down(2).down(3).kubeadm(1, "init").cluster(1, 0xbad).looks(1, &[1]);
        assert_eq!(tale.judged(ONE).0, Verdict::Pass);
        assert_eq!(Tale::new(1).judged(ONE).0, Verdict::Undecided, "nobody told");
    }
}
