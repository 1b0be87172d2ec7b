//! What failed joins have left in etcd.

use std::collections::BTreeMap;

use super::judge::settled_members;
use crate::cluster::Cluster;
use crate::event::{Event, Member};
use crate::expect::Residues;
use crate::observe::Record;
use crate::spec::Residue;
use crate::step::World;
use crate::sys::clock::Stamp;

/// Of the nodes whose join failed since then; why it cannot be told, where no voter answers.
pub(super) async fn read(cluster: &Cluster, record: &Record, since: Stamp) -> Residues {
    let failed = |ends: &[crate::observe::KubeadmEnd]| ends.iter().any(|end| end.join && end.at >= since && end.code != Some(0));
    let nodes: Vec<&String> = record.story.ends.iter().filter(|(_, ends)| failed(ends)).map(|(node, _)| node).collect();
    if nodes.is_empty() {
        return Residues::new();
    }
    let members = settled_members(cluster).await;
    let address = |name: &str| cluster.nodes.iter().find(|node| node.name == name).map(|node| node.address.to_string());
    let of = |node: &str| match (&members, address(node)) {
        (Ok(members), Some(address)) => Ok(left_by(members, node, &address)),
        (Ok(_), None) => Err(format!("{node} is gone")),
        (Err(why), _) => Err(why.clone()),
    };
    nodes.into_iter().map(|node| (node.clone(), of(node))).collect()
}

/// Tells of each, with what repairs it.
pub(super) fn tell(residues: &Residues, world: &World) {
    for (node, residue) in residues {
        let text = match residue {
            Ok(Residue::None) => format!("kubeadm failed on {node} and has left nothing in etcd"),
            Ok(residue) => format!("kubeadm failed on {node} and has left {}: {}", words(*residue), repair(*residue)),
            Err(why) => format!("kubeadm failed on {node}; what it has left in etcd cannot be told: {why}"),
        };
        world.events.tell(Event::Note { text });
    }
}

/// A member belongs to a node by its name, or by its address before it has one.
fn left_by(members: &[Member], node: &str, address: &str) -> Residue {
    let hosts = [address, node].map(|host| format!("//{host}:"));
    let there = |url: &String| hosts.iter().any(|host| url.contains(host));
    let own = members.iter().find(|member| member.name == node || member.peer_urls.iter().any(there));
    match own {
        None => Residue::None,
        Some(member) if !member.learner => Residue::Voter,
        Some(member) if member.started() => Residue::NamedLearner,
        Some(_) => Residue::UnnamedLearner,
    }
}

fn words(residue: Residue) -> &'static str {
    match residue {
        Residue::None => "nothing",
        Residue::UnnamedLearner => "an unnamed learner",
        Residue::NamedLearner => "a named learner",
        Residue::Voter => "a voter",
    }
}

fn repair(residue: Residue) -> &'static str {
    match residue {
        Residue::None => "join again",
        // seen with 1.36.3: reset finds its configuration by the Node object, which is not there yet, and removes no member then
        Residue::UnnamedLearner => {
            "`kubeadm reset` there and a join from the same address, which takes it over, or `etcdctl member remove`; until then \
             no other node can join"
        }
        Residue::NamedLearner => "`kubeadm reset` there, or `etcdctl member remove`; until then no other node can join",
        Residue::Voter => "it counts for the quorum: `kubeadm reset` there, then join again",
    }
}

/// Are all of them so? `None` where one cannot be told.
pub(super) fn all_are(residues: &BTreeMap<String, Result<Residue, String>>, wanted: Residue) -> Option<bool> {
    if residues.is_empty() {
        return Some(false);
    }
    let known: Option<Vec<Residue>> = residues.values().map(|residue| residue.as_ref().ok().copied()).collect();
    known.map(|all| all.iter().all(|residue| *residue == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MemberId;

    #[test]
    fn a_member_is_known_by_name_or_by_address() {
        let member = |name: &str, address: &str, learner| Member {
            id: MemberId(1),
            name: name.into(),
            peer_urls: vec![format!("https://{address}:2380")],
            learner,
        };
        let first = member("cp-1", "10.0.0.2", false);
        for (second, left) in [
            (None, Residue::None),
            (Some(member("", "10.0.0.3", true)), Residue::UnnamedLearner),
            (Some(member("", "10.0.0.33", true)), Residue::None),
            (Some(member("cp-2", "10.0.0.3", true)), Residue::NamedLearner),
            (Some(member("cp-2", "10.0.0.3", false)), Residue::Voter),
        ] {
            let members: Vec<Member> = std::iter::once(first.clone()).chain(second.clone()).collect();
            assert_eq!(left_by(&members, "cp-2", "10.0.0.3"), left, "{second:?}");
        }
    }
}
