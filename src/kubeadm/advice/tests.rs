//! One situation a row: what is seen, and what follows by which versions.

use std::time::Duration;

use super::*;
use crate::event::{Member, MemberId, MemberStatus};

const OLD: Held = Held { at_least: Duration::from_mins(1), begin_seen: true };

/// So many voters that have been up for a minute, all of these versions.
fn cluster(voters: u64, kubeadm: &str, etcd: &str) -> Situation {
    let address = |id| format!("10.1.0.{id}");
    let member = |id: u64| Member {
        id: MemberId(id),
        name: format!("cp-{id}"),
        peer_urls: vec![format!("https://{}:2380", address(id))],
        learner: false,
    };
    let status = |id| MemberStatus { id: MemberId(id), leader: MemberId(1), term: 2, version: etcd.into(), ..MemberStatus::default() };
    let asked = |id| Asked {
        node: format!("cp-{id}"),
        address: address(id),
        reply: Reply::Status(Box::new(status(id))),
        max_learners: Ok(1),
        kubeadm_runs: false,
        held: Some((1..=voters).filter(|other| *other != id).map(|other| (MemberId(other), OLD)).collect()),
    };
    Situation {
        kubeadm: kubeadm.into(),
        list: (1..=voters).map(member).collect(),
        settled: Ok(()),
        nodes: (1..=voters).map(asked).collect(),
    }
}

impl Situation {
    /// This voter's etcd has ended.
    fn down(mut self, id: u64) -> Self {
        self.at(id).reply = Reply::Silent("127.0.0.1:2379: refused".into());
        for held in self.nodes.iter_mut().filter_map(|asked| asked.held.as_mut()) {
            held.remove(&MemberId(id));
        }
        self.at(id).held = None;
        self
    }

    fn at(&mut self, id: u64) -> &mut Asked {
        let name = format!("cp-{id}");
        self.nodes.iter_mut().find(|asked| asked.node == name).expect("a node")
    }

    /// A learner with this id; of a node of that number where there is one.
    fn learner(mut self, id: u64, name: &str, node: Option<u64>) -> Self {
        let host = node.map_or("10.9.9.9".into(), |node| format!("10.1.0.{node}"));
        self.list.push(Member { id: MemberId(id), name: name.into(), peer_urls: vec![format!("https://{host}:2380")], learner: true });
        self
    }

    /// One more control plane whose member does not answer.
    fn joining(mut self, id: u64, kubeadm_runs: bool) -> Self {
        let mut asked = self.nodes[0].clone();
        (asked.node, asked.address, asked.kubeadm_runs) = (format!("cp-{id}"), format!("10.1.0.{id}"), kubeadm_runs);
        asked.reply = Reply::Silent("no etcd certificates".into());
        asked.held = None;
        self.nodes.push(asked);
        self
    }

    fn held(mut self, by: u64, to: u64, seconds: u64, begin_seen: bool) -> Self {
        let held = Held { at_least: Duration::from_secs(seconds), begin_seen };
        self.at(by).held.get_or_insert_default().insert(MemberId(to), held);
        self
    }

    fn alarmed(mut self) -> Self {
        for asked in &mut self.nodes {
            if let Reply::Status(status) = &mut asked.reply {
                status.errors = vec!["memberID:1 alarm:NOSPACE".into()];
            }
        }
        self
    }

    fn leaderless(mut self) -> Self {
        self.settled = Err("no answer in time".into());
        for asked in &mut self.nodes {
            if let Reply::Status(status) = &mut asked.reply {
                status.leader = MemberId(0);
            }
        }
        self
    }
}

/// The answer, and the rules that keep it from being yes.
fn said(seen: &Situation) -> (Answer, Vec<&'static str>) {
    let advice = advise(seen);
    let reasons = advice.reasons().map(|finding| finding.rule).collect();
    (advice.answer, reasons)
}

const K134: &str = "v1.34.4";
const K136: &str = "v1.36.3";

#[test]
fn a_healthy_cluster_takes_the_next_one_whatever_its_size_and_version() {
    for voters in [1, 2, 3, 4, 5, 7] {
        for (kubeadm, etcd) in [(K134, "3.6.5"), (K136, "3.6.16"), ("v1.37.2", "3.7.3"), (K134, "3.5.16")] {
            assert_eq!(said(&cluster(voters, kubeadm, etcd)), (Answer::Yes, vec![]), "{voters} {kubeadm} {etcd}");
        }
    }
}

