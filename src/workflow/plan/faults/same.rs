//! Two faults of which one would hide the other.

use std::collections::BTreeSet;

use super::super::select::Nodes;
use super::action::on_call;
use crate::node::Role;
use crate::spec::{Action, Certificate, Fault, Selector, Until, Victim};

/// Something of a node that one fault at a time can have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    /// The node with all that runs in it.
    Whole,
    Process(&'static str),
    Network,
    Disk,
    Certificate(Certificate),
    Manifest(&'static str),
}

/// A node: by role and number, or the words of a selector that only etcd can tell.
type Place = Result<(Role, u8), String>;

/// Would both be done to the same at the same moment?
pub(super) fn target(a: &Fault, b: &Fault, nodes: &Nodes) -> bool {
    if on_call(a) && on_call(b) {
        return calls(a, b, nodes);
    }
    if lasting(a, b, nodes) {
        return true;
    }
    let cut = |fault: &Fault| fault.action.partition.clone();
    a.on == b.on && (cut(a).is_some() && cut(a) == cut(b) || meet(&struck(&a.action, nodes), &struck(&b.action, nodes)))
}

/// Would one find the network, disk or file changed by the other, and put back what that has left?
pub(super) fn lasting(a: &Fault, b: &Fault, nodes: &Nodes) -> bool {
    meet(&changed(&a.action, nodes), &changed(&b.action, nodes)) && !(over_before(a, b) || over_before(b, a))
}

/// Has the first surely ended when the second begins?
fn over_before(first: &Fault, second: &Fault) -> bool {
    match (first.on.after, first.until, second.on.after) {
        (Some(begin), Until::After(long), Some(next)) => begin.0 + long.0 < next.0,
        _ => false,
    }
}

fn calls(a: &Fault, b: &Fault, nodes: &Nodes) -> bool {
    let range = |fault: &Fault| {
        let first = fault.on.nth.unwrap_or(1);
        let counts = [fault.action.drop_answer.as_ref(), fault.action.refuse.as_ref()].into_iter().flatten().map(|calls| calls.times);
        let delay = fault.action.delay.as_ref().and_then(|delay| delay.times);
        (first, first.saturating_add(counts.chain(delay).next().unwrap_or(1)))
    };
    let ((from_a, to_a), (from_b, to_b)) = (range(a), range(b));
    let here = |a: &Option<Selector>, b: &Option<Selector>| match (a, b) {
        (Some(a), Some(b)) => !places(a, nodes).is_disjoint(&places(b, nodes)),
        (None, _) | (_, None) => true,
    };
    a.on.call == b.on.call && here(&a.on.node, &b.on.node) && here(&a.on.endpoint, &b.on.endpoint) && from_a < to_b && from_b < to_a
}

type Things = BTreeSet<(Place, Thing)>;

/// What is killed, stopped or restarted.
fn struck(action: &Action, nodes: &Nodes) -> Things {
    let Action { kill, pause, restart, crash_all, .. } = action;
    let thing = |victim: Victim| if victim == Victim::Node { Thing::Whole } else { Thing::Process(victim.as_str()) };
    let mut all = Things::new();
    for target in [kill, pause, restart].into_iter().flatten() {
        all.extend(places(&target.nodes, nodes).into_iter().map(|place| (place, thing(target.what))));
    }
    if crash_all.is_some() {
        all.extend(places(&Selector::all(), nodes).into_iter().map(|place| (place, Thing::Whole)));
    }
    all
}

/// What is another one while the fault lasts.
fn changed(action: &Action, nodes: &Nodes) -> Things {
    let Action { bandwidth, disk_full, disk_slow, certificate, manifest, .. } = action;
    let parts = [
        bandwidth.as_ref().map(|link| (&link.nodes, Thing::Network)),
        disk_full.as_ref().map(|on| (&on.nodes, Thing::Disk)),
        disk_slow.as_ref().map(|disk| (&disk.nodes, Thing::Disk)),
        certificate.as_ref().map(|bad| (&bad.nodes, Thing::Certificate(bad.of))),
        manifest.as_ref().map(|edited| (&edited.nodes, Thing::Manifest(edited.of.as_str()))),
    ];
    let each = parts.into_iter().flatten();
    each.flat_map(|(selector, thing)| places(selector, nodes).into_iter().map(move |place| (place, thing.clone()))).collect()
}

fn meet(a: &Things, b: &Things) -> bool {
    let same = |a: &Thing, b: &Thing| a == b || *a == Thing::Whole || *b == Thing::Whole;
    a.iter().any(|(place, thing)| b.iter().any(|(other, that)| place == other && same(thing, that)))
}

fn places(selector: &Selector, nodes: &Nodes) -> BTreeSet<Place> {
    let meant = nodes.selected(selector);
    let untold = meant.unknown.then(|| Err(selector.to_string()));
    meant.nodes.into_iter().map(Ok).chain(untold).collect()
}
