//! What the nodes' members and kubeadm said last, and since when: what the invariants look at together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use super::rule::End;
use crate::event::{EtcdSample, Event, FaultMoment, Member, MemberId, MemberStatus, Moment, Notice, Told};
use crate::sys::clock::Stamp;

/// A member that says nothing for so long counts for nothing any more: what it says is told once a second.
const FRESH: Duration = Duration::from_secs(5);

/// Something that a node said, and says again with each sample.
#[derive(Clone, Debug)]
pub(super) struct Held<T> {
    pub(super) value: T,
    /// When it was said first, and the event that shows it.
    pub(super) since: Stamp,
    /// When it was said last, and the event that shows it.
    pub(super) last: Stamp,
    pub(super) seq: u64,
    /// In how many samples that were told.
    pub(super) samples: u32,
}

/// One node.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    pub(super) address: Option<Ipv4Addr>,
    /// The member list as its member holds it; `None` while that gives none.
    pub(super) list: Option<Held<Vec<Member>>>,
    /// Its member's status; `None` while it does not answer.
    pub(super) status: Option<Held<MemberStatus>>,
    /// Does a `kubeadm join` run there?
    pub(super) joining: bool,
    /// When the last one ended.
    pub(super) joined: Option<Stamp>,
    /// When its etcd's process was seen to start last.
    pub(super) etcd_runs: Option<Stamp>,
    /// Is it a control plane? Only those are asked for their member.
    pub(super) has_member: bool,
    /// Has its member ever answered?
    answered: bool,
}

/// All nodes.
#[derive(Debug)]
pub(super) struct View {
    pub(super) nodes: BTreeMap<String, Watched>,
    /// When the last event was told.
    pub(super) now: Stamp,
    /// How many joins have begun; where etcd is alone, how many learners were added, and how many promoted.
    pub(super) joins: usize,
    /// Has any kubeadm run? Where none does, etcd is alone, and the workflow says itself when a member starts.
    pub(super) has_kubeadm: bool,
    /// The most voters that any list held.
    pub(super) most_voters: usize,
    /// Does the newest list hold a voter that never started? It counts for the quorum.
    unstarted: bool,
    /// When something was seen last that may unsettle etcd.
    disturbed: Option<Stamp>,
    /// What is broken on purpose right now.
    faults: BTreeSet<String>,
}

impl View {
    pub(super) fn new() -> Self {
        let now = Stamp { mono: 0, wall: jiff::Timestamp::UNIX_EPOCH };
        Self {
            nodes: BTreeMap::new(),
            now,
            joins: 0,
            has_kubeadm: false,
            most_voters: 0,
            unstarted: false,
            disturbed: None,
            faults: BTreeSet::new(),
        }
    }

    /// Takes an event in.
    pub(super) fn hear(&mut self, told: &Told) {
        self.now = told.at;
        match &told.event {
            Event::NodeUp { node, address } => {
                *self.nodes.entry(node.clone()).or_default() = Watched { address: Some(*address), ..Watched::default() };
            }
            Event::Etcd { node, sample } => self.sample(node, sample, told.seq),
            Event::KubeadmStarted { node, argv } => {
                let command = argv.get(1).map_or("", String::as_str);
                self.has_kubeadm = true;
                self.nodes.entry(node.clone()).or_default().joining = command == "join";
                self.joins += usize::from(command == "join");
                if command == "reset" {
                    self.disturbed = Some(told.at);
                }
            }
            Event::KubeadmFinished { node, .. } => {
                let node = self.nodes.entry(node.clone()).or_default();
                if std::mem::take(&mut node.joining) {
                    node.joined = Some(told.at);
                }
            }
            Event::Member { moment: Moment::Announced | Moment::Promoted, .. } if !self.has_kubeadm => self.joins += 1,
            Event::Fault { id, moment, .. } => self.fault(id, moment, told.at),
            Event::Noticed { node, seen, notice: Notice::ProcessStarted { component, times } } if component == "etcd" => {
                self.nodes.entry(node.clone()).or_default().etcd_runs = Some(*seen);
                if *times > 1 {
                    self.disturbed = Some(*seen);
                }
            }
            Event::RunStarted { .. }
            | Event::CaseStarted { .. }
            | Event::TaskStarted { .. }
            | Event::TaskFinished { .. }
            | Event::Output { .. }
            | Event::CaseFinished { .. }
            | Event::Worked { .. }
            | Event::KubeadmLine { .. }
            | Event::KubeadmPhase { .. }
            | Event::Used { .. }
            | Event::Metrics { .. }
            | Event::Noticed { .. }
            | Event::Span { .. }
            | Event::Called { .. }
            | Event::Proxied { .. }
            | Event::Member { .. }
            | Event::Judged { .. }
            | Event::Cleaned { .. }
            | Event::Note { .. }
            | Event::Warning { .. }
            | Event::RunFinished { .. } => {}
        }
    }

