//! `writeGap`: the longest time without an acknowledgement from any voter's writer, while quorum should hold.
//!
//! Acknowledgements have their moments exactly, so the time between two is what it is: the most that writes can have failed. The
//! least begins with the first call behind the one acknowledgement, for before it nobody asked, and leaves out stretches in which no
//! call began at all: there the machine stood still, and not etcd.

use std::collections::BTreeMap;
use std::time::Duration;

use super::quorum::{SecondVote, downtimes, second_votes};
use super::window::Window;
use crate::event::{Judgement, Verdict};
use crate::observe::{Probe, Record};
use crate::spec::{Compare, Span, WriteGap};
use crate::sys::clock::{Stamp, human};

/// Pauses between calls, in multiples of the mean one, and in all: beyond that nobody asked.
const PAUSES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
/// Clients whose failures are told with their reason.
const MOST_CLIENTS: usize = 6;

/// A time without an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
    from: Stamp,
    to: Stamp,
    /// It was surely so long that nobody who asked was answered.
    least: Duration,
    /// Events of the acknowledgements at its ends.
    evidence: Vec<u64>,
}

impl Gap {
    fn most(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// When gaps are looked at by bounds of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Ordinary,
    OneToTwo,
    WhileDown,
}

/// Judges each bound that is demanded.
pub fn write_gap(wanted: &WriteGap, record: &Record, window: Window) -> Vec<Judgement> {
    let (from, to) = window.over(wanted.over);
    let seconds = second_votes(record, from, to);
    let gaps = sorted_out(wanted, record, (from, to), &seconds);
    let noise = record.measures.noise(from, to);
    let all = [
        ("writeGap", Kind::Ordinary, wanted.bounds()),
        ("writeGap oneToTwo", Kind::OneToTwo, wanted.one_to_two),
        ("writeGap whileDown", Kind::WhileDown, wanted.while_down),
    ];
    let judged = all.into_iter().filter_map(|(name, kind, bounds)| {
        let bounds = bounds?;
        let own = gaps.as_ref().map(|gaps| gaps.get(&kind).map_or(&[][..], Vec::as_slice));
        let (mut verdict, mut saw, evidence) = match own {
            Err(why) => (Verdict::Undecided, why.clone(), Vec::new()),
            Ok(own) => one(kind, bounds, own, record, (from, to), &seconds),
        };
        if let Some(noise) = &noise {
            verdict = Verdict::Undecided;
            saw = format!("{saw}; but {noise}");
        }
        Some(Judgement { name: name.into(), verdict, wanted: bounds.to_string(), saw, evidence })
    });
    judged.collect()
}

fn one(
    kind: Kind,
    bounds: Compare<Span>,
    gaps: &[Gap],
    record: &Record,
    (from, to): (Stamp, Stamp),
    seconds: &[SecondVote],
) -> (Verdict, String, Vec<u64>) {
    match kind {
        Kind::OneToTwo if seconds.is_empty() => return (Verdict::Undecided, "no second voter was seen to get its vote".into(), Vec::new()),
        Kind::WhileDown if gaps.is_empty() => return (Verdict::Pass, "never were too few voters up".into(), Vec::new()),
        Kind::Ordinary | Kind::OneToTwo | Kind::WhileDown => {}
    }
    let Some(longest) = gaps.iter().max_by_key(|gap| gap.most()) else {
        return (Verdict::Undecided, "nobody wrote in this time".into(), Vec::new());
    };
    let surest = gaps.iter().max_by_key(|gap| gap.least).unwrap_or(longest);
    // what got coarser is told apart down to this
    let coarse = record.history.coarse.filter(|(until, _)| *until > from).map_or(Duration::ZERO, |(_, fine)| fine);
    let (least, most) = (surest.least, longest.most().max(coarse));
    let above = |max: Span| (least > max.0, most <= max.0);
    let below = |min: Span| (most < min.0, least >= min.0);
    let (fails, holds) = match (bounds.equals, bounds.min, bounds.max) {
        (Some(just), ..) => (least > just.0 || most < just.0, least == just.0 && most == just.0),
        (None, min, max) => {
            let (max, min) = (max.map_or((false, true), above), min.map_or((false, true), below));
            (max.0 || min.0, max.1 && min.1)
        }
    };
    let verdict = match (fails, holds) {
        (true, _) => Verdict::Fail,
        (false, true) => Verdict::Pass,
        (false, false) => Verdict::Undecided,
    };
    let shown = if verdict == Verdict::Fail { surest } else { longest };
    let saw = format!(
        "{} ({} to {}) until {}; {}",
        human(shown.most()),
        human(shown.least),
        human(shown.most()),
        shown.to.wall.strftime("%H:%M:%S%.3f"),
        clients(record, from, to)
    );
    (verdict, saw, shown.evidence.clone())
}

/// All gaps by kind, each within the time.
fn sorted_out(
    wanted: &WriteGap,
    record: &Record,
    (from, to): (Stamp, Stamp),
    seconds: &[SecondVote],
) -> Result<BTreeMap<Kind, Vec<Gap>>, String> {
    let downs = downtimes(record, from, to);
    let mut all: BTreeMap<Kind, Vec<Gap>> = BTreeMap::new();
    for gap in gaps(&record.history.probes, from, to)? {
        let (ordinary, down) = cut(&gap, &downs);
        all.entry(Kind::WhileDown).or_default().extend(down);
        for gap in ordinary {
            let own = wanted.one_to_two.is_some() && seconds.iter().any(|second| second.touches(gap.from, gap.to));
            all.entry(if own { Kind::OneToTwo } else { Kind::Ordinary }).or_default().push(gap);
        }
    }
    Ok(all)
}

/// What of a gap lies outside of these times, and what within them.
fn cut(gap: &Gap, downs: &[(Stamp, Stamp)]) -> (Vec<Gap>, Vec<Gap>) {
    let part = |from: Stamp, to: Stamp| {
        let lost = gap.most().saturating_sub(to.since(from));
        Gap { from, to, least: gap.least.saturating_sub(lost), evidence: gap.evidence.clone() }
    };
    let (mut outside, mut inside, mut at) = (Vec::new(), Vec::new(), gap.from);
    for (from, to) in downs {
        let (from, to) = ((*from).max(at), (*to).min(gap.to));
        if from >= to {
            continue;
        }
        if at < from {
            outside.push(part(at, from));
        }
        inside.push(part(from, to));
        at = to;
    }
    if at < gap.to {
        outside.push(part(at, gap.to));
    }
    (outside, inside)
}

/// The times between acknowledgements, the last one up to the end.
fn gaps(probes: &[Probe], from: Stamp, to: Stamp) -> Result<Vec<Gap>, String> {
    let mut begins: Vec<Stamp> = probes.iter().map(|probe| probe.began).filter(|began| *began <= to).collect();
    begins.sort_unstable();
    let Some(first) = begins.first() else { return Err("no writer has written".into()) };
    let mut acks: Vec<(Stamp, Option<u64>)> =
        probes.iter().filter(|probe| probe.acknowledged && probe.ended <= to).map(|probe| (probe.ended, Some(probe.seq))).collect();
    acks.sort_unstable();
    acks.push((to, None));
    let pause = pause(&begins, from, to);
    // the load itself may begin within the time
    let mut before = ((*first).max(from), None);
    let mut gaps = Vec::new();
    for (at, seq) in acks {
        if at > before.0 {
            let evidence = before.1.into_iter().chain(seq).collect();
            gaps.push(Gap { from: before.0, to: at, least: least(&begins, before.0, at, pause), evidence });
        }
        before = (at.max(before.0), seq);
    }
    if gaps.is_empty() { Err("no writer has written in this time".into()) } else { Ok(gaps) }
}

/// How long it may take from one call to the next.
fn pause(begins: &[Stamp], from: Stamp, to: Stamp) -> Duration {
    let within: Vec<&Stamp> = begins.iter().filter(|began| **began >= from).collect();
    let (Some(first), Some(last)) = (within.first(), within.last()) else { return PAUSE };
    let calls = u32::try_from(within.len()).unwrap_or(u32::MAX).max(2) - 1;
    PAUSE + last.since(**first).min(to.since(from)) / calls * PAUSES
}

/// The part of a gap in which somebody surely asked.
fn least(begins: &[Stamp], from: Stamp, to: Stamp, pause: Duration) -> Duration {
    let at = begins.partition_point(|began| *began < from);
    let within: Vec<Stamp> = begins[at..].iter().copied().take_while(|began| *began <= to).collect();
    let Some(first) = within.first() else { return Duration::ZERO };
    let still: Duration = within.windows(2).map(|two| two[1].since(two[0])).filter(|between| *between > pause).sum();
    let last = within.last().map_or(Duration::ZERO, |last| to.since(*last));
    let waited = if last > pause { last - pause } else { Duration::ZERO };
    to.since(*first).saturating_sub(still).saturating_sub(waited)
}

/// Who wrote, and what became of it.
fn clients(record: &Record, from: Stamp, to: Stamp) -> String {
    let within = |at: Stamp| from <= at && at <= to;
    let writes = record.history.probes.iter().filter(|probe| within(probe.ended));
    let acknowledged = writes.filter(|probe| probe.acknowledged).count();
    let mut each: BTreeMap<&str, (usize, usize, &str)> = BTreeMap::new();
    for trouble in record.history.troubles.iter().filter(|trouble| within(trouble.ended)) {
        let entry = each.entry(&trouble.client).or_default();
        if trouble.unknown {
            entry.1 += 1
        } else {
            entry.0 += 1
        }
        entry.2 = &trouble.why;
    }
    let more = each.len().saturating_sub(MOST_CLIENTS);
    let words = each.iter().take(MOST_CLIENTS).map(|(client, (failed, unknown, why))| match (failed, unknown) {
        (failed, 0) => format!(", {client}: {failed} failed ({why})"),
        (0, unknown) => format!(", {client}: {unknown} of unknown end ({why})"),
        (failed, unknown) => format!(", {client}: {failed} failed, {unknown} of unknown end ({why})"),
    });
    let words: String = words.collect();
    let more = if more > 0 { format!(", and {more} others") } else { String::new() };
    format!("{acknowledged} writes acknowledged{words}{more}")
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &WriteGap) -> String {
    let ordinary = wanted.bounds().map(|bounds| bounds.to_string());
    let second = wanted.one_to_two.map(|bounds| format!("from one voter to two {bounds}"));
    let down = wanted.while_down.map(|bounds| format!("while too few are up {bounds}"));
    let over = match wanted.over {
        crate::spec::Over::Step => "",
        crate::spec::Over::Run => " since the run began",
    };
    format!("{}{over}", [ordinary, second, down].into_iter().flatten().collect::<Vec<_>>().join(", "))
}
