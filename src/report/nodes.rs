//! What each node does and what its etcd member is. From events alone.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::event::{EtcdSample, Event, MemberId, Moment, Told, Work};
use crate::sys::clock::Stamp;

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Its container is there, containerd is not.
    Boots,
    /// It could be used.
    Up,
    /// kubeadm runs.
    Kubeadm {
        /// `init`, `join`.
        command: String,
        /// The phase it announced last.
        phase: Option<String>,
    },
    /// kubeadm ended well.
    Done {
        /// `init`, `join`.
        command: String,
    },
    /// kubeadm did not.
    Failed {
        /// `init`, `join`.
        command: String,
        /// The phase it was in.
        phase: Option<String>,
    },
}

impl Doing {
    pub(super) fn busy(&self) -> bool {
        matches!(self, Self::Boots | Self::Kubeadm { .. })
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Boots => "boots".into(),
            Self::Up => "up".into(),
            Self::Kubeadm { command, phase: None } => format!("{command} begins"),
            Self::Kubeadm { command, phase: Some(phase) } => format!("{command}: {phase}"),
            Self::Done { command } => format!("{command} done"),
            Self::Failed { command, phase } => format!("{command} failed in {}", phase.as_deref().unwrap_or("no phase")),
        }
    }
}

/// What a node's etcd member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Membership {
    /// In the list, without a name yet.
    NotStarted,
    Learner,
    Voter,
    Removed,
}

impl Membership {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::NotStarted => "not started",
            Self::Learner => "learner",
            Self::Voter => "voter",
            Self::Removed => "removed",
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) doing: Doing,
    /// Since when it does that.
    pub(super) since: Stamp,
    /// When anything about it changed.
    pub(super) changed: Stamp,
    pub(super) member: Option<Membership>,
    /// How long each kind of work took, summed.
    pub(super) spans: BTreeMap<Work, Duration>,
    /// The moments of its latest member.
    pub(super) moments: BTreeMap<Moment, Stamp>,
    /// Is it removed?
    pub(super) gone: bool,
    address: Option<Ipv4Addr>,
}

/// All nodes of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    /// The cluster's name, once it is told.
    pub(super) cluster: Option<String>,
    /// Work on the whole cluster.
    pub(super) whole: BTreeMap<Work, Duration>,
    all: BTreeMap<(String, u64), Node>,
    owners: BTreeMap<MemberId, String>,
}

impl Nodes {
    /// All nodes; those that end in a number by that number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.all.values()
    }

    /// A node's name without the cluster's.
    pub(super) fn short<'a>(&self, name: &'a str) -> &'a str {
        self.cluster
            .as_deref()
            .and_then(|cluster| name.strip_prefix(cluster)?.strip_prefix('-'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(name)
    }

    pub(super) fn hear(&mut self, told: &Told) {
        let at = told.at;
        match &told.event {
            Event::Worked { work, on, took, .. } => self.worked(*work, on, *took, at),
            Event::NodeUp { node, address } => {
                let node = self.does(node, Doing::Up, at);
                node.address = Some(*address);
                node.gone = false;
            }
            Event::KubeadmStarted { node, argv } => {
                let command = argv.get(1).cloned().unwrap_or_else(|| "kubeadm".into());
                self.does(node, Doing::Kubeadm { command, phase: None }, at);
            }
            Event::KubeadmPhase { node, seen, phase } => {
                let command = self.command(node, at);
                self.does(node, Doing::Kubeadm { command, phase: Some(phase.clone()) }, *seen);
            }
            Event::KubeadmFinished { node, code, phase, .. } => {
                let command = self.command(node, at);
                let doing = if *code == Some(0) { Doing::Done { command } } else { Doing::Failed { command, phase: phase.clone() } };
                self.does(node, doing, at);
            }
            Event::Etcd { sample, .. } => self.owned(sample),
            Event::Member { id, name, moment, seen } => self.moment(*id, name, *moment, *seen),
            Event::RunStarted { .. }
            | Event::CaseStarted { .. }
            | Event::CaseFinished { .. }
            | Event::TaskStarted { .. }
            | Event::TaskFinished { .. }
            | Event::Output { .. }
            | Event::Used { .. }
            | Event::Metrics { .. }
            | Event::Span { .. }
            | Event::Called { .. }
            | Event::Fault { .. }
            | Event::Proxied { .. }
            | Event::Noticed { .. }
            | Event::KubeadmLine { .. }
            | Event::Judged { .. }
            | Event::Cleaned { .. }
            | Event::Note { .. }
            | Event::Warning { .. }
            | Event::RunFinished { .. } => {}
        }
    }

    fn worked(&mut self, work: Work, on: &str, took: Duration, at: Stamp) {
        match work {
            Work::CreateNodes | Work::Joins | Work::Ready | Work::Delete => {
                *self.whole.entry(work).or_default() += took;
                if work == Work::CreateNodes {
                    self.cluster = Some(on.to_owned());
                }
                if work == Work::Delete {
                    self.all.values_mut().for_each(|node| node.gone = true);
                }
            }
            // of an etcd alone all members are founded at once
            Work::Init if self.cluster.as_deref() == Some(on) => *self.whole.entry(work).or_default() += took,
            Work::CreateNode => {
                *self.does(on, Doing::Boots, at).spans.entry(work).or_default() += took;
            }
            Work::Boot | Work::Init | Work::Join => *self.node(on, at).spans.entry(work).or_default() += took,
        }
    }

    fn node(&mut self, name: &str, at: Stamp) -> &mut Node {
        self.all.entry(natural(name)).or_insert_with(|| Node {
            name: name.to_owned(),
            doing: Doing::Up,
            since: at,
            changed: at,
            member: None,
            spans: BTreeMap::new(),
            moments: BTreeMap::new(),
            gone: false,
            address: None,
        })
    }

    fn does(&mut self, name: &str, doing: Doing, at: Stamp) -> &mut Node {
        let node = self.node(name, at);
        if node.doing != doing {
            node.doing = doing;
            node.since = at;
        }
        node.changed = node.changed.max(at);
        node
    }

    /// The kubeadm command that runs on a node.
    fn command(&mut self, name: &str, at: Stamp) -> String {
        match &self.node(name, at).doing {
            Doing::Kubeadm { command, .. } | Doing::Done { command } | Doing::Failed { command, .. } => command.clone(),
            Doing::Boots | Doing::Up => "kubeadm".into(),
        }
    }

    /// Whose the members of a list are: by name, and before they have one by the address of their peer URL.
    fn owned(&mut self, sample: &EtcdSample) {
        for member in sample.members.iter().flatten() {
            let owner = if member.started() {
                Some(member.name.clone())
            } else {
                let of = |url: &String| {
                    self.all.values().find(|node| node.address.is_some_and(|a| host(url) == Some(a))).map(|n| n.name.clone())
                };
                member.peer_urls.iter().find_map(of)
            };
            if let Some(owner) = owner {
                self.owners.insert(member.id, owner);
            }
        }
    }

    fn moment(&mut self, id: MemberId, name: &str, moment: Moment, seen: Stamp) {
        let owner = if name.is_empty() { self.owners.get(&id).cloned() } else { Some(name.to_owned()) };
        let Some(owner) = owner.filter(|owner| self.all.contains_key(&natural(owner))) else { return };
        let node = self.node(&owner, seen);
        node.member = Some(match (moment, node.member) {
            (Moment::Announced, _) => Membership::NotStarted,
            (Moment::Started, Some(Membership::Voter)) | (Moment::Founded | Moment::Promoted, _) => Membership::Voter,
            (Moment::Started, _) => Membership::Learner,
            (Moment::CaughtUp | Moment::PeerActive | Moment::GatePassed, before) => before.unwrap_or(Membership::Learner),
            (Moment::Removed, _) => Membership::Removed,
        });
        // A node that joins anew has a new member.
        if matches!(moment, Moment::Announced | Moment::Founded) {
            node.moments.clear();
        }
        node.moments.insert(moment, seen);
        node.changed = node.changed.max(seen);
    }
}

