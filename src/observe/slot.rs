//! Who holds the one place for a learner while another node waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::passage::Stretch;
use super::record::Life;
use crate::event::{MemberId, Moment, SpanKind};
use crate::sys::clock::{Stamp, human};

/// How long kubeadm waits before it asks again: who was refused waited for so long at least. A lost answer alone is shorter.
const RETRY: Duration = Duration::from_millis(500);

/// One line for each wait of `node`: who had the place meanwhile, for how long, and what of the wait no learner explains.
pub(super) fn holders(lives: &BTreeMap<MemberId, Life>, node: &str, stretches: &[Stretch]) -> Vec<String> {
    let waits = stretches.iter().filter(|stretch| stretch.kind == SpanKind::SlotWait && stretch.took >= RETRY);
    waits.map(|wait| describe(lives, node, wait)).collect()
}

fn describe(lives: &BTreeMap<MemberId, Life>, node: &str, wait: &Stretch) -> String {
    let (from, to) = (wait.began, wait.began.after(wait.took));
    let mut held: Vec<(Stamp, String, Duration)> = Vec::new();
    for (id, life) in lives {
        let Some(announced) = life.sight(Moment::Announced).filter(|_| life.name != node) else { continue };
        let end = life.sight(Moment::Promoted).or(life.sight(Moment::Removed)).map_or(to, |sight| sight.at);
        let took = end.min(to).since(announced.at.max(from));
        if !took.is_zero() {
            held.push((announced.at, if life.name.is_empty() { id.to_string() } else { life.name.clone() }, took));
        }
    }
    held.sort();
    let rest = wait.took.saturating_sub(held.iter().map(|(.., took)| *took).sum());
    let mut parts: Vec<String> = held.iter().map(|(_, name, took)| format!("{name} held it for {}", human(*took))).collect();
    parts.push(format!("{} were no learner's: the 5 s behind a promotion, and the next try", human(rest)));
    format!("{node} waited {} for the learner slot: {}", human(wait.took), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Sight;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn life(name: &str, announced: u64, promoted: Option<u64>) -> Life {
        let sight = |ms| Sight { at: at(ms), unsure: Duration::ZERO, seq: 1 };
        let mut life = Life { name: name.into(), ..Life::default() };
        life.moments.insert(Moment::Announced, sight(announced));
        life.moments.extend(promoted.map(|ms| (Moment::Promoted, sight(ms))));
        life
    }

    #[test]
    fn the_wait_is_shared_out_among_those_who_held_the_slot() {
        let lives = [
            (MemberId(1), life("cp-2", 500, Some(3_000))),
            (MemberId(2), life("cp-4", 6_000, Some(7_000))),
            (MemberId(3), life("cp-3", 9_000, None)),
        ];
        let wait = Stretch { kind: SpanKind::SlotWait, began: at(1_000), took: Duration::from_secs(8) };
        let other = Stretch { kind: SpanKind::Prepare, ..wait };
        let said = holders(&lives.into(), "cp-3", &[other, wait]);
        assert_eq!(
            said,
            [
                "cp-3 waited 8.0s for the learner slot: cp-2 held it for 2.0s, cp-4 held it for 1.0s, 5.0s were no learner's: the 5 s behind a promotion, and the next try"
            ]
        );
    }

    #[test]
    fn a_learner_that_never_ends_is_named_by_its_id() {
        let lives = [(MemberId(0xab), life("", 0, None))].into();
        let wait = Stretch { kind: SpanKind::SlotWait, began: at(1_000), took: Duration::from_secs(2) };
        assert!(holders(&lives, "cp-3", &[wait])[0].contains("ab held it for 2.0s, 0ms were no learner's"));
    }
}
