//! What joinder's own clients saw, kept small: their failures and gaps, and the first of their calls.

use std::time::Duration;

use crate::event::{CallEnd, ClientCall, Op};
use crate::sys::clock::Stamp;

/// Without a call that succeeded for so long, a client has a gap, if that is longer than two of its turns.
const GAP_NS: u64 = 250_000_000;
/// From turn to turn while too few calls show how long that is: readers make two calls a second where nothing else is said.
const TURN_NS: u64 = 500_000_000;
/// Of each client: calls, and gaps and failures, that are kept.
const MOST_CALLS: usize = 4_000;
const MOST_MARKS: usize = 400;

/// One client.
#[derive(Debug, Default)]
pub(in crate::report) struct Client {
    pub(in crate::report) calls: Vec<Kept>,
    /// Calls that failed, or whose end nobody knows: those that follow each other are one, with how many they are.
    pub(in crate::report) failures: Vec<(Kept, u32)>,
    /// From the end of a call that succeeded to the next one's.
    pub(in crate::report) gaps: Vec<(Stamp, Stamp)>,
    pub(in crate::report) total: u64,
    pub(in crate::report) failed: u64,
    pub(in crate::report) unknown: u64,
    pub(in crate::report) longest_ns: u64,
    pub(in crate::report) writes: bool,
    first: Option<Stamp>,
    last: Option<Stamp>,
    end: Option<Stamp>,
}

/// A call in short.
#[derive(Clone, Debug)]
pub(in crate::report) struct Kept {
    pub(in crate::report) op: Op,
    pub(in crate::report) began: Stamp,
    pub(in crate::report) ended: Stamp,
    /// Why it is not known to have been carried out.
    pub(in crate::report) why: Option<String>,
    /// May it have been?
    pub(in crate::report) unknown: bool,
}

/// The longest time from one acknowledged write of any voter's writer to the next one, where somebody wrote.
#[derive(Debug, Default)]
pub(in crate::report) struct Silence {
    pub(in crate::report) longest: Option<(Stamp, Stamp)>,
    /// When the last acknowledgement came.
    last: Option<Stamp>,
    /// When the first write behind it was sent: before it nobody asked.
    waits: Option<Stamp>,
    /// When the last write behind it had failed.
    failed: Option<Stamp>,
}

impl Silence {
    /// From when on to when no write was acknowledged, up to the last that was tried.
    pub(in crate::report) fn open(&self) -> Option<(Stamp, Stamp)> {
        let (from, to) = (self.began(self.waits?), self.failed?);
        (from < to).then_some((from, to))
    }

    /// When a gap began: a load that pauses is none that waits.
    fn began(&self, waits: Stamp) -> Stamp {
        self.last.filter(|last| waits.since(*last) < Duration::from_nanos(TURN_NS)).unwrap_or(waits)
    }

    pub(super) fn called(&mut self, call: &ClientCall) {
        if call.op != Op::Write || call.node.is_empty() {
            return;
        }
        let waits = self.waits.map_or(call.began, |waits| waits.min(call.began));
        self.waits = Some(waits);
        if call.end != CallEnd::Ok {
            self.failed = self.failed.max(Some(call.ended));
            return;
        }
        let from = self.began(waits);
        let longest = self.longest.map_or(Duration::ZERO, |(from, to)| to.since(from));
        if call.ended.since(from) > longest {
            self.longest = Some((from, call.ended));
        }
        (self.last, self.waits, self.failed) = (self.last.max(Some(call.ended)), None, None);
    }
}

impl Client {
    /// When its last call ended.
    pub(in crate::report) fn last_end(&self) -> Option<Stamp> {
        self.end
    }

    /// When a call of it succeeded last, if one ever did.
    pub(in crate::report) fn succeeded(&self) -> Option<Stamp> {
        self.last
    }

    /// From one turn to the next, up to now.
    fn turn(&self, now: Stamp) -> u64 {
        let since = self.first.map_or(0, |first| now.mono.saturating_sub(first.mono));
        if self.total > 3 { since / (self.total - 1) } else { TURN_NS }
    }

    pub(super) fn called(&mut self, call: &ClientCall) {
        self.total += 1;
        self.first.get_or_insert(call.began);
        self.end = self.end.max(Some(call.ended));
        self.writes |= call.op == Op::Write;
        let (why, unknown) = match &call.end {
            CallEnd::Ok => (None, false),
            CallEnd::Failed { why } => (Some(why.clone()), false),
            CallEnd::Unknown { why } => (Some(why.clone()), true),
        };
        self.failed += u64::from(why.is_some() && !unknown);
        self.unknown += u64::from(unknown);
        let kept = Kept { op: call.op, began: call.began, ended: call.ended, why, unknown };
        if kept.why.is_some() {
            let turns = Duration::from_nanos(2 * self.turn(call.began));
            let full = self.failures.len() == MOST_MARKS;
            match self.failures.last_mut() {
                Some((last, times)) if last.unknown == unknown && kept.began <= last.ended.after(turns) => {
                    last.ended = last.ended.max(kept.ended);
                    *times += 1;
                }
                Some(_) | None if full => {}
                Some(_) | None => self.failures.push((kept.clone(), 1)),
            }
        } else {
            let last = self.last.unwrap_or(call.began);
            let gap = call.ended.mono.saturating_sub(last.mono);
            self.longest_ns = self.longest_ns.max(gap);
            if gap >= GAP_NS.max(2 * self.turn(call.began)) && self.gaps.len() < MOST_MARKS {
                self.gaps.push((last, call.ended));
            }
            self.last = Some(call.ended);
        }
        if self.calls.len() < MOST_CALLS {
            self.calls.push(kept);
        }
    }
}