    fn sample(&mut self, node: &str, sample: &EtcdSample, seq: u64) {
        let watched = self.nodes.entry(node.to_owned()).or_default();
        watched.has_member = true;
        // it went, or is back: an election follows on either
        if watched.answered && watched.status.is_some() != sample.status.is_some() {
            self.disturbed = Some(sample.seen);
        }
        watched.answered |= sample.status.is_some();
        if let Some(list) = &sample.members {
            self.most_voters = self.most_voters.max(list.iter().filter(|member| !member.learner).count());
            let unstarted = list.iter().any(|member| !member.learner && !member.started());
            if std::mem::replace(&mut self.unstarted, unstarted) && !unstarted {
                self.disturbed = Some(sample.seen);
            }
        }
        watched.list = sample.members.clone().map(|list| hold(watched.list.take(), list, |a, b| a == b, sample.seen, seq));
        watched.status = sample.status.clone().map(|status| hold(watched.status.take(), status, same, sample.seen, seq));
    }

    fn fault(&mut self, id: &str, moment: &FaultMoment, at: Stamp) {
        match moment {
            FaultMoment::Done { .. } | FaultMoment::Bit { .. } => drop(self.faults.insert(id.to_owned())),
            FaultMoment::Healed => drop(self.faults.remove(id)),
            FaultMoment::Armed | FaultMoment::NeverTriggered | FaultMoment::Failed { .. } | FaultMoment::NotApplicable { .. } => return,
        }
        self.disturbed = Some(at);
    }

    /// Why nothing that is about kubeadm's joins can be judged, where that is so.
    pub(super) fn no_join(&self) -> Option<End> {
        match (self.has_kubeadm, self.joins) {
            (false, _) => Some(End::Idle("no kubeadm runs here".into())),
            (true, 0) => Some(End::Idle("nobody joined".into())),
            (true, _) => None,
        }
    }

    /// Why nothing that is about several voters can be judged, where that is so.
    pub(super) fn one_voter(&self) -> Option<End> {
        (self.most_voters == 1).then(|| End::Idle("there was one voter all the time".into()))
    }

    /// When something was seen last that may unsettle etcd: a member that stopped answering, or started anew; a voter that
    /// has not started; a reset; a fault.
    pub(super) fn disturbed(&self) -> Option<Stamp> {
        if self.faults.is_empty() { self.disturbed } else { Some(self.now) }
    }

    /// When something was seen last that may cost a leader its quorum: what unsettles etcd, or a voter that never started.
    pub(super) fn shaken(&self) -> Option<Stamp> {
        if self.unstarted { Some(self.now) } else { self.disturbed() }
    }

    /// Has nothing unsettled etcd for so long? Whoever was cut off or away holds what it held, until it has heard the others.
    pub(super) fn is_calm(&self, settle: Duration) -> bool {
        self.disturbed().is_none_or(|at| self.now > at.after(settle))
    }

    /// What holds now, where it was said lately.
    pub(super) fn fresh<'a, T>(&self, held: Option<&'a Held<T>>) -> Option<&'a Held<T>> {
        held.filter(|held| self.now.since(held.last) <= FRESH)
    }

    /// Nodes whose members answer as voters, each with its list and status.
    pub(super) fn voters(&self) -> impl Iterator<Item = (&str, &Held<Vec<Member>>, &Held<MemberStatus>)> {
        self.nodes.iter().filter_map(move |(name, node)| {
            let (list, status) = (self.fresh(node.list.as_ref())?, self.fresh(node.status.as_ref())?);
            (!status.value.learner).then_some((name.as_str(), list, status))
        })
    }

    /// The list that changed last: changes reach members one after the other.
    pub(super) fn latest(&self) -> Option<&Held<Vec<Member>>> {
        self.voters().map(|(_, list, _)| list).max_by_key(|list| list.since)
    }

    /// The node that a member belongs to, by the address of its peers' URL: a member has no name before it has started.
    pub(super) fn node_of(&self, member: &Member) -> Option<&str> {
        let found = self.nodes.iter().find(|(_, node)| node.address.is_some_and(|address| is_at(member, address)));
        found.map(|(name, _)| name.as_str())
    }
}

/// Is this a URL of the member?
pub(super) fn is_at(member: &Member, address: Ipv4Addr) -> bool {
    member.peer_urls.iter().any(|url| address_of(url) == Some(address))
}

/// The address in `https://10.213.0.2:2380`, or in `10.213.0.2:2379`.
pub(super) fn address_of(url: &str) -> Option<Ipv4Addr> {
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    host.split([':', '/']).next()?.parse().ok()
}

fn hold<T>(before: Option<Held<T>>, value: T, same: impl Fn(&T, &T) -> bool, seen: Stamp, seq: u64) -> Held<T> {
    match before {
        Some(before) if same(&before.value, &value) => Held { value, last: seen, seq, samples: before.samples.saturating_add(1), ..before },
        Some(_) | None => Held { value, since: seen, last: seen, seq, samples: 1 },
    }
}

/// Indexes and sizes grow all the time.
fn same(a: &MemberStatus, b: &MemberStatus) -> bool {
    let essence = |s: &MemberStatus| -> (MemberId, MemberId, MemberId, u64, bool) { (s.id, s.cluster, s.leader, s.term, s.learner) };
    essence(a) == essence(b)
}

/// Names as people write them.
pub(super) fn names(list: &[Member]) -> String {
    let one = |member: &Member| if member.learner { format!("{} (learner)", member.label()) } else { member.label() };
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}
