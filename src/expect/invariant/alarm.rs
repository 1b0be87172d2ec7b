//! No member raises an alarm: no space, or corrupt data.

use super::rule::{End, Rule, Shown};
use super::view::View;
use crate::event::{Event, Told};

/// How etcd writes an alarm among a status' errors (`AlarmMember.String` in `server/etcdserver/api/v3rpc/maintenance.go`).
const WORD: &str = "alarm:";

/// How many statuses had none.
#[derive(Default)]
pub(super) struct NoAlarm {
    looks: u64,
    last: u64,
}

impl Rule for NoAlarm {
    fn hear(&mut self, told: &Told, _: &View) -> Option<Shown> {
        let Event::Etcd { node, sample } = &told.event else { return None };
        let status = sample.status.as_ref()?;
        (self.looks, self.last) = (self.looks + 1, told.seq);
        let alarm = status.errors.iter().find(|error| error.contains(WORD))?;
        Some(Shown::new(format!("{node}: {alarm}"), [told.seq]))
    }

    fn end(&self, _: &View) -> End {
        match self.looks {
            0 => End::Unseen("no member told its status".into()),
            looks => End::Held(Shown::new(format!("none in {looks} statuses"), [self.last])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tale::Tale;
    use crate::event::Verdict;
    use crate::spec::Invariant;

    #[test]
    fn an_alarm_breaks_it_and_another_error_does_not() {
        let tale = |error: &str| Tale::of_three().error(2, error).looks(2, &[1, 2, 3]).judged(Invariant::NoAlarm);
        assert_eq!(tale("etcdserver: no leader").0, Verdict::Pass);
        let (verdict, saw) = tale("memberID:2 alarm:NOSPACE ");
        assert_eq!((verdict, saw.as_str()), (Verdict::Fail, "cp-2: memberID:2 alarm:NOSPACE "));
        assert_eq!(Tale::new(1).judged(Invariant::NoAlarm).0, Verdict::Undecided);
    }
}
