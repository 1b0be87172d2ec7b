//! `resources`: what components of nodes have used.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use super::window::Window;
use crate::event::{Judgement, Verdict};
use crate::observe::{Measure, Record};
use crate::spec::{Amount, Amounts, Comparable, Of, Over, Percent, RatioTo, Resources, Size, Span};

/// Judges each amount that something is demanded of.
pub fn resources(wanted: &Resources, record: &Record, window: Window) -> Vec<Judgement> {
    wanted.each().flat_map(|(component, amounts)| component_of(component, amounts, record, window)).collect()
}

fn component_of(component: &str, amounts: &Amounts, record: &Record, window: Window) -> Vec<Judgement> {
    let size =
        |amount: &Option<Amount<Size>>, name, measure| amount.map(|amount| judge(amount, component, name, measure, record, window, Size));
    let time = |amount: &Option<Amount<Span>>, name, measure| {
        amount.map(|amount| judge(amount, component, name, measure, record, window, |us| Span(Duration::from_micros(us))))
    };
    let all = [
        size(&amounts.rss, "rss", Measure::Rss),
        size(&amounts.working_set, "workingSet", Measure::WorkingSet),
        size(&amounts.peak, "peak", Measure::Peak),
        time(&amounts.cpu_seconds, "cpuSeconds", Measure::Cpu),
        size(&amounts.peer_bytes, "peerBytes", Measure::PeerBytes),
        size(&amounts.db_size, "dbSize", Measure::DbSize),
        time(&amounts.fsync_p99, "fsyncP99", Measure::FsyncP99),
    ];
    all.into_iter().flatten().collect()
}

fn judge<T: Comparable + Display>(
    wanted: Amount<T>,
    component: &str,
    name: &str,
    measure: Measure,
    record: &Record,
    window: Window,
    unit: impl Fn(u64) -> T,
) -> Judgement {
    let (from, to) = window.over(wanted.over);
    let whose_of = |seen: BTreeMap<String, u64>| -> BTreeMap<String, u64> {
        match wanted.of {
            Of::Each => seen,
            Of::Sum if seen.is_empty() => seen,
            Of::Sum => BTreeMap::from([("all nodes".to_owned(), seen.values().sum())]),
            Of::Leader => {
                let leader = record.leader_at(to);
                seen.into_iter().filter(|(node, _)| leader.as_ref() == Some(node)).collect()
            }
        }
    };
    let meant = whose_of(record.measures.of(component, measure, from, to));
    // each with whether it holds
    let each: Vec<(bool, String)> = if wanted.ratio_to.is_some() {
        let before = whose_of(record.measures.before(component, measure, from));
        let ratio = |node: &String, value: u64| {
            let before = before.get(node).copied().filter(|before| *before > 0)?;
            let percent = Percent(u64::try_from(u128::from(value) * 100 / u128::from(before)).unwrap_or(u64::MAX));
            let words = format!("{node} {percent}, {} before and {} then", unit(before), unit(value));
            Some((wanted.ratios().holds(percent), words))
        };
        // who was not there before has nothing to be held against
        meant.iter().filter_map(|(node, value)| ratio(node, *value)).collect()
    } else {
        meant.iter().map(|(node, value)| (wanted.bounds().holds(unit(*value)), format!("{node} {}", unit(*value)))).collect()
    };
    let verdict = match each.iter().all(|(holds, _)| *holds) {
        _ if each.is_empty() => Verdict::Undecided,
        true => Verdict::Pass,
        false => Verdict::Fail,
    };
    let unseen = if meant.is_empty() { "nobody measured it" } else { "nobody measured it before the step" };
    let saw = if each.is_empty() { unseen.to_owned() } else { each.into_iter().map(|(_, words)| words).collect::<Vec<_>>().join(", ") };
    let words = format!("{}{}", limits(&wanted), whose(wanted.of, wanted.over));
    Judgement { name: format!("resources {component} {name}"), verdict, wanted: words, saw, evidence: Vec::new() }
}

/// The bounds in words.
fn limits<T: Comparable + Display>(wanted: &Amount<T>) -> String {
    match wanted.ratio_to {
        Some(RatioTo::Before) => format!("{} of what it was before", wanted.ratios()),
        None => wanted.bounds().to_string(),
    }
}

