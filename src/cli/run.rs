//! `joinder run`: workflows, one after the other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::task::JoinSet;

use super::args::{Output, RunArgs};
use super::context::Signals;
use super::exit::Exit;
use super::rounds::Turn;
use super::{case, diag, dry_run, files, get, list, rounds};
use crate::cluster;
use crate::event::{self, Bus, Event};
use crate::report::{Artifacts, Reporter, Verbosity, plain};
use crate::runner::{self, CaseResult};
use crate::runtime::label::Lifetime;
use crate::sys::clock::Stamp;
use crate::sys::own::Cost;
use crate::sys::shell::quoted;
use crate::sys::{env, random};
use crate::workflow::Plan;

pub(super) async fn run(args: RunArgs) -> Exit {
    let cases = match cases(&args) {
        Ok(cases) => cases,
        Err((exit, problems)) => {
            diag::say(&problems);
            return exit;
        }
    };
    let plans = || cases.iter().map(|(plan, _)| plan);
    if args.list {
        return list::list(&plans().collect::<Vec<_>>(), args.output.unwrap_or(Output::Name));
    }
    if cases.is_empty() {
        // nothing is wrong with that, and nothing was judged
        diag::say(&match (&args.rounds.rerun_failed, args.select.partition) {
            (Some(dir), _) => format!("no case of {} failed: nothing is run", dir.display()),
            (None, partition) => {
                format!("no case falls to --partition {}: nothing is run", partition.map_or(String::new(), |p| p.to_string()))
            }
        });
        return Exit::Passed;
    }
    if args.dry_run {
        return get::write(&plain(&plans().map(dry_run::describe).collect::<String>()));
    }
    let signals = Signals::listen();
    match execute(&args, &cases, &signals).await {
        Ok(exit) => exit,
        Err((exit, error)) => diag::fail(signals.or(exit), &error),
    }
}

/// What is to be run, each with the seed of its first round.
fn cases(args: &RunArgs) -> Result<Vec<(Plan, u64)>, (Exit, String)> {
    let name = args.nodes.name.as_deref();
    if let Some(dir) = &args.rounds.rerun_failed {
        return rounds::failed(dir, &args.vars.vars, name);
    }
    let plans = files::plans(&args.files, &args.vars.vars, &args.select, name)?;
    let seed = match args.rounds.seed {
        Some(seed) => seed,
        None => random::seed().map_err(|e| (Exit::BadEnvironment, format!("error: no seed: {e}")))?,
    };
    Ok(plans.into_iter().map(|plan| (plan, seed)).collect())
}

