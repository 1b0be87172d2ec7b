//! What was seen of a cluster, as a prediction needs it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::advice::{Reply, Situation};
use super::super::policy::EtcdPolicy;
use super::before::{Before, Limits, Own};
use crate::event::{Member, MemberStatus};

/// Who joins, and how.
#[derive(Clone, Debug)]
pub struct Joining {
    /// The control planes.
    pub nodes: Vec<String>,
    /// All at once, or one after the other?
    pub at_once: bool,
    /// kubeadm's own limits.
    pub limits: Limits,
    /// What each node's member said last, however long ago.
    pub last: BTreeMap<String, MemberStatus>,
}

/// What the joins meet.
///
/// # Errors
/// What could not be seen, or is not as any rule knows it.
pub fn before(seen: &Situation, joining: &Joining) -> Result<Before, String> {
    let voters = seen.voters();
    let down = down(seen)?;
    let quorum = (voters - down) * 2 > voters;
    match &seen.settled {
        _ if voters == 0 => return Err("nobody gives a member list".into()),
        Err(why) if quorum => return Err(format!("most voters answer, and none gives a list: {why}")),
        Ok(()) if !quorum => return Err("a list came with quorum, though most voters do not answer".into()),
        Ok(()) | Err(_) => {}
    }
    let versions: BTreeSet<&str> = seen.answering().map(|(.., status)| status.version.as_str()).collect();
    let etcd = match versions.iter().collect::<Vec<_>>()[..] {
        [one] => (*one).to_owned(),
        [] => return Err("no voter tells its version".into()),
        _ => return Err(format!("voters run several versions of etcd: {}", versions.into_iter().collect::<Vec<_>>().join(", "))),
    };
    let errors = || seen.answering().flat_map(|(.., status)| &status.errors);
    if let Some(corrupt) = errors().find(|error| error.contains("CORRUPT")) {
        return Err(format!("no rule is about {corrupt}"));
    }
    let (mut own, mut stale) = (Own::Nothing, 0);
    for member in &seen.list {
        let node = seen.node_of(member);
        match node.filter(|asked| joining.nodes.contains(&asked.node)) {
            Some(_) if joining.nodes.len() > 1 => return Err(format!("several join, and {} is in the list already", member.label())),
            Some(asked) => own = of_joiner(seen, member, joining.last.get(&asked.node)),
            None if member.learner && node.is_some_and(|asked| asked.kubeadm_runs) => {
                return Err(format!("{} learns, and its kubeadm is at it", member.label()));
            }
            None => stale += usize::from(member.learner),
        }
    }
    Ok(Before {
        kubeadm: seen.kubeadm.clone(),
        limit: if stale == 0 { 1 } else { limit(seen, &etcd)? },
        etcd,
        voters,
        down,
        stale,
        own,
        no_space: errors().any(|error| error.contains("NOSPACE")),
        joiners: joining.nodes.len(),
        at_once: joining.at_once,
        limits: joining.limits,
    })
}

/// How many voters do not answer.
fn down(seen: &Situation) -> Result<usize, String> {
    let mut down = 0;
    for voter in seen.list.iter().filter(|member| !member.learner) {
        match seen.reply_of(voter) {
            Some(Reply::Status(_)) => {}
            Some(Reply::Silent(_)) | None => down += 1,
            Some(Reply::Unseen(why)) => return Err(format!("whether {} answers could not be seen: {why}", voter.label())),
        }
    }
    Ok(down)
}

/// The lowest flag decides, since each member judges by its own.
fn limit(seen: &Situation, etcd: &str) -> Result<usize, String> {
    if !EtcdPolicy::of(etcd)?.limits_learners_by_flag() {
        return Ok(1);
    }
    let flags: Result<Vec<usize>, String> = seen.answering().map(|(_, asked, _)| asked.max_learners.clone()).collect();
    flags?.into_iter().min().ok_or_else(|| "no voter answers".to_owned())
}

fn of_joiner(seen: &Situation, member: &Member, last: Option<&MemberStatus>) -> Own {
    if member.learner && !member.started() {
        return Own::Unstarted;
    }
    let last = last.filter(|last| last.id == member.id);
    let now = |what: fn(&MemberStatus) -> u64| seen.answering().map(|(.., status)| what(status)).max();
    let (term, index) = (now(|status| status.term), now(|status| status.index));
    let followed = last.zip(term).map(|(last, term)| last.term == term);
    // between the two it depends on what is written until kubeadm asks for the promotion
    let in_sync = last.zip(index).and_then(|(last, index)| match last.index * 100 {
        had if had >= index * 95 => Some(true),
        had if had < index * 90 => Some(false),
        _ => None,
    });
    Own::Wiped { learner: member.learner, followed, in_sync }
}

#[cfg(test)]
mod tests {
    use super::super::super::advice::Asked;
    use super::*;
    use crate::event::MemberId;

