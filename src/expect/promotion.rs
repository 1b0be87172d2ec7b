//! `promotion`: from a learner's first moment to its vote.

use super::noise;
use crate::event::{Judgement, Moment, Verdict};
use crate::observe::{Life, Noise, Record};
use crate::spec::{Compare, Promotion, PromotionStart};
use crate::sys::clock::{Stamp, human};

/// Judges each member that was announced or promoted between `from` and `to`. Each moment may have come as much earlier as the looks are apart;
/// where that could change the verdict it is undecided. Looks that fell out are in that distance; a disk that was slow may be
/// why something took long.
pub fn promotion(wanted: &Promotion, record: &Record, from: Stamp, to: Stamp) -> Vec<Judgement> {
    let within = |at: Stamp| from <= at && at <= to;
    let seen = |life: &Life, moment| life.sight(moment).is_some_and(|sight| within(sight.at));
    let announced: Vec<&Life> =
        record.lives.values().filter(|life| seen(life, Moment::Announced) || seen(life, Moment::Promoted)).collect();
    let words = describe(wanted);
    let noise = record.measures.noise(from, to);
    if announced.is_empty() {
        let saw = "no learner was seen in this step".to_owned();
        return vec![Judgement { name: "promotion".into(), verdict: Verdict::Undecided, wanted: words, saw, evidence: Vec::new() }];
    }
    announced.into_iter().map(|life| one(wanted, &words, life, to, noise.as_ref())).collect()
}

fn one(wanted: &Promotion, words: &str, life: &Life, to: Stamp, noise: Option<&Noise>) -> Judgement {
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
    // The start may have been earlier than seen, which makes it longer; so may the end, which makes it shorter.
    let (least, most) = (took.saturating_sub(end.unsure), took + start.unsure);
    let bounds = Compare { equals: None, min: wanted.min, max: wanted.max };
    let verdict = noise::bound(&bounds, (least, most), noise.is_some_and(|noise| noise.slow_disk));
    let saw = format!("{} ({} to {})", human(took), human(least), human(most));
    judgement(verdict, noise::beside(saw, verdict, noise), evidence)
}

pub(super) fn describe(wanted: &Promotion) -> String {
    let start = match wanted.from {
        PromotionStart::Announced => "announced",
        PromotionStart::Started => "started",
    };
    let min = wanted.min.map(|m| format!(", at least {m}"));
    let max = wanted.max.map(|m| format!(", at most {m}"));
    format!("from {start} to voter{}{}", min.unwrap_or_default(), max.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::{EtcdSample, Member, MemberId};
    use crate::spec::Span;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    /// A record of one learner announced at 1 s and promoted at `promoted`, with looks this far apart.
    fn record(promoted: Option<u64>, gap: u64) -> Record {
        let mut record = Record::default();
        let mut see = |seq, ms, name: &str, learner| {
            let members = Some(vec![Member { id: MemberId(2), name: name.into(), peer_urls: vec![], learner }]);
            let sample = EtcdSample { seen: at(ms), members, status: None, error: None, gap_ms: Some(gap), looks: 1, missed: 0 };
            record.sample(seq, "cp-1", &sample);
        };
        see(1, 1_000, "", true);
        see(2, 2_000, "cp-2", true);
        if let Some(ms) = promoted {
            see(3, ms, "cp-2", false);
        }
        record
    }

    fn verdict(record: &Record, min: u64, max: u64) -> (Verdict, String) {
        let bound = |s| Some(Span(Duration::from_secs(s)));
        let wanted = Promotion { from: PromotionStart::Announced, min: bound(min), max: bound(max), when: None };
        let judged = promotion(&wanted, record, at(0), at(60_000)).remove(0);
        (judged.verdict, judged.saw)
    }

    #[test]
    fn passes_and_fails_by_the_clock_from_announced() {
        assert_eq!(verdict(&record(Some(4_000), 100), 0, 5), (Verdict::Pass, "3.0s (2.9s to 3.1s)".into()));
        assert_eq!(verdict(&record(Some(9_000), 100), 0, 5).0, Verdict::Fail);
        assert_eq!(verdict(&record(Some(4_000), 100), 4, 5).0, Verdict::Fail, "too fast");
        assert_eq!(verdict(&record(None, 100), 0, 5).0, Verdict::Fail, "never promoted");
    }

    #[test]
    fn looks_that_fell_out_make_it_undecided_only_where_they_could_change_it() {
        // looks were 2 s apart: it took 1 to 5 s
        let noisy = |gap| {
            let mut noisy = record(Some(4_000), gap);
            let looks = EtcdSample { seen: at(3_000), members: None, status: None, error: None, gap_ms: None, looks: 1, missed: 9 };
            noisy.measures.looked("cp-1", &looks);
            noisy
        };
        let words = "9 of 13 looks at etcd on cp-1 could not be made in time";
        assert_eq!(verdict(&noisy(2_000), 0, 4), (Verdict::Undecided, format!("3.0s (1.0s to 5.0s); but {words}")));
        assert_eq!(verdict(&noisy(2_000), 0, 5), (Verdict::Pass, format!("3.0s (1.0s to 5.0s); that {words} changes nothing")));
        assert_eq!(verdict(&noisy(100), 0, 2).0, Verdict::Fail, "at the best it was too long");
    }

    #[test]
    fn a_slow_disk_explains_a_long_time_and_no_short_one() {
        let mut slow = record(Some(4_000), 100);
        let metrics = crate::event::EtcdMetrics { fsync_p99: Some(0.512), ..Default::default() };
        slow.measures.metrics("cp-1", at(0), &metrics);
        let wanted = |max| {
            let max = Some(Span(Duration::from_secs(max)));
            let wanted = Promotion { from: PromotionStart::Announced, min: None, max, when: None };
            promotion(&wanted, &slow, at(500), at(60_000)).remove(0)
        };
        assert_eq!(wanted(30).verdict, Verdict::Pass, "far below");
        assert_eq!(wanted(2).verdict, Verdict::Undecided);
        assert!(wanted(2).saw.contains("; but the disk was slow"), "{}", wanted(2).saw);
    }

    #[test]
    fn is_undecided_where_the_distance_of_the_looks_could_change_it() {
        assert_eq!(verdict(&record(Some(5_900), 200), 0, 5).0, Verdict::Undecided);
        assert_eq!(verdict(&record(Some(6_100), 200), 0, 5).0, Verdict::Undecided);
        assert_eq!(verdict(&record(Some(4_000), 200), 0, 5).0, Verdict::Pass, "far from the bound");
        assert_eq!(verdict(&record(Some(4_000), 3_000), 2, 5).0, Verdict::Undecided, "could be anything");
        assert_eq!(verdict(&Record::default(), 0, 5).0, Verdict::Undecided, "nothing was seen");
    }
}
