//! What failed joins have left in etcd.

use std::collections::BTreeMap;

use super::judge::settled_members;
use crate::cluster::Cluster;
use crate::event::Event;
use crate::expect::Residues;
use crate::observe::Record;
use crate::spec::Residue;
use crate::step::{World, left_by};
use crate::sys::clock::Stamp;

/// The nodes whose join failed since then.
pub(super) fn failed(record: &Record, since: Stamp) -> Vec<&String> {
    let failed = |ends: &[crate::observe::KubeadmEnd]| ends.iter().any(|end| end.join && end.at >= since && end.code != Some(0));
    record.story.ends.iter().filter(|(_, ends)| failed(ends)).map(|(node, _)| node).collect()
}

/// Of the nodes whose join failed since then; why it cannot be told, where no voter answers.
pub(super) async fn read(cluster: &Cluster, record: &Record, since: Stamp) -> Residues {
    let nodes = failed(record, since);
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
        // seen with 1.36.3: a reset alone leaves it without its data, and etcd promotes it by what its leader remembers
        Residue::NamedLearner => {
            "`etcdctl member remove`, and `kubeadm reset` there, as the step `repair` does; until then no other node can join"
        }
        Residue::Voter => {
            "it counts for the quorum: `etcdctl member remove`, and then `kubeadm reset` there, as the step `repair` does; then join again"
        }
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