fn whose(of: Of, over: Over) -> String {
    let of = match of {
        Of::Each => " on each node",
        Of::Sum => " on all nodes together",
        Of::Leader => " on the leader's node",
    };
    let over = match over {
        Over::Step => "",
        Over::Run => ", since the run began",
    };
    format!("{of}{over}")
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &Resources) -> String {
    let parts = wanted.each().map(|(component, amounts)| {
        let size = |name: &str, amount: &Option<Amount<Size>>| amount.map(|a| format!("{name} {}", limits(&a)));
        let time = |name: &str, amount: &Option<Amount<Span>>| amount.map(|a| format!("{name} {}", limits(&a)));
        let all = [
            size("rss", &amounts.rss),
            size("workingSet", &amounts.working_set),
            size("peak", &amounts.peak),
            time("cpuSeconds", &amounts.cpu_seconds),
            size("peerBytes", &amounts.peer_bytes),
            size("dbSize", &amounts.db_size),
            time("fsyncP99", &amounts.fsync_p99),
        ];
        format!("{component}: {}", all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    });
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EtcdMetrics, EtcdSample, Member, MemberId, MemberStatus, Usage};
    use crate::spec::Limit;
    use crate::sys::clock::Stamp;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// Two nodes, of which the second leads: 100 and 200 MiB at most in the step, more before it.
    fn record() -> Record {
        let mut record = Record::default();
        for (node, factor) in [("cp-1", 1), ("cp-2", 2)] {
            for (s, rss) in [(1, 500), (11, 90), (12, 100)] {
                let usage = Usage { cpu_us: s * factor * 1_000_000, rss: (rss * factor) << 20, ..Usage::default() };
                record.measures.used(node, "etcd", at(s), &usage);
            }
            let metrics = EtcdMetrics { fsync_p99: Some(0.004), db_size: 1 << 20, ..EtcdMetrics::default() };
            record.measures.metrics(node, at(12), &metrics);
        }
        let member = |id, name: &str| Member { id: MemberId(id), name: name.into(), ..Member::default() };
        let status = Some(MemberStatus { id: MemberId(1), leader: MemberId(2), term: 2, ..MemberStatus::default() });
        let members = Some(vec![member(1, "cp-1"), member(2, "cp-2")]);
        record.sample(1, "cp-1", &EtcdSample { seen: at(12), members, status, error: None, gap_ms: None, looks: 1, missed: 0 });
        record
    }

    fn verdict(amounts: Amounts) -> (Verdict, String) {
        let wanted = Resources { etcd: Some(amounts), ..Resources::default() };
        let window = Window { from: at(10), to: at(20) };
        let judged = resources(&wanted, &record(), window).remove(0);
        (judged.verdict, judged.saw)
    }

    fn rss(max: u64, over: Over, of: Of) -> Amounts {
        let amount = Amount { equals: None, min: None, max: Some(Limit::Is(Size(max << 20))), ratio_to: None, over, of };
        Amounts { rss: Some(amount), ..Amounts::default() }
    }

    #[test]
    fn bounds_hold_for_each_for_the_sum_and_for_the_leader() {
        assert_eq!(verdict(rss(200, Over::Step, Of::Each)), (Verdict::Pass, "cp-1 100MiB, cp-2 200MiB".into()));
        assert_eq!(verdict(rss(199, Over::Step, Of::Each)).0, Verdict::Fail, "one of them");
        assert_eq!(verdict(rss(300, Over::Step, Of::Sum)), (Verdict::Pass, "all nodes 300MiB".into()));
        assert_eq!(verdict(rss(299, Over::Step, Of::Sum)).0, Verdict::Fail);
        assert_eq!(verdict(rss(200, Over::Step, Of::Leader)), (Verdict::Pass, "cp-2 200MiB".into()));
        assert_eq!(verdict(rss(199, Over::Step, Of::Leader)).0, Verdict::Fail);
    }

    #[test]
    fn the_run_has_more_than_the_step() {
        assert_eq!(verdict(rss(999, Over::Run, Of::Each)).0, Verdict::Fail, "1000 MiB before the step");
        assert_eq!(verdict(rss(1_000, Over::Run, Of::Each)).0, Verdict::Pass);
    }

    #[test]
    fn counters_are_what_was_used_meanwhile_and_units_are_kept() {
        let amount =
            |max| Amount { equals: None, min: None, max: Some(Limit::Is(Span(max))), ratio_to: None, over: Over::Step, of: Of::Each };
        let cpu = |s| Amounts { cpu_seconds: Some(amount(Duration::from_secs(s))), ..Amounts::default() };
        assert_eq!(verdict(cpu(22)), (Verdict::Pass, "cp-1 11.0s, cp-2 22.0s".into()));
        assert_eq!(verdict(cpu(21)).0, Verdict::Fail);
        let fsync = |ms| Amounts { fsync_p99: Some(amount(Duration::from_millis(ms))), ..Amounts::default() };
        assert_eq!(verdict(fsync(4)), (Verdict::Pass, "cp-1 4ms, cp-2 4ms".into()));
        assert_eq!(verdict(fsync(3)).0, Verdict::Fail);
    }

    #[test]
    fn ratios_are_to_the_last_value_before_the_step() {
        let of = |max, of| {
            let max = Some(Limit::Times(Percent(max)));
            let rss = Some(Amount { equals: None, min: None, max, ratio_to: Some(RatioTo::Before), over: Over::Step, of });
            verdict(Amounts { rss, ..Amounts::default() })
        };
        // 500 and 1000 MiB before it, 100 and 200 in it
        let saw = "cp-1 20%, 500MiB before and 100MiB then, cp-2 20%, 1000MiB before and 200MiB then";
        assert_eq!(of(20, Of::Each), (Verdict::Pass, saw.into()));
        assert_eq!(of(19, Of::Each).0, Verdict::Fail);
        assert_eq!(of(20, Of::Sum), (Verdict::Pass, "all nodes 20%, 1.4GiB before and 300MiB then".into()));
        assert_eq!(of(19, Of::Leader).0, Verdict::Fail);
        // cp-2's store was seen in the step alone
        let max = Some(Limit::Times(Percent(1)));
        let db_size = Some(Amount { equals: None, min: None, max, ratio_to: Some(RatioTo::Before), over: Over::Step, of: Of::Each });
        let db_size = Amounts { db_size, ..Amounts::default() };
        assert_eq!(verdict(db_size), (Verdict::Undecided, "nobody measured it before the step".into()));
    }

    #[test]
    fn what_nobody_measured_is_undecided() {
        let peak = Amounts { peak: rss(1, Over::Step, Of::Each).rss, ..Amounts::default() };
        assert_eq!(verdict(peak), (Verdict::Undecided, "nobody measured it".into()));
        assert_eq!(verdict(Amounts { peak: rss(1, Over::Step, Of::Sum).rss, ..Amounts::default() }).0, Verdict::Undecided);
    }
}