/// `control-plane-10` comes behind `control-plane-9`.
fn natural(name: &str) -> (String, u64) {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits);
    // A name that differs only by zeros in front of its number stays another one.
    match number.parse() {
        Ok(n) if !number.starts_with('0') => (stem.to_owned(), n),
        Ok(_) | Err(_) => (name.to_owned(), 0),
    }
}

/// The address in `https://172.18.0.3:2380`.
pub(super) fn host(url: &str) -> Option<Ipv4Addr> {
    url.split_once("://")?.1.rsplit_once(':')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;
    use crate::event::Member;

    #[test]
    fn a_node_is_followed_from_boot_to_its_vote() {
        let mut script = Script::new();
        let node = "c-control-plane-2";
        let mut states = Vec::new();
        let mut nodes = Nodes::default();
        let mut hear = |told: Told, states: &mut Vec<String>| {
            nodes.hear(&told);
            let n = nodes.iter().find(|n| n.name == node);
            states.push(n.map_or("-".into(), |n| format!("{} | {}", n.doing.words(), n.member.map_or("-", Membership::word))));
        };
        hear(script.worked(Work::CreateNode, node, 400), &mut states);
        hear(script.tell(Event::NodeUp { node: node.into(), address: Ipv4Addr::new(10, 0, 0, 3) }), &mut states);
        hear(script.kubeadm(node, "join"), &mut states);
        hear(script.phase(node, "etcd"), &mut states);
        let learner =
            |name: &str| Member { id: MemberId(7), name: name.into(), peer_urls: vec!["https://10.0.0.3:2380".into()], learner: true };
        hear(script.list("c-control-plane-1", vec![learner("")]), &mut states);
        hear(script.member(7, "", Moment::Announced), &mut states);
        hear(script.member(7, node, Moment::Started), &mut states);
        hear(script.member(7, node, Moment::Promoted), &mut states);
        hear(script.kubeadm_ends(node, Some(1), Some("error: no")), &mut states);
        assert_eq!(
            states,
            [
                "boots | -",
                "up | -",
                "join begins | -",
                "join: etcd | -",
                "join: etcd | -",
                "join: etcd | not started",
                "join: etcd | learner",
                "join: etcd | voter",
                "join failed in etcd | voter",
            ]
        );
    }

    #[test]
    fn nodes_are_in_the_order_of_their_numbers() {
        let mut nodes = Nodes::default();
        let mut script = Script::new();
        for name in ["w-10", "w-9", "w-09", "lone"] {
            nodes.hear(&script.worked(Work::CreateNode, name, 1));
        }
        assert_eq!(nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["lone", "w-9", "w-10", "w-09"]);
    }
}
