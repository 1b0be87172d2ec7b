//! `joinder advise`: may the next control plane join now, and why not.

use std::fmt::Write;
use std::time::Duration;

use tokio::time::Instant;

use super::args::{AdviseArgs, WatchOutput};
use super::context::Signals;
use super::diag;
use super::exit::Exit;
use super::show;
use crate::cluster;
use crate::event::Bus;
use crate::kubeadm::advice::{Advice, Answer};
use crate::node::Role;
use crate::observe::{self, Observer};
use crate::report::plain;
use crate::sys::stop::Stop;
use crate::sys::wait::pause;

const ATTACH: Duration = Duration::from_secs(10);
/// A connection between voters counts after 5 s, and nothing but looking tells how long it is held: so long at most, and some more.
const ENOUGH: Duration = Duration::from_secs(8);
/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);

pub(super) async fn advise(args: &AdviseArgs) -> Exit {
    let signals = Signals::listen();
    match look(&args.name, &signals).await {
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e),
        Ok(None) => signals.or(Exit::Undecided),
        Ok(Some(advice)) => {
            let shown = match args.output {
                Some(WatchOutput::Json) => show::json(&serde_json::to_value(&advice).unwrap_or_default()),
                None => show::write(&plain(&text(&args.name, &advice))),
            };
            if shown == Exit::Passed { exit(advice.answer) } else { shown }
        }
    }
}

fn exit(answer: Answer) -> Exit {
    match answer {
        Answer::Yes => Exit::Passed,
        Answer::No => Exit::Failed,
        Answer::CannotTell => Exit::Undecided,
    }
}

/// Looks until it can be told, or it has looked for long enough; `None` when a signal came.
async fn look(name: &str, signals: &Signals) -> anyhow::Result<Option<Advice>> {
    let Stop { soft, .. } = &signals.stop;
    let (runtime, _) = signals.engine().await?;
    let cluster = cluster::attach(&runtime, name, ATTACH).await?;
    if cluster.is_etcd_alone() {
        anyhow::bail!("cluster {name:?} is etcd alone, which no control plane joins; `joinder watch {name}` shows its members");
    }
    let absent: Vec<(String, String)> =
        cluster.absent.iter().filter(|node| node.role == Role::ControlPlane).map(|node| (node.name.clone(), node.state.clone())).collect();
    let observer = Observer::start(&cluster.nodes, &Bus::new());
    let end = Instant::now() + ENOUGH;
    loop {
        let advice = tokio::select! {
            () = soft.cancelled() => return Ok(None),
            advice = observe::advice(&cluster.nodes, &absent, &observer) => advice,
        };
        if advice.answer != Answer::CannotTell || Instant::now() >= end {
            return Ok(Some(advice));
        }
        if pause("the next look", EVERY, soft).await.is_err() {
            return Ok(None);
        }
    }
}

fn text(name: &str, advice: &Advice) -> String {
    let mut text = format!("may the next control plane join {name}? {}\n", advice.answer.words());
    let width = advice.rules.iter().map(|finding| finding.rule.len()).max().unwrap_or_default();
    for finding in &advice.rules {
        let _ = writeln!(text, "  {:<11}  {:<width$}  {}", finding.answer.words(), finding.rule, finding.saw);
        if finding.answer != Answer::Yes {
            let remedy = finding.remedy.as_ref().map(|remedy| ("do", remedy));
            for (word, more) in remedy.into_iter().chain([("rule", &finding.source)]) {
                let _ = writeln!(text, "  {:<11}  {:<width$}  {word}: {more}", "", "");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeadm::advice::Finding;

    #[test]
    fn what_is_wrong_has_its_remedy_and_rule_and_the_answer_is_the_exit_code() {
        let finding = |rule, answer, saw: &str| Finding {
            rule,
            answer,
            saw: saw.into(),
            remedy: (answer != Answer::Yes).then(|| "wait until it is promoted".to_owned()),
            source: "etcd: too many learner members".into(),
        };
        let rules = vec![finding("quorum", Answer::Yes, "a list"), finding("learner-limit", Answer::No, "1 of 1 learners")];
        let want = "may the next control plane join demo? no\n  yes          quorum         a list\n  no           learner-limit  1 of 1 learners\n                              do: wait until it is promoted\n                              rule: etcd: too many learner members\n";
        assert_eq!(text("demo", &Advice { answer: Answer::No, rules }), want);
        for (answer, code) in [(Answer::Yes, 0), (Answer::No, 100), (Answer::CannotTell, 102)] {
            assert_eq!(exit(answer).code(), code);
        }
    }
}
