//! `promotion`: from a learner's first moment to its vote.

use std::time::Duration;

use crate::event::{Judgement, Moment, Verdict};
use crate::observe::{Life, Record};
use crate::spec::{Promotion, PromotionStart};
use crate::sys::clock::{Stamp, human};

/// Judges each member that was announced between `from` and `to`. A look that fell out makes a time uncertain by as much;
/// where that could change the verdict it is undecided.
pub fn promotion(wanted: &Promotion, record: &Record, from: Stamp, to: Stamp) -> Vec<Judgement> {
    let blind = record.longest_blindness(from, to);
    let within = |at: Stamp| from <= at && at <= to;
    let announced: Vec<&Life> = record.lives.values().filter(|l| l.sight(Moment::Announced).is_some_and(|s| within(s.at))).collect();
    let words = describe(wanted);
    if announced.is_empty() {
        let saw = "no learner was seen in this step".to_owned();
        return vec![Judgement { name: "promotion".into(), verdict: Verdict::Undecided, wanted: words, saw, evidence: Vec::new() }];
    }
    announced.into_iter().map(|life| one(wanted, &words, life, to, blind)).collect()
}

fn one(wanted: &Promotion, words: &str, life: &Life, to: Stamp, blind: Duration) -> Judgement {
    let moment = match wanted.from {
        PromotionStart::Announced => Moment::Announced,
        PromotionStart::Started => Moment::Started,
    };
    let who = if life.name.is_empty() { "a member without a name" } else { life.name.as_str() };
    let (name, wanted_words) = (format!("promotion {who}"), words.to_owned());
    let judgement =
        |verdict, saw: String, evidence: Vec<u64>| Judgement { name: name.clone(), verdict, wanted: wanted_words.clone(), saw, evidence };
    let Some(start) = life.sight(moment) else {
        return judgement(Verdict::Fail, "it never started".into(), Vec::new());
    };
    let Some(end) = life.sight(Moment::Promoted) else {
        let saw = format!("still a learner {} after it", human(to.since(start.at)));
        return judgement(Verdict::Fail, saw, vec![start.seq]);
    };
    let took = end.at.since(start.at);
    let evidence = vec![start.seq, end.seq];
    let hold = |d: Duration| wanted.bounds.hold(crate::spec::Span(d));
    let verdict = match (hold(took.saturating_sub(blind)), hold(took), hold(took + blind)) {
        (true, true, true) => Verdict::Pass,
        (false, false, false) => Verdict::Fail,
        _ => Verdict::Undecided,
    };
    let doubt = if blind.is_zero() { String::new() } else { format!(" (± {}, looks that fell out)", human(blind)) };
    judgement(verdict, format!("{}{doubt}", human(took)), evidence)
}

pub(super) fn describe(wanted: &Promotion) -> String {
    let start = match wanted.from {
        PromotionStart::Announced => "announced",
        PromotionStart::Started => "started",
    };
    let min = wanted.bounds.min.map(|m| format!(", at least {m}"));
    let max = wanted.bounds.max.map(|m| format!(", at most {m}"));
    format!("from {start} to voter{}{}", min.unwrap_or_default(), max.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EtcdSample, Member, MemberId, MemberStatus};
    use crate::spec::{Bounds, Span};

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// A record of one learner announced at 1 s and promoted at `promoted`, with this many looks missed beside it.
    fn record(promoted: Option<u64>, missed: u64) -> Record {
        let mut record = Record::default();
        let mut see = |seq, ms, name: &str, learner, missed| {
            let members = Some(vec![Member { id: MemberId(2), name: name.into(), peer_urls: vec![], learner }]);
            let sample = EtcdSample { seen: at(ms), members, status: Some(MemberStatus::default()), error: None, looks: 1, missed };
            record.sample(seq, "cp-1", &sample, Duration::from_millis(100));
        };
        see(1, 1_000, "", true, 0);
        see(2, 2_000, "cp-2", true, missed);
        if let Some(ms) = promoted {
            see(3, ms, "cp-2", false, 0);
        }
        record
    }

    fn verdict(record: &Record, max: u64) -> (Verdict, String) {
        let wanted = Promotion { from: PromotionStart::Announced, bounds: Bounds { min: None, max: Some(Span(Duration::from_secs(max))) } };
        let judged = promotion(&wanted, record, at(0), at(60_000)).remove(0);
        (judged.verdict, judged.saw)
    }

    #[test]
    fn passes_and_fails_by_the_clock_from_announced() {
        assert_eq!(verdict(&record(Some(4_000), 0), 5), (Verdict::Pass, "3.0s".into()));
        assert_eq!(verdict(&record(Some(9_000), 0), 5), (Verdict::Fail, "8.0s".into()));
        assert_eq!(verdict(&record(None, 0), 5).0, Verdict::Fail);
    }

    #[test]
    fn is_undecided_where_looks_that_fell_out_could_change_it() {
        assert_eq!(verdict(&record(Some(5_900), 2), 5).0, Verdict::Undecided);
        assert_eq!(verdict(&record(Some(4_000), 2), 5).0, Verdict::Pass, "far from the bound");
        assert_eq!(verdict(&Record::default(), 5).0, Verdict::Undecided, "nothing was seen");
    }
}