async fn execute(args: &RunArgs, cases: &[(Plan, u64)], signals: &Signals) -> Result<Exit, (Exit, anyhow::Error)> {
    let environment = |e: anyhow::Error| (Exit::BadEnvironment, e);
    let began = Stamp::now();
    let (runtime, about) = signals.engine().await.map_err(|e| environment(e.into()))?;
    let run = random::word(8).map_err(|e| environment(e.into()))?;
    let dir = artifacts_dir(args.artifacts.as_deref(), &run).map_err(environment)?;
    let artifacts = Artifacts::create(&dir).map_err(|e| environment(e.into()))?;

    let events = Bus::new();
    let verbosity = if args.verbose { Verbosity::Verbose } else { Verbosity::Normal };
    let mut reporter = JoinSet::new();
    reporter.spawn(Reporter::new(Some(artifacts), verbosity).listen(events.subscribe()));
    events.tell(Event::RunStarted {
        format: event::FORMAT,
        run: run.clone(),
        joinder: env!("CARGO_PKG_VERSION").into(),
        engine: about.describe(),
    });

    let mut whole = CaseResult::default();
    let mut broken = None;
    match cluster::collect_garbage(runtime.as_ref(), case::REMOVAL, &signals.stop.hard).await {
        Ok(gone) if gone.removed.is_empty() && gone.left.is_empty() => {}
        Ok(gone) => drop(events.tell(Event::Note { text: format!("removed what dead runs had left: {}", gone.removed.join(", ")) })),
        Err(e) => drop(events.tell(Event::Warning { text: e.to_string() })),
    }
    let turns = rounds::turns(cases, &args.rounds);
    for (at, turn) in turns.iter().enumerate() {
        let plan = turn.plan;
        let lifetime = if args.nodes.retain { Lifetime::Kept } else { Lifetime::Process };
        let world = case::world(plan, &args.nodes, (&run, turn.seed), lifetime, &runtime, &events).await;
        let mut world = match world {
            Ok(world) => world,
            Err(e) => {
                broken = Some(environment(e));
                break;
            }
        };
        let folder = folder(at, turns.len(), turn);
        let kept = dir.join(&folder);
        world.logs = Some(kept.join("nodes"));
        world.kubeconfig = Some(kept.join("kubeconfig"));
        let began = Stamp::now();
        events.tell(case::started(turn, &world, (at + 1, turns.len()), &folder, repeat(args, turn)));
        case::doubts(&world);
        let result = runner::run(plan, &mut world, &signals.stop, args.nodes.retain).await;
        let CaseResult { failed, undecided, left } = result.clone();
        events.tell(Event::CaseFinished { index: at + 1, failed, undecided, left, took: Stamp::now().since(began) });
        whole.failed = whole.failed.or(result.failed);
        whole.undecided |= result.undecided;
        whole.left |= result.left;
        let enough = args.rounds.until_fail && whole.failed.is_some();
        if signals.stop.soft.is_cancelled() || enough {
            break;
        }
    }
    let exit = broken.as_ref().map_or_else(|| Exit::of(&whole, signals.caught()), |(exit, _)| *exit);
    let took = Stamp::now().since(began);
    if let Some(cost) = Cost::until_now().filter(|_| args.verbose) {
        events.tell(Event::Note { text: format!("joinder itself used {}", cost.over(took)) });
    }
    events.tell(Event::RunFinished { exit: exit.code(), took });
    events.close();
    let summaries = reporter.join_all().await;
    if args.nodes.retain {
        for name in cases
            .iter()
            .map(|(plan, _)| plan)
            .filter(|plan| plan.makes_nodes())
            .map(|plan| plan.topology.name.as_str())
            .collect::<BTreeSet<_>>()
        {
            diag::say(&format!("kept by --retain: joinder get nodes --name {name}; joinder delete cluster --name {name}"));
        }
    }
    let incomplete = summaries.into_iter().find_map(|s| s.artifacts.and_then(Result::err));
    match (broken, incomplete) {
        (Some(broken), _) => Err(broken),
        // A verdict whose record is torn is none that anybody could check.
        (None, Some(why)) if exit == Exit::Passed => Err(environment(anyhow::anyhow!("the artifacts are incomplete: {why}"))),
        (None, _) => Ok(exit),
    }
}

pub(super) fn artifacts_dir(asked: Option<&Path>, run: &str) -> anyhow::Result<PathBuf> {
    if let Some(dir) = asked.map(Path::to_owned).or_else(|| env::var("ARTIFACTS").map(PathBuf::from)) {
        return Ok(dir);
    }
    let base = PathBuf::from("_artifacts");
    std::fs::create_dir_all(&base).context("cannot make ./_artifacts; name another folder with --artifacts")?;
    let latest = base.join("latest");
    let _ = std::fs::remove_file(&latest);
    let _ = std::os::unix::fs::symlink(run, &latest);
    Ok(base.join(run))
}

/// The command that runs one case again, with all that changes what it does.
fn repeat(args: &RunArgs, turn: &Turn<'_>) -> String {
    let plan = turn.plan;
    let nodes = &args.nodes;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let mut words = vec!["joinder".to_owned(), "run".to_owned(), plan.file.clone()];
    let mut option = |name: &str, value: Option<String>| words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    for (name, value) in &args.vars.vars {
        option("--var", Some(format!("{name}={value}")));
    }
    let choice: Vec<String> = plan.choice.iter().map(|(name, value)| format!("{name}={value}")).collect();
    option("--case", (!choice.is_empty()).then(|| choice.join(",")));
    option("--seed", (turn.rounds > 1 || plan.is_random()).then(|| turn.seed.to_string()));
    option("--name", nodes.name.clone());
    option("--image", nodes.image.clone());
    option("--kubeadm", path(&nodes.kubeadm));
    option("--kubelet", path(&nodes.kubelet));
    option("--etcd", path(&nodes.etcd));
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The case's folder below the run's when there are several: its place and its name, safe to be one.
fn folder(at: usize, of: usize, turn: &Turn<'_>) -> String {
    if of == 1 {
        return String::new();
    }
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.=".contains(c) { c } else { '_' };
    let name: String = turn.name().chars().map(safe).take(100).collect();
    format!("{:0width$}-{name}", at + 1, width = of.to_string().len().max(2))
}
