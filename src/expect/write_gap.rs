//! `writeGap`: the longest time without an acknowledgement from any voter's writer, while quorum should hold.
//!
//! Acknowledgements have their moments exactly, so the time between two is what it is: the most that writes can have failed. The
//! least begins with the first call behind the one acknowledgement, for before it nobody asked, and leaves out stretches in which no
//! call began at all: there the machine stood still, and not etcd.

use std::collections::BTreeMap;
use std::time::Duration;

use super::noise;
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
        let (verdict, saw, evidence) = match own {
            Err(why) => (Verdict::Undecided, why.clone(), Vec::new()),
            Ok(own) => one(kind, bounds, own, record, (from, to), &seconds, noise.is_some()),
        };
        let saw = noise::beside(saw, verdict, noise.as_ref());
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
    busy: bool,
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
    let verdict = noise::bound(&bounds, (least, most), busy);
    let shown = if verdict == Verdict::Fail { surest } else { longest };
    let saw = format!(
        "{} ({} to {}) until {}; {}",
        human(shown.most()),
        human(shown.least),
        human(shown.most()),
        record.time(shown.to),
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
    let waited = last.saturating_sub(pause);
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
            entry.1 += 1;
        } else {
            entry.0 += 1;
        }
        // the cause comes last; who was asked is known
        entry.2 = trouble.why.rsplit(": ").next().unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CallEnd, ClientCall, EtcdSample, Event, FaultMoment, Member, MemberId, Op, Told};
    use crate::spec::Over;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// A write of `writer N`: its end's milliseconds, and whether it was acknowledged.
    fn write(node: u64, began: u64, ended: u64, ok: bool) -> ClientCall {
        let end = if ok { CallEnd::Ok } else { CallEnd::Unknown { why: "no answer in time".into() } };
        ClientCall {
            client: format!("writer cp-{node}"),
            node: format!("cp-{node}"),
            op: Op::Write,
            key: format!("own/cp-{node}/{began}"),
            value: Some(began),
            began: at(began),
            ended: at(ended),
            end,
            revision: 1,
        }
    }

    /// Two writers that call ten times a second each for 30 s; from 10 s on nobody is acknowledged for `outage`.
    fn calls(outage: u64) -> Vec<ClientCall> {
        let mut calls = Vec::new();
        for ms in (0..30_000).step_by(100) {
            for node in [1, 2] {
                let began = ms + node * 30;
                let out = (10_000..10_000 + outage).contains(&began);
                calls.push(if out { write(node, began, began + 2_000, false) } else { write(node, began, began + 5, true) });
            }
        }
        calls
    }

    /// The record of these calls, and of two members, the second with its vote at `second`.
    fn record(calls: &[ClientCall], second: u64) -> Record {
        let mut record = Record::default();
        for (seq, call) in calls.iter().enumerate() {
            record.history.called(seq as u64, call);
        }
        let member = |id, learner| Member { id: MemberId(id), name: format!("cp-{id}"), learner, ..Member::default() };
        for (seq, ms, learner) in [(10_000, 0, true), (10_001, second, false)] {
            let members = Some(vec![member(1, false), member(2, learner)]);
            let sample = EtcdSample { seen: at(ms), members, status: None, error: None, gap_ms: Some(50), looks: 1, missed: 0 };
            record.sample(seq, "cp-1", &sample);
        }
        record
    }

    fn span(ms: u64) -> Span {
        Span(Duration::from_millis(ms))
    }

    fn most(ms: u64) -> WriteGap {
        WriteGap { max: Some(span(ms)), ..WriteGap::default() }
    }

    const WINDOW: (u64, u64) = (1_000, 29_950);

    fn judged(wanted: &WriteGap, record: &Record) -> Vec<(Verdict, String)> {
        let window = Window { from: at(WINDOW.0), to: at(WINDOW.1) };
        write_gap(wanted, record, window).into_iter().map(|judgement| (judgement.verdict, judgement.saw)).collect()
    }

    fn verdict(wanted: &WriteGap, record: &Record) -> Verdict {
        judged(wanted, record)[0].0
    }

    #[test]
    fn an_outage_is_as_long_as_nobody_was_acknowledged_and_one_endpoint_alone_is_none() {
        let broken = record(&calls(3_000), 100);
        let (verdict_of, saw) = judged(&most(2_000), &broken).remove(0);
        assert_eq!(verdict_of, Verdict::Fail);
        assert!(saw.starts_with("3.1s (3.0s to 3.1s) until 13.0s; "), "{saw}");
        assert!(saw.contains("writer cp-1: 30 of unknown end (no answer in time), writer cp-2: 30 of unknown end"), "{saw}");
        assert_eq!(verdict(&most(3_200), &broken), Verdict::Pass);
        assert_eq!(verdict(&most(3_065), &broken), Verdict::Undecided, "between what was and what may have been");
        let mut one_side = calls(3_000);
        one_side.iter_mut().filter(|call| call.node == "cp-2").for_each(|call| {
            (call.end, call.ended) = (CallEnd::Ok, call.began.after(Duration::from_millis(5)));
        });
        assert_eq!(verdict(&most(500), &record(&one_side, 100)), Verdict::Pass, "the other one was acknowledged all the time");
    }

    #[test]
    fn one_acknowledgement_taken_out_of_a_history_is_noticed() {
        let mut all = calls(0);
        assert_eq!(verdict(&most(150), &record(&all, 100)), Verdict::Pass);
        // the one of the other writer between leaves a gap of no more than a turn; both leave more
        let at = all.iter().position(|call| call.began == self::at(20_030)).expect("a call");
        all.remove(at);
        assert_eq!(verdict(&most(150), &record(&all, 100)), Verdict::Pass);
        all.remove(at);
        let (verdict, saw) = judged(&most(110), &record(&all, 100)).remove(0);
        assert_eq!(verdict, Verdict::Undecided, "nobody asked in between: {saw}");
        let lost = all.iter_mut().filter(|call| (20_000..20_300).contains(&(call.began.mono / 1_000_000)));
        lost.for_each(|call| (call.end, call.ended) = (CallEnd::Failed { why: "refused".into() }, call.began));
        assert_eq!(judged(&most(150), &record(&all, 100))[0].0, Verdict::Fail);
    }

    #[test]
    fn the_second_vote_has_a_bound_of_its_own() {
        let both = WriteGap { one_to_two: Some(Compare { equals: None, min: None, max: Some(span(5_000)) }), ..most(1_000) };
        let verdicts = |second| judged(&both, &record(&calls(3_000), second)).into_iter().map(|(verdict, _)| verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(10_500), [Verdict::Pass, Verdict::Pass], "in the middle of the gap");
        assert_eq!(verdicts(6_000), [Verdict::Pass, Verdict::Pass], "it begins less than 5 s behind the vote");
        assert_eq!(verdicts(4_000), [Verdict::Fail, Verdict::Pass], "it has nothing to do with the vote");
        assert_eq!(verdicts(60_000), [Verdict::Fail, Verdict::Undecided], "nobody saw the vote");
        assert_eq!(verdict(&most(1_000), &record(&calls(3_000), 10_500)), Verdict::Fail, "without a bound of its own it is as the rest");
    }

    #[test]
    fn what_the_workflow_took_down_counts_apart_as_far_as_quorum_was_gone() {
        let mut down = record(&calls(3_000), 100);
        down.restarted("cp-2", at(9_900), at(11_000));
        let answer = |ms| {
            let status = Some(crate::event::MemberStatus { id: MemberId(2), ..Default::default() });
            EtcdSample { seen: at(ms), members: None, status, error: None, gap_ms: None, looks: 1, missed: 0 }
        };
        down.sample(20_000, "cp-2", &answer(10_950));
        down.sample(20_001, "cp-2", &answer(12_900));
        let wanted = |ms| WriteGap { while_down: Some(Compare { equals: None, min: None, max: Some(span(ms)) }), ..most(500) };
        let verdicts = |down: &Record, ms| judged(&wanted(ms), down).into_iter().map(|(verdict, _)| verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(&down, 3_000), [Verdict::Pass, Verdict::Pass]);
        assert_eq!(verdicts(&down, 2_000), [Verdict::Pass, Verdict::Fail]);
        // one that is told to end and to stay so is down from then on
        let mut ended = record(&calls(3_000), 100);
        ended.stopped("cp-2", at(9_900));
        ended.sample(20_000, "cp-2", &answer(9_950));
        assert_eq!(verdicts(&ended, 20_100), [Verdict::Pass, Verdict::Pass]);
        ended.told_back("cp-2", at(11_000));
        ended.sample(20_001, "cp-2", &answer(11_100));
        assert_eq!(verdicts(&ended, 20_100)[0], Verdict::Fail, "it was back long before writes were acknowledged again");
        let never = judged(&wanted(1), &record(&calls(0), 100)).remove(1);
        assert_eq!(never, (Verdict::Pass, "never were too few voters up".into()));
        // one of three takes no quorum away
        let member = |id| Member { id: MemberId(id), name: format!("cp-{id}"), ..Member::default() };
        let members = Some([1, 2, 3].map(member).into());
        down.sample(20_002, "cp-1", &EtcdSample { members, ..answer(500) });
        assert_eq!(verdicts(&down, 3_000)[0], Verdict::Fail);
    }

    #[test]
    fn a_fault_takes_quorum_away_until_it_is_undone_and_the_member_answers() {
        let tell = |record: &mut Record, ms, moment| {
            let event = Event::Fault { index: 3, id: "cut".into(), node: String::new(), what: "cut".into(), moment };
            record.hear(&Told { seq: ms, at: at(ms), event });
        };
        let status = Some(crate::event::MemberStatus { id: MemberId(2), ..Default::default() });
        let answer =
            |ms| EtcdSample { seen: at(ms), members: None, status: status.clone(), error: None, gap_ms: None, looks: 1, missed: 0 };
        let done = |down: &[&str]| FaultMoment::Done {
            by: "x".into(),
            began: at(9_900),
            down: down.iter().map(|node| (*node).to_owned()).collect(),
            lasts: true,
        };
        let mut cut = record(&calls(3_000), 100);
        tell(&mut cut, 10_000, done(&["cp-2"]));
        // who is cut off answers on its own node all the time
        cut.sample(20_000, "cp-2", &answer(11_000));
        tell(&mut cut, 12_500, FaultMoment::Healed);
        cut.sample(20_001, "cp-2", &answer(13_000));
        assert_eq!(verdict(&most(500), &cut), Verdict::Pass);
        let mut other = record(&calls(3_000), 100);
        tell(&mut other, 10_000, done(&[]));
        assert_eq!(verdict(&most(500), &other), Verdict::Fail, "of kubeadm alone, say");
    }

    #[test]
    fn a_machine_that_stood_still_and_noise_decide_nothing() {
        let mut still = calls(0);
        still.retain(|call| !(10_000..13_000).contains(&(call.began.mono / 1_000_000)));
        let (verdict, saw) = judged(&most(1_000), &record(&still, 100)).remove(0);
        assert_eq!(verdict, Verdict::Undecided, "no call began: {saw}");
        let mut noisy = record(&calls(3_000), 100);
        let looks = EtcdSample { seen: at(3_000), members: None, status: None, error: None, gap_ms: None, looks: 1, missed: 9 };
        noisy.measures.looked("cp-1", &looks);
        let (verdict, saw) = judged(&most(1_000), &noisy).remove(0);
        assert_eq!(verdict, Verdict::Undecided);
        assert!(saw.contains("; but 9 of"), "{saw}");
        assert_eq!(judged(&most(1_000), &Record::default())[0], (Verdict::Undecided, "no writer has written".into()));
    }

    #[test]
    fn at_least_is_asked_too_and_over_the_run_all_counts() {
        let broken = record(&calls(3_000), 100);
        let wanted = |min, over| WriteGap { min: Some(span(min)), over, ..WriteGap::default() };
        assert_eq!(verdict(&wanted(2_900, Over::Step), &broken), Verdict::Pass);
        assert_eq!(verdict(&wanted(4_000, Over::Step), &broken), Verdict::Fail);
        let late = Window { from: at(20_000), to: at(29_950) };
        let of = |over| write_gap(&wanted(2_900, over), &broken, late)[0].verdict;
        assert_eq!((of(Over::Step), of(Over::Run)), (Verdict::Fail, Verdict::Pass));
    }
}
