//! Calls of kubeadm to etcd: what the proxies in the nodes are told of them. Their proof is what the proxy did.

use crate::agent::{Act, Side};
use crate::spec::{self, Action};

/// What the proxy does, and to how many calls; `None` for what is not done to a call.
pub(in crate::fault) fn act(action: &Action) -> Option<(Act, u32)> {
    let dropped = action.drop_answer.as_ref().map(|calls| (Act::DropAnswer, calls.times));
    let refused = action.refuse.as_ref().map(|calls| (Act::Refuse, calls.times));
    let by = |delay: &spec::Delay| u64::try_from(delay.by.0.as_millis()).unwrap_or(u64::MAX);
    let delayed = action.delay.as_ref().map(|delay| (Act::Delay { by: by(delay) }, delay.times.unwrap_or(1)));
    let held = action.hold.as_ref().map(|hold| (Act::Hold { at: side(hold.at) }, 1));
    dropped.or(refused).or(delayed).or(held)
}

/// A side as the proxy calls it.
pub(in crate::fault) fn side(side: spec::Side) -> Side {
    match side {
        spec::Side::Request => Side::Request,
        spec::Side::Answer => Side::Answer,
    }
}
