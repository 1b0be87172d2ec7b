//! What advice on the next join needs to know: the record, and what is asked of the nodes now.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::observer::Observer;
use super::record::Record;
use crate::agent::{Call, Said};
use crate::event::{EtcdSample, Member, MemberId};
use crate::kubeadm::advice::{Advice, Asked, Held, Reply, Situation, advise};
use crate::node::{Node, Role};
use crate::sys::clock::{Stamp, human};

/// One question.
const ASK: Duration = Duration::from_secs(3);
/// Each second at least a sample is told; an older one says nothing of now.
const STALE: Duration = Duration::from_secs(3);

/// Says etcd's command line, one word a line, whether kubeadm runs, and kubeadm's version.
const FACTS: &str = r#"for process in /proc/[0-9]*; do
  read -r name < "$process/comm" || continue
  case $name in
    etcd) tr '\0' '\n' < "$process/cmdline" | sed 's/^/etcd /' ;;
    kubeadm) echo kubeadm ;;
  esac
done 2>/dev/null
echo "version $(kubeadm version -o short)""#;

/// May the next control plane join now, by what is seen and the versions that run? `absent` are control planes whose containers do
/// not run, each with its state.
pub async fn advice(nodes: &[Arc<Node>], absent: &[(String, String)], observer: &Observer) -> Advice {
    advise(&seen(nodes, absent, observer).await)
}

/// What a join would meet.
pub(super) async fn seen(nodes: &[Arc<Node>], absent: &[(String, String)], observer: &Observer) -> Situation {
    let control_planes: Vec<&Arc<Node>> = nodes.iter().filter(|node| node.role == Role::ControlPlane).collect();
    let (settled, facts) = tokio::join!(settled(&control_planes), join_all(control_planes.iter().map(|node| facts(node))));
    observer.look(|record| situation(record, Stamp::now(), &control_planes, absent, settled, &facts))
}

/// What one node says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    max_learners: Result<usize, String>,
    kubeadm_runs: bool,
    kubeadm: Option<String>,
}

async fn facts(node: &Node) -> Facts {
    match node.script(FACTS, &[], ASK).await {
        Ok(said) => read(&said),
        Err(e) => Facts { max_learners: Err(e.to_string()), kubeadm_runs: false, kubeadm: None },
    }
}

fn read(said: &str) -> Facts {
    let words: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("etcd ")).collect();
    let flag = words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.trim_start_matches('-').strip_prefix("max-learners")?;
        rest.strip_prefix('=').or_else(|| words.get(at + 1).copied())
    });
    let max_learners = match flag {
        _ if words.is_empty() => Err("no etcd runs there".to_owned()),
        None => Ok(1),
        Some(number) => number.parse().map_err(|_| format!("--max-learners is {number:?}")),
    };
    Facts {
        max_learners,
        kubeadm_runs: said.lines().any(|line| line == "kubeadm"),
        kubeadm: said.lines().find_map(|line| line.strip_prefix("version ")).map(str::to_owned).filter(|version| !version.is_empty()),
    }
}

/// The settled list of the first member that gives one.
async fn settled(nodes: &[&Arc<Node>]) -> Result<Vec<Member>, String> {
    let ask = async |node: &Node| match node.agent().ask(Call::Members { etcd: node.etcd() }, ASK).await {
        Ok(Said::Members { members }) => Ok(members),
        Ok(other) => Err(format!("{}: {other:?}", node.name)),
        Err(e) => Err(e.to_string()),
    };
    let mut why = Vec::new();
    for answer in join_all(nodes.iter().map(|node| ask(node))).await {
        match answer {
            Ok(members) => return Ok(members),
            Err(said) => why.push(said),
        }
    }
    Err(if why.is_empty() { "there is no control plane".into() } else { why.join("; ") })
}

fn situation(
    record: &Record,
    now: Stamp,
    nodes: &[&Arc<Node>],
    absent: &[(String, String)],
    settled: Result<Vec<Member>, String>,
    facts: &[Facts],
) -> Situation {
    let asked = nodes.iter().zip(facts).map(|(node, facts)| Asked {
        node: node.name.clone(),
        address: node.address.to_string(),
        reply: reply(record.last(&node.name), record.lost(&node.name), now),
        max_learners: facts.max_learners.clone(),
        kubeadm_runs: facts.kubeadm_runs,
        held: record.last(&node.name).and_then(|sample| held(record, sample, now)),
    });
    let down = absent.iter().map(|(name, state)| Asked {
        node: name.clone(),
        address: String::new(),
        reply: Reply::Silent(format!("its container is {state}")),
        max_learners: Err(format!("its container is {state}")),
        kubeadm_runs: false,
        held: None,
    });
    let list = settled.as_ref().ok().or_else(|| record.newest_list()).cloned().unwrap_or_default();
    let all: Vec<Asked> = asked.chain(down).collect();
    // who joins next is a node without a member, if there is one; its kubeadm is the one that counts
    let stranger = nodes.iter().position(|node| !list.iter().any(|member| member.name == node.name));
    let kubeadm = stranger.and_then(|at| facts.get(at)?.kubeadm.clone()).or_else(|| facts.iter().find_map(|facts| facts.kubeadm.clone()));
    Situation { kubeadm: kubeadm.unwrap_or_default(), list, settled: settled.map(drop), nodes: all }
}