    fn status(id: u64, term: u64, index: u64) -> MemberStatus {
        MemberStatus { id: MemberId(id), leader: MemberId(1), term, index, version: "3.6.16".into(), ..MemberStatus::default() }
    }

    /// `n` voters that answer, and the node cp-9 that joins.
    fn cluster(n: u64) -> Situation {
        let asked = |id: u64, reply| Asked {
            node: format!("cp-{id}"),
            address: format!("10.0.0.{id}"),
            reply,
            max_learners: Ok(1),
            kubeadm_runs: false,
            held: None,
        };
        let mut nodes: Vec<Asked> = (1..=n).map(|id| asked(id, Reply::Status(Box::new(status(id, 3, 1000))))).collect();
        nodes.push(asked(9, Reply::Silent("refused".into())));
        let list = (1..=n).map(|id| member(id, false, true)).collect();
        Situation { kubeadm: "v1.36.3".into(), list, settled: Ok(()), nodes }
    }

    fn member(id: u64, learner: bool, started: bool) -> Member {
        let name = if started { format!("cp-{id}") } else { String::new() };
        Member { id: MemberId(id), name, peer_urls: vec![format!("https://10.0.0.{id}:2380")], learner }
    }

    fn joining(nodes: &[&str]) -> Joining {
        let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        Joining { nodes, at_once: true, limits: Limits::default(), last: BTreeMap::new() }
    }

    #[test]
    fn voters_are_down_when_they_are_silent_and_unknown_when_nobody_could_ask() {
        let mut seen = cluster(3);
        seen.nodes[2].reply = Reply::Silent("refused".into());
        let found = before(&seen, &joining(&["cp-9"])).expect("seen");
        assert_eq!((found.voters, found.down, found.own, found.etcd.as_str()), (3, 1, Own::Nothing, "3.6.16"));
        seen.nodes[2].reply = Reply::Unseen("lost".into());
        assert!(before(&seen, &joining(&["cp-9"])).is_err_and(|why| why.contains("cp-3 answers could not be seen")));
    }

    #[test]
    fn what_does_not_fit_together_is_no_ground_for_a_prediction() {
        let mut torn = cluster(3);
        torn.settled = Err("timeout".into());
        assert!(before(&torn, &joining(&["cp-9"])).is_err_and(|why| why.contains("most voters answer")));
        let mut mixed = cluster(3);
        if let Reply::Status(status) = &mut mixed.nodes[1].reply {
            status.version = "3.5.16".into();
        }
        assert!(before(&mixed, &joining(&["cp-9"])).is_err_and(|why| why.contains("3.5.16, 3.6.16")));
        let mut corrupt = cluster(1);
        if let Reply::Status(status) = &mut corrupt.nodes[0].reply {
            status.errors = vec!["memberID:1 alarm:CORRUPT ".into()];
        }
        assert!(before(&corrupt, &joining(&["cp-9"])).is_err());
        let mut full = cluster(1);
        if let Reply::Status(status) = &mut full.nodes[0].reply {
            status.errors = vec!["memberID:1 alarm:NOSPACE ".into()];
        }
        assert!(before(&full, &joining(&["cp-9"])).is_ok_and(|found| found.no_space));
    }

    #[test]
    fn learners_are_the_joiners_own_or_stale_or_somebodys_who_is_at_it() {
        let mut seen = cluster(1);
        seen.list.push(member(9, true, false));
        assert_eq!(before(&seen, &joining(&["cp-9"])).map(|found| (found.own, found.stale)), Ok((Own::Unstarted, 0)));
        assert_eq!(before(&seen, &joining(&["cp-8"])).map(|found| (found.own, found.stale, found.limit)), Ok((Own::Nothing, 1, 1)));
        assert!(before(&seen, &joining(&["cp-8", "cp-9"])).is_err());
        seen.nodes[1].kubeadm_runs = true;
        assert!(before(&seen, &joining(&["cp-8"])).is_err_and(|why| why.contains("kubeadm is at it")));
    }

    #[test]
    fn an_old_member_is_known_to_the_leader_of_its_own_term() {
        let mut seen = cluster(3);
        seen.list.push(member(9, true, true));
        let wiped = |followed, in_sync| Own::Wiped { learner: true, followed, in_sync };
        for (last, own) in [
            (None, wiped(None, None)),
            (Some(status(9, 3, 960)), wiped(Some(true), Some(true))),
            (Some(status(9, 3, 930)), wiped(Some(true), None)),
            (Some(status(9, 2, 500)), wiped(Some(false), Some(false))),
            (Some(status(77, 3, 960)), wiped(None, None)),
        ] {
            let mut joining = joining(&["cp-9"]);
            joining.last = last.clone().map(|last| ("cp-9".to_owned(), last)).into_iter().collect();
            assert_eq!(before(&seen, &joining).map(|found| found.own), Ok(own), "{last:?}");
        }
    }
}
