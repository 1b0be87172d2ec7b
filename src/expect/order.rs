//! `order`: moments of nodes, one after the other.

use std::time::Duration;

use super::window::Window;
use crate::event::{Judgement, Moment, Verdict};
use crate::observe::{Record, Sight, Step};
use crate::spec::{MomentName, Pick, Point};
use crate::sys::clock::human;

/// Judges the first of each moment in the step; `name_of` finds a node's name. Two moments that are closer than anybody looked have
/// no order.
pub fn order(wanted: &[Point], record: &Record, window: Window, name_of: impl Fn(&Pick) -> String) -> Judgement {
    let seen: Vec<(&Point, Option<Sight>)> =
        wanted.iter().map(|point| (point, find(record, &name_of(&point.node), point.moment, window))).collect();
    let began = window.from;
    let saw = seen.iter().map(|(point, sight)| match sight {
        Some(sight) => format!("{point} at {}", human(sight.at.since(began))),
        None => format!("{point} was not seen"),
    });
    let saw = saw.collect::<Vec<_>>().join(", ");
    let pairs = seen.windows(2).map(|pair| match (pair[0].1, pair[1].1) {
        (Some(first), Some(second)) => between(first, second),
        (None, _) | (_, None) => Verdict::Undecided,
    });
    let verdict = pairs.max().unwrap_or(Verdict::Undecided);
    let evidence = seen.iter().filter_map(|(_, sight)| sight.map(|sight| sight.seq)).collect();
    Judgement { name: "order".into(), verdict, wanted: describe(wanted), saw, evidence }
}

/// Each may have been as much earlier as it is unsure.
fn between(first: Sight, second: Sight) -> Verdict {
    let late = |a: Sight, b: Sight| a.at.mono.saturating_sub(nanos(a.unsure)) > b.at.mono;
    if late(first, second) {
        return Verdict::Fail;
    }
    let sure = first.at.mono <= second.at.mono.saturating_sub(nanos(second.unsure));
    if sure { Verdict::Pass } else { Verdict::Undecided }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn find(record: &Record, node: &str, moment: MomentName, window: Window) -> Option<Sight> {
    match what(moment) {
        What::Member(moment) => {
            let lives = record.lives.values().filter(|life| life.name == node).filter_map(|life| life.sight(moment));
            lives.filter(|sight| window.holds(sight.at)).min_by_key(|sight| sight.at)
        }
        What::Node(step) => {
            let all = record.story.milestones.iter().filter(|stone| stone.node == node && stone.what == step && window.holds(stone.at));
            all.min_by_key(|stone| stone.at).map(|stone| Sight { at: stone.at, unsure: unsure(step), seq: stone.seq })
        }
    }
}

/// How much earlier it may have been than it was seen: the API server is asked every 250 ms, the rest carries its own time.
fn unsure(step: Step) -> Duration {
    match step {
        Step::Registered | Step::Ready => Duration::from_millis(500),
        Step::KubeadmStarted | Step::KubeadmFinished | Step::KubeletCertificate => Duration::from_millis(10),
    }
}

enum What {
    Member(Moment),
    Node(Step),
}

fn what(moment: MomentName) -> What {
    match moment {
        MomentName::KubeadmStarted => What::Node(Step::KubeadmStarted),
        MomentName::Announced => What::Member(Moment::Announced),
        MomentName::Started => What::Member(Moment::Started),
        MomentName::PeerActive => What::Member(Moment::PeerActive),
        MomentName::CaughtUp => What::Member(Moment::CaughtUp),
        MomentName::Promoted => What::Member(Moment::Promoted),
        MomentName::GatePassed => What::Member(Moment::GatePassed),
        MomentName::Removed => What::Member(Moment::Removed),
        MomentName::KubeletCertificate => What::Node(Step::KubeletCertificate),
        MomentName::Registered => What::Node(Step::Registered),
        MomentName::KubeadmFinished => What::Node(Step::KubeadmFinished),
        MomentName::Ready => What::Node(Step::Ready),
    }
}

/// What is demanded, in words.
pub(super) fn describe(wanted: &[Point]) -> String {
    wanted.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MemberId;
    use crate::observe::Life;
    use crate::sys::clock::Stamp;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn judged(promoted: u64, announced: Option<u64>, unsure: u64) -> (Verdict, String) {
        let mut record = Record::default();
        let sight = |ms| Sight { at: at(ms), unsure: Duration::from_millis(unsure), seq: ms };
        let second = Life { name: "cp2".into(), moments: [(Moment::Promoted, sight(promoted))].into() };
        let third = Life { name: "cp3".into(), moments: announced.map(|ms| (Moment::Announced, sight(ms))).into_iter().collect() };
        record.lives = [(MemberId(2), second), (MemberId(3), third)].into();
        record.story.milestone("cp3", Step::Ready, at(1), 1);
        record.story.milestone("cp3", Step::Ready, at(19_000), 9);
        let wanted: Vec<Point> = ["cp2 promoted", "cp3 announced", "cp3 ready"].map(|text| text.parse().expect("a moment")).into();
        let judgement = order(&wanted, &record, Window { from: at(1_000), to: at(20_000) }, ToString::to_string);
        (judgement.verdict, judgement.saw)
    }

    #[test]
    fn moments_in_order_pass_and_others_fail() {
        let (verdict, saw) = judged(5_000, Some(6_000), 100);
        assert_eq!((verdict, saw.as_str()), (Verdict::Pass, "cp2 promoted at 4.0s, cp3 announced at 5.0s, cp3 ready at 18.0s"));
        assert_eq!(judged(6_200, Some(6_000), 100).0, Verdict::Fail);
        assert_eq!(judged(6_000, Some(19_900), 100).0, Verdict::Fail, "the last two");
    }

    #[test]
    fn moments_that_are_too_close_or_were_not_seen_decide_nothing() {
        assert_eq!(judged(6_050, Some(6_000), 100).0, Verdict::Undecided, "it may have been before");
        assert_eq!(judged(5_950, Some(6_000), 100).0, Verdict::Undecided, "it may have been behind");
        assert_eq!(judged(5_000, None, 100).0, Verdict::Undecided);
        assert_eq!(judged(500, Some(6_000), 100).0, Verdict::Undecided, "it was before the step");
    }
}