#[test]
fn voters_that_are_down_count_by_the_versions_of_kubeadm_and_etcd() {
    let no = |rules: &[&'static str]| (Answer::No, rules.to_vec());
    let yes = || (Answer::Yes, vec![]);
    for (voters, down, kubeadm, etcd, want) in [
        // both old: each voter must answer, and be connected
        (3, 1, K134, "3.6.5", no(&["health", "connected"])),
        (5, 1, K134, "3.6.5", no(&["health", "connected"])),
        // new kubeadm, old etcd: kubeadm's look passes, etcd refuses
        (3, 1, K136, "3.6.8", no(&["connected"])),
        (5, 1, K136, "3.6.10", no(&["connected"])),
        // old kubeadm, new etcd
        (5, 1, K134, "3.6.11", no(&["health"])),
        // both new: three voters with one down still refuse, 2 < 3; four and five accept, 3 >= 3 and 4 >= 4
        (3, 1, K136, "3.6.16", no(&["connected"])),
        (4, 1, K136, "3.6.16", yes()),
        (5, 1, K136, "3.6.16", yes()),
        (5, 2, K136, "3.7.3", no(&["connected"])),
        (7, 2, K136, "3.6.11", yes()),
    ] {
        let seen = (0..down).fold(cluster(voters, kubeadm, etcd), |seen, n| seen.down(voters - n));
        assert_eq!(said(&seen), want, "{down} of {voters} down, {kubeadm} {etcd}");
    }
    let slow = advise(&cluster(5, K136, "3.6.16").down(5));
    assert!(slow.rules[1].saw.contains("waits etcdAPICall, 2 minutes unless it is set"), "{}", slow.rules[1].saw);
}

#[test]
fn a_patch_that_nobody_looked_at_decides_only_where_both_rules_agree() {
    let unknown = "v1.35.6";
    assert_eq!(said(&cluster(5, unknown, "3.6.16").down(5)), (Answer::CannotTell, vec!["health"]));
    assert_eq!(said(&cluster(5, unknown, "3.6.16")).0, Answer::Yes);
    assert_eq!(said(&cluster(3, unknown, "3.6.16").alarmed()), (Answer::CannotTell, vec!["alarms"]));
}

#[test]
fn without_a_quorum_nothing_is_added() {
    let seen = cluster(3, K136, "3.6.16").down(2).down(3).leaderless();
    let (answer, rules) = said(&seen);
    assert_eq!((answer, rules[0]), (Answer::No, "quorum"));
    let why = &advise(&seen).rules[0];
    assert_eq!(why.saw, "no linearizable member list: no answer in time; 1 of 3 voters answer, and none of them knows a leader");
    let mut blind = cluster(3, K136, "3.6.16");
    blind.settled = Err("lost the agent".into());
    for asked in &mut blind.nodes {
        asked.reply = Reply::Unseen("lost the agent".into());
    }
    assert_eq!(said(&blind).0, Answer::CannotTell, "nobody could look");
}

#[test]
fn a_learner_holds_the_place_and_is_told_by_who_will_give_it_free() {
    let own = cluster(1, K136, "3.6.16");
    let at_it = own.clone().joining(2, true).learner(9, "", Some(2));
    let stale = own.clone().joining(2, false).learner(9, "cp-2", Some(2));
    let stranger = own.clone().learner(9, "", None);
    for (seen, saw, remedy) in [
        (at_it, "9 of cp-2 (not started), whose kubeadm is at it", "wait until it is promoted"),
        (stale, "cp-2 (started), whose node runs no kubeadm: nobody will promote it", "`etcdctl member remove 9`"),
        (stranger, "9 (not started), of no node of this cluster", "take it out with `etcdctl member remove 9`"),
    ] {
        assert_eq!(said(&seen), (Answer::No, vec!["learner-limit"]));
        let finding = advise(&seen).rules.remove(3);
        assert!(finding.saw.contains(saw) && finding.saw.starts_with("1 of 1 learners"), "{}", finding.saw);
        assert!(finding.remedy.as_ref().is_some_and(|words| words.contains(remedy)), "{:?}", finding.remedy);
    }
}

#[test]
fn the_lowest_flag_decides_and_before_3_6_there_is_none() {
    let with = |etcd, flags: [Result<usize, String>; 3]| {
        let mut seen = cluster(3, K136, etcd).learner(9, "", None);
        for (asked, flag) in seen.nodes.iter_mut().zip(flags) {
            asked.max_learners = flag;
        }
        said(&seen).0
    };
    assert_eq!(with("3.6.16", [Ok(3), Ok(3), Ok(2)]), Answer::Yes);
    assert_eq!(with("3.6.16", [Ok(3), Ok(3), Ok(1)]), Answer::No);
    assert_eq!(with("3.5.31", [Ok(3), Ok(3), Ok(3)]), Answer::No);
    assert_eq!(with("3.6.16", [Ok(3), Ok(3), Err("no answer".into())]), Answer::CannotTell);
}

#[test]
fn five_seconds_behind_a_promotion_or_a_restart_are_waited_for() {
    let fresh = |seconds, begin_seen| cluster(2, K136, "3.6.16").held(1, 2, seconds, begin_seen).held(2, 1, seconds, begin_seen);
    assert_eq!(said(&fresh(2, true)), (Answer::No, vec!["connected"]));
    assert!(advise(&fresh(2, true)).rules[4].saw.contains("3.0s are missing"));
    assert_eq!(said(&fresh(5, true)), (Answer::Yes, vec![]));
    assert_eq!(said(&fresh(2, false)), (Answer::CannotTell, vec!["connected"]), "it may be older");
    // with a quorum of old connections the young one does not matter
    let young = cluster(5, K136, "3.6.16");
    let young = (2..=5).fold(young, |seen, other| seen.held(1, other, if other == 5 { 1 } else { 9 }, true));
    assert_eq!(said(&young), (Answer::Yes, vec![]));
    // which voter kubeadm asks is its client's choice: the wait is short, and sure
    assert_eq!(said(&cluster(2, K136, "3.6.16").held(1, 2, 1, true)), (Answer::No, vec!["connected"]));
    let mut one_sided = cluster(3, K136, "3.6.16");
    one_sided.at(1).held = Some([(MemberId(2), OLD)].into());
    assert_eq!(said(&one_sided), (Answer::CannotTell, vec!["connected"]), "a connection that only one of the two holds");
    one_sided.at(1).held = None;
    assert_eq!(said(&one_sided).0, Answer::CannotTell, "nobody has seen what it holds");
}

#[test]
fn an_alarm_counts_for_the_newer_look_at_health_alone() {
    assert_eq!(said(&cluster(3, K134, "3.6.5").alarmed()), (Answer::Yes, vec![]));
    assert_eq!(said(&cluster(3, K136, "3.6.16").alarmed()), (Answer::No, vec!["alarms"]));
}

#[test]
fn voters_that_never_started_keep_a_learner_from_its_vote() {
    let mut seen = cluster(2, K136, "3.5.16");
    seen.list[1].name = String::new();
    let (answer, rules) = said(&seen.clone().down(2));
    assert_eq!(answer, Answer::No);
    assert!(rules.contains(&"connected") && !rules.contains(&"promotion"), "{rules:?}");
    let mut seen = cluster(4, K136, "3.6.16").down(3).down(4);
    seen.list[2].name = String::new();
    seen.list[3].name = String::new();
    assert!(advise(&seen).rules[5].answer == Answer::Yes, "2 + 1 of the 3 that are needed");
    seen.list[1].name = String::new();
    assert!(said(&seen).1.contains(&"promotion"));
}

#[test]
fn a_node_that_speaks_for_another_member_is_no_answer_of_the_one_in_the_list() {
    let mut seen = cluster(3, K134, "3.6.5");
    if let Reply::Status(status) = &mut seen.at(3).reply {
        status.id = MemberId(77);
    }
    assert_eq!(said(&seen).0, Answer::No);
}

#[test]
fn an_empty_situation_is_undecided() {
    let seen = Situation { kubeadm: "nonsense".into(), list: vec![], settled: Ok(()), nodes: vec![] };
    assert_eq!(said(&seen).0, Answer::CannotTell);
    assert!(advise(&seen).line().starts_with("cannot tell ("));
}