fn reply(sample: Option<&EtcdSample>, lost: Option<&str>, now: Stamp) -> Reply {
    let Some(sample) = sample.filter(|_| lost.is_none()) else {
        return Reply::Unseen(lost.unwrap_or("nobody has looked yet").to_owned());
    };
    let age = now.since(sample.seen);
    match &sample.status {
        _ if age > STALE => Reply::Unseen(format!("nothing was heard of it for {}", human(age))),
        Some(status) => Reply::Status(Box::new(status.clone())),
        None => Reply::Silent(sample.error.clone().unwrap_or_default()),
    }
}

/// The connections of the member that a sample is of.
fn held(record: &Record, sample: &EtcdSample, now: Stamp) -> Option<BTreeMap<MemberId, Held>> {
    let id = sample.status.as_ref()?.id;
    let held = record.held(id)?.iter().map(|(peer, since)| (*peer, Held { at_least: now.since(since.at), begin_seen: since.begin_seen }));
    Some(held.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EtcdMetrics, MemberStatus};

    #[test]
    fn a_nodes_facts_are_read_and_nonsense_is_told() {
        let line = "etcd etcd\netcd --name=cp-1\netcd --max-learners=3\nversion v1.36.3\n";
        assert_eq!(read(line), Facts { max_learners: Ok(3), kubeadm_runs: false, kubeadm: Some("v1.36.3".into()) });
        let apart = read("kubeadm\netcd etcd\netcd --max-learners\netcd 2\nversion \n");
        assert_eq!(apart, Facts { max_learners: Ok(2), kubeadm_runs: true, kubeadm: None });
        assert_eq!(read("etcd etcd\n").max_learners, Ok(1));
        assert_eq!(read("").max_learners, Err("no etcd runs there".into()));
        assert!(read("etcd --max-learners=many\n").max_learners.is_err());
    }

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn sample(s: u64, id: Option<u64>) -> EtcdSample {
        let status = id.map(|id| MemberStatus { id: MemberId(id), ..MemberStatus::default() });
        let error = status.is_none().then(|| "refused".to_owned());
        EtcdSample { seen: at(s), members: None, status, error, gap_ms: None, looks: 1, missed: 0 }
    }

    #[test]
    fn what_is_old_or_lost_says_nothing_of_now() {
        let (up, down) = (sample(10, Some(1)), sample(10, None));
        assert!(matches!(reply(Some(&up), None, at(12)), Reply::Status(_)));
        assert_eq!(reply(Some(&down), None, at(12)), Reply::Silent("refused".into()));
        assert_eq!(reply(Some(&up), None, at(20)), Reply::Unseen("nothing was heard of it for 10.0s".into()));
        assert_eq!(reply(Some(&up), Some("lost"), at(10)), Reply::Unseen("lost".into()));
        assert!(matches!(reply(None, None, at(10)), Reply::Unseen(_)));
    }

    #[test]
    fn connections_count_from_when_they_were_seen_and_anew_behind_silence() {
        let mut record = Record::default();
        let see = |record: &mut Record, s, peers: &[u64]| {
            let metrics = EtcdMetrics { active_peers: peers.iter().map(|id| MemberId(*id)).collect(), ..EtcdMetrics::default() };
            record.metrics(s, "cp-1", at(s), Some(&metrics));
        };
        let own = sample(1, Some(1));
        record.sample(1, "cp-1", &own);
        assert_eq!(held(&record, &own, at(1)), None, "nobody has seen its metrics");
        see(&mut record, 2, &[2]);
        see(&mut record, 5, &[2, 3]);
        let of = |record: &Record, s: u64, peer| held(record, &own, at(s)).and_then(|held| held.get(&MemberId(peer)).copied());
        assert_eq!(of(&record, 9, 2), Some(Held { at_least: Duration::from_secs(7), begin_seen: false }));
        assert_eq!(of(&record, 9, 3), Some(Held { at_least: Duration::from_secs(4), begin_seen: true }));
        see(&mut record, 10, &[3]);
        see(&mut record, 11, &[2, 3]);
        assert_eq!(of(&record, 12, 2), Some(Held { at_least: Duration::from_secs(1), begin_seen: true }));
        record.sample(12, "cp-1", &sample(12, None));
        assert_eq!(held(&record, &own, at(12)), None);
    }
}
