//! `advise`: may the next control plane join now?

use std::time::Duration;

use super::error::StepError;
use super::world::World;
use crate::event::Event;
use crate::kubeadm::advice::{Advice, Answer};
use crate::observe;
use crate::spec::{Advise, Advised};
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, WaitError, wait};

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// How long the advice may take to be as wanted: a look at connections takes a second, and they count after five.
const WITHIN: Duration = Duration::from_secs(10);

/// Asks until the advice is as wanted, or the time is up.
///
/// # Errors
/// [`StepError::Wait`] with what the first and the last look came to.
pub async fn advise(world: &World, wanted: &Advise, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let observer = world.observer.as_ref().ok_or(StepError::NoCluster)?;
    let absent: Vec<(String, String)> = cluster.absent.iter().map(|node| (node.name.clone(), node.state.clone())).collect();
    let limit = wanted.within.map_or(WITHIN, |within| within.0);
    // at least one look, however short the time
    let patience = Patience { limit: limit.max(EVERY), every: EVERY, stop: stop.soft.clone() };
    let ended = wait(format!("advice that is {}", words(wanted)), &patience, || async {
        let advice = observe::advice(&cluster.nodes, &absent, observer).await;
        if is(wanted, &advice) { Look::Done(advice) } else { Look::NotYet(advice.line()) }
    });
    match ended.await {
        Ok(advice) => {
            world.events.tell(Event::Note { text: format!("may the next control plane join? {}", advice.line()) });
            Ok(())
        }
        Err(WaitError::Stopped { .. }) => Err(StepError::Stopped),
        Err(e @ (WaitError::TimedOut { .. } | WaitError::Never { .. })) => Err(e.into()),
    }
}

fn words(wanted: &Advise) -> String {
    let because = wanted.because.as_ref().map(|text| format!(" because of {text:?}")).unwrap_or_default();
    format!("{}{because}", wanted.is.as_str())
}

fn is(wanted: &Advise, advice: &Advice) -> bool {
    let answer = match wanted.is {
        Advised::Yes => Answer::Yes,
        Advised::No => Answer::No,
    };
    advice.answer == answer && wanted.because.as_ref().is_none_or(|text| advice.line().contains(text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeadm::advice::Finding;

    #[test]
    fn only_the_wanted_answer_with_the_wanted_reason_will_do() {
        let advice = |answer| Advice {
            answer,
            rules: vec![Finding { rule: "learner-limit", answer, saw: "1 of 1 learners".into(), remedy: None, source: String::new() }],
        };
        let wanted = |is, because: Option<&str>| Advise { is, because: because.map(str::to_owned), within: None };
        for (wanted, answer, want) in [
            (wanted(Advised::Yes, None), Answer::Yes, true),
            (wanted(Advised::Yes, None), Answer::CannotTell, false),
            (wanted(Advised::No, None), Answer::CannotTell, false),
            (wanted(Advised::No, None), Answer::No, true),
            (wanted(Advised::No, Some("learner-limit")), Answer::No, true),
            (wanted(Advised::No, Some("connected")), Answer::No, false),
        ] {
            assert_eq!(is(&wanted, &advice(answer)), want, "{wanted:?} {answer:?}");
        }
        assert_eq!(words(&wanted(Advised::No, Some("x"))), "no because of \"x\"");
    }
}
