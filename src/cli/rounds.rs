//! What is run, in which order: all cases round after round, each with a seed of its own; or those that failed in an earlier run.

use std::collections::BTreeSet;
use std::path::Path;

use super::args::{NodeArgs, RoundArgs};
use super::exit::Exit;
use super::{diag, files};
use crate::report::{self, Unlucky, plain};
use crate::workflow::{Choice, Plan, Request};

/// `--until-fail` without a number ends here all the same.
const PLENTY: u32 = 1_000;

/// One case in one of its rounds.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// What is run.
    pub(super) plan: Plan,
    /// Which round, counted from 1.
    pub(super) round: u32,
    /// How many there are at most.
    pub(super) rounds: u32,
    /// Whatever is random in it is drawn from this.
    pub(super) seed: u64,
}

impl Turn {
    /// The case's name, with its round where there are several.
    pub(super) fn name(&self) -> String {
        if self.rounds == 1 { self.plan.case.clone() } else { format!("{} round {}", self.plan.case, self.round) }
    }
}

/// All turns in order, a round of all cases before the next, from each case's seed. Round R draws from its seed + R - 1, so that one
/// round can be run alone.
pub(super) fn turns(cases: &[(Plan, u64)], args: &RoundArgs) -> Vec<Turn> {
    let rounds = args.repeat.map_or(if args.until_fail { PLENTY } else { 1 }, u32::from);
    let turn =
        |round: u32, plan: &Plan, seed: u64| Turn { plan: plan.clone(), round, rounds, seed: seed.wrapping_add(u64::from(round - 1)) };
    (1..=rounds).flat_map(|round| cases.iter().map(move |(plan, seed)| turn(round, plan, *seed))).collect()
}

/// The cases of a run that failed or were undecided, with their seeds, planned anew from their files.
///
/// # Errors
/// When that run cannot be read, or a file is not what it was.
pub(super) fn failed(dir: &Path, request: &Request, nodes: &NodeArgs) -> Result<Vec<(Plan, u64)>, (Exit, String)> {
    let (unlucky, doubts) = report::unlucky(dir).map_err(|e| (Exit::BadFile, format!("error: --rerun-failed: {e}")))?;
    for doubt in doubts {
        diag::say(&format!("warning: --rerun-failed {}: {doubt}", dir.display()));
    }
    let lost = unlucky.iter().flat_map(|case| forgotten(&case.repeat, nodes)).collect::<BTreeSet<_>>();
    if !lost.is_empty() {
        let lost = lost.into_iter().collect::<Vec<_>>().join(" and ");
        let what = format!("that run was given {lost}, this one is not: what failed there may pass here. It was");
        diag::say(&format!("warning: {what}\n  {}", plain(unlucky.first().map_or("", |case| &case.repeat))));
    }
    unlucky.iter().map(|case| planned(case, dir, request)).collect()
}

/// Options that say what runs in the nodes, and that only the earlier command has.
fn forgotten(repeat: &str, nodes: &NodeArgs) -> Vec<&'static str> {
    let now = [
        ("--name", nodes.name.is_some()),
        ("--image", nodes.image.is_some()),
        ("--kubeadm", nodes.kubeadm.is_some()),
        ("--kubelet", nodes.kubelet.is_some()),
        ("--etcd", nodes.etcd.is_some()),
    ];
    now.into_iter().filter(|(option, given)| !given && repeat.split(' ').any(|word| word == *option)).map(|(option, _)| option).collect()
}

fn planned(case: &Unlucky, dir: &Path, request: &Request) -> Result<(Plan, u64), (Exit, String)> {
    let wrong =
        |why: String| (Exit::BadFile, format!("error: --rerun-failed {}: {}", dir.display(), plain(&format!("case {}: {why}", case.name))));
    if case.file.is_empty() {
        return Err(wrong("no file made it".into()));
    }
    if !Path::new(&case.file).is_file() {
        return Err(wrong(format!("{} is no file", case.file)));
    }
    let choice = (!case.choice.is_empty()).then(|| Choice(case.choice.clone()));
    let vars =
        case.vars.iter().filter(|(name, _)| !request.vars.iter().any(|(given, _)| given == name)).chain(&request.vars).cloned().collect();
    let request = Request { cases: choice.into_iter().collect(), vars, ..request.clone() };
    let each = files::load(&[case.file.clone().into()], &request)?;
    let mut plans = each.into_iter().flat_map(|(_, loaded)| loaded.plans);
    match (plans.next(), plans.next()) {
        (Some(plan), None) if plan.choice == case.choice => Ok((plan, case.seed)),
        (None | Some(_), _) => Err(wrong(format!("{} has no such case any more", case.file))),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::workflow;

    fn plans() -> Vec<Plan> {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/workflows/join/parallel.yaml"));
        workflow::plans(path, &Request::default()).expect("it plans").plans
    }

    fn seen(args: &RoundArgs) -> Vec<(String, u64)> {
        let cases: Vec<(Plan, u64)> = plans().into_iter().map(|plan| (plan, u64::MAX)).collect();
        turns(&cases, args).iter().map(|turn| (turn.name(), turn.seed)).collect()
    }

    #[test]
    fn each_round_has_a_name_and_a_seed_of_its_own() {
        let once = RoundArgs { repeat: None, until_fail: false, seed: None, rerun_failed: None };
        assert_eq!(seen(&once), [("parallel".to_owned(), u64::MAX)]);
        let twice = RoundArgs { repeat: NonZeroU32::new(2), ..once.clone() };
        assert_eq!(seen(&twice), [("parallel round 1".to_owned(), u64::MAX), ("parallel round 2".to_owned(), 0)]);
        let long = RoundArgs { until_fail: true, ..once };
        assert_eq!(seen(&long).len(), PLENTY as usize, "it ends");
    }
}
