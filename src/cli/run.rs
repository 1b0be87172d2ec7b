//! `joinder run`: workflows, one after the other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

use anyhow::Context;
use tokio::task::JoinSet;

use super::args::{Output, RunArgs};
use super::context::Signals;
use super::exit::Exit;
use super::kinder::Called;
use super::rounds::Turn;
use super::{case, diag, dry_run, files, get, list, rounds, show, test};
use crate::cluster;
use crate::event::{self, Bus, Event};
use crate::report::{Artifacts, Reporter, Verbosity, plain};
use crate::runner::{self, CaseResult};
use crate::runtime::Runtime;
use crate::runtime::label::Lifetime;
use crate::sys::clock::Stamp;
use crate::sys::own::Cost;
use crate::sys::shell::quoted;
use crate::sys::{env, random};
use crate::workflow::{self, Artifacts as Place, Language, Plan, Request};

pub(super) async fn run(args: RunArgs) -> Exit {
    run_as(args, Manner::Joinder).await
}

/// Whose command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// `joinder run`.
    Joinder,
    /// `test workflow`: any failure is 1, and kinder's closing lines are on standard output.
    Kinder,
}

impl Manner {
    fn exit(self, exit: Exit) -> Exit {
        if self == Self::Kinder { exit.as_kinder() } else { exit }
    }

    /// Who else shows what is told.
    fn console(self, events: &Bus) -> JoinSet<()> {
        let mut console = JoinSet::new();
        if self == Self::Kinder {
            console.spawn(test::console(events.subscribe()));
        }
        console
    }

    /// Where artifacts go when nobody says.
    fn folder(self, run: &str) -> PathBuf {
        match self {
            Self::Joinder => Path::new("_artifacts").join(run),
            Self::Kinder => PathBuf::from(format!("kinder-test-workflow{run}")),
        }
    }
}

/// What is asked for besides the files.
fn request(args: &RunArgs, manner: Manner, run: &str) -> Request {
    let whole = |dir: &Path| absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let artifacts = match &args.artifacts {
        Some(dir) => Place::Here(whole(dir)),
        None if args.dry_run || args.list => Place::Else("<tmp-folder>".into()),
        None => Place::Else(whole(&manner.folder(run))),
    };
    Request { name: args.nodes.name.clone(), cases: args.select.cases.clone(), artifacts, ..files::request(&args.vars) }
}

pub(super) async fn run_as(args: RunArgs, manner: Manner) -> Exit {
    let run = match random::word(8) {
        Ok(run) => run,
        Err(e) => return diag::fail(manner.exit(Exit::BadEnvironment), &e.into()),
    };
    let request = request(&args, manner, &run);
    let cases = match cases(&args, &request) {
        Ok(cases) => cases,
        Err((exit, problems)) => {
            diag::say(&problems);
            return manner.exit(exit);
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
        let as_kinder = |plan: &Plan| manner == Manner::Kinder && plan.language != Language::V2;
        let describe = |plan: &Plan| if as_kinder(plan) { test::dry_run(plan) } else { plain(&dry_run::describe(plan)) };
        return get::write(&plans().map(describe).collect::<String>());
    }
    let signals = Signals::listen();
    let turns = rounds::turns(&cases, &args.rounds);
    match execute(&args, manner, &run, turns, &request, &signals).await {
        Ok(exit) => manner.exit(exit),
        Err((exit, error)) => diag::fail(manner.exit(signals.or(exit)), &error),
    }
}

/// What is to be run, each with the seed of its first round.
fn cases(args: &RunArgs, request: &Request) -> Result<Vec<(Plan, u64)>, (Exit, String)> {
    if let Some(dir) = &args.rounds.rerun_failed {
        return rounds::failed(dir, request, &args.nodes);
    }
    let plans = files::plans(&args.files, request, &args.select)?;
    let seed = match args.rounds.seed {
        Some(seed) => seed,
        None => random::seed().map_err(|e| (Exit::BadEnvironment, format!("error: no seed: {e}")))?,
    };
    Ok(plans.into_iter().map(|plan| (plan, seed)).collect())
}

async fn execute(
    args: &RunArgs,
    manner: Manner,
    run: &str,
    mut turns: Vec<Turn>,
    request: &Request,
    signals: &Signals,
) -> Result<Exit, (Exit, anyhow::Error)> {
    let environment = |e: anyhow::Error| (Exit::BadEnvironment, e);
    let began = Stamp::now();
    // What is kinder's language alone calls an engine by itself, if at all.
    let engine = if turns.iter().any(|turn| turn.plan.language == Language::V2) {
        Some(signals.engine().await.map_err(|e| environment(e.into()))?)
    } else {
        None
    };
    let dir = match &turns[..] {
        [Turn { plan: Plan { language: Language::V1 { artifacts }, .. }, .. }]
            if manner == Manner::Kinder || !artifacts.ends_with(manner.folder(run)) =>
        {
            artifacts.clone()
        }
        _ => artifacts_dir(args.artifacts.as_deref(), run).map_err(environment)?,
    };
    own_folders(&mut turns, &dir, request)?;
    let artifacts = Artifacts::create(&dir).map_err(|e| environment(e.into()))?;

    let events = Bus::new();
    let told = events.subscribe();
    let verbosity = if args.verbose { Verbosity::Verbose } else { Verbosity::Normal };
    let mut reporter = JoinSet::new();
    reporter.spawn(Reporter::new(Some(artifacts), verbosity).listen(events.subscribe()));
    let console = manner.console(&events);
    events.tell(Event::RunStarted {
        format: event::FORMAT,
        run: run.to_owned(),
        joinder: env!("CARGO_PKG_VERSION").into(),
        engine: engine.as_ref().map_or_else(|| "no engine asked".to_owned(), |(_, about)| about.describe()),
    });

    let mut whole = CaseResult::default();
    let mut broken = None;
    if let Some((runtime, _)) = &engine {
        sweep(runtime.as_ref(), &events, signals).await;
    }
    for (at, turn) in turns.iter().enumerate() {
        let plan = &turn.plan;
        let lifetime = if args.nodes.retain { Lifetime::Kept } else { Lifetime::Process };
        let folder = folder(at, turns.len(), turn);
        let place = (at + 1, turns.len());
        let Some((runtime, _)) = engine.as_ref().filter(|_| plan.language == Language::V2) else {
            let began = Stamp::now();
            begun(&dir, run);
            events.tell(case::started(turn, &args.vars.vars, &case::NO_IMAGES, place, &folder, repeat(args, manner, turn)));
            let result = runner::run_v1(plan, &events, &signals.stop).await;
            events.tell(case::finished(place.0, &result, began));
            add(&mut whole, result);
            if signals.stop.soft.is_cancelled() || enough(args, &whole) {
                break;
            }
            continue;
        };
        let world = case::world(plan, &args.nodes, (run, turn.seed), lifetime, runtime, &events).await;
        let mut world = match world {
            Ok(world) => world,
            Err(e) => {
                broken = Some(environment(e));
                break;
            }
        };
        let kept = dir.join(&folder);
        world.logs = Some(kept.join("nodes"));
        world.kubeconfig = Some(kept.join("kubeconfig"));
        let began = Stamp::now();
        begun(&dir, run);
        events.tell(case::started(turn, &args.vars.vars, &world.images, place, &folder, repeat(args, manner, turn)));
        case::doubts(&world);
        let result = runner::run(plan, &mut world, &signals.stop, args.nodes.retain).await;
        events.tell(case::finished(place.0, &result, began));
        add(&mut whole, result);
        if signals.stop.soft.is_cancelled() || enough(args, &whole) {
            break;
        }
    }
    let exit = broken.as_ref().map_or_else(|| Exit::of(&whole, signals.caught()), |(exit, _)| *exit);
    let exit = manner.exit(exit);
    let took = Stamp::now().since(began);
    if let Some(cost) = Cost::until_now().filter(|_| args.verbose) {
        events.tell(Event::Note { text: format!("joinder itself used {}", cost.over(took)) });
    }
    events.tell(Event::RunFinished { exit: exit.code(), took });
    events.close();
    let summaries = reporter.join_all().await;
    console.join_all().await;
    let incomplete = summaries.into_iter().find_map(|s| s.artifacts.and_then(Result::err));
    if manner == Manner::Kinder {
        // A reader that is gone changes nothing of what the run came to.
        let _ = show::write(&plain(&test::closing(told, took, incomplete.is_none())));
    }
    if args.nodes.retain {
        let made = turns.iter().map(|turn| &turn.plan).filter(|plan| plan.makes_nodes());
        for name in made.map(|plan| plan.topology.name.as_str()).collect::<BTreeSet<_>>() {
            diag::say(&format!("kept by --retain: joinder get nodes --name {name}; joinder delete cluster --name {name}"));
        }
    }
    match (broken, incomplete) {
        (Some(broken), _) => Err(broken),
        // A verdict whose record is torn is none that anybody could check.
        (None, Some(why)) if exit == Exit::Passed => Err(environment(anyhow::anyhow!("the artifacts are incomplete: {why}"))),
        (None, _) => Ok(exit),
    }
}

/// Removes what dead runs have left.
async fn sweep(runtime: &dyn Runtime, events: &Bus, signals: &Signals) {
    match cluster::collect_garbage(runtime, case::REMOVAL, &signals.stop.hard).await {
        Ok(gone) if gone.removed.is_empty() && gone.left.is_empty() => {}
        Ok(gone) => drop(events.tell(Event::Note { text: format!("removed what dead runs had left: {}", gone.removed.join(", ")) })),
        Err(e) => drop(events.tell(Event::Warning { text: e.to_string() })),
    }
}

/// With several cases each has its own folder, of which a file of version 1 must know before it is expanded.
fn own_folders(turns: &mut [Turn], dir: &Path, request: &Request) -> Result<(), (Exit, anyhow::Error)> {
    let of = turns.len();
    for (at, turn) in turns.iter_mut().enumerate().filter(|_| of > 1) {
        if turn.plan.language == Language::V2 {
            continue;
        }
        let own = dir.join(folder(at, of, turn));
        let request = Request { artifacts: Place::Here(absolute(&own).unwrap_or(own)), ..request.clone() };
        let again = workflow::plans(Path::new(&turn.plan.file), &request);
        let again = again.map_err(|problems| (Exit::BadFile, anyhow::anyhow!("{problems}")))?;
        if let Some(again) = again.plans.into_iter().next() {
            turn.plan = again;
        }
    }
    Ok(())
}

/// Is the first failure the last one?
fn enough(args: &RunArgs, whole: &CaseResult) -> bool {
    args.rounds.until_fail && whole.failed.is_some()
}

fn add(whole: &mut CaseResult, result: CaseResult) {
    whole.failed = whole.failed.take().or(result.failed);
    whole.undecided |= result.undecided;
    whole.left |= result.left;
}

pub(super) fn artifacts_dir(asked: Option<&Path>, run: &str) -> anyhow::Result<PathBuf> {
    if let Some(dir) = asked.map(Path::to_owned).or_else(|| env::var("ARTIFACTS").map(PathBuf::from)) {
        return Ok(dir);
    }
    let base = PathBuf::from("_artifacts");
    std::fs::create_dir_all(&base).context("cannot make ./_artifacts; name another folder with --artifacts")?;
    Ok(base.join(run))
}

/// A run's first case begins: from now on it is the latest one, where its artifacts lie beside those of others.
pub(super) fn begun(dir: &Path, run: &str) {
    let base = Path::new("_artifacts");
    if dir == base.join(run) {
        let latest = base.join("latest");
        let _ = std::fs::remove_file(&latest);
        let _ = std::os::unix::fs::symlink(run, &latest);
    }
}

/// The command that runs one case again, with all that changes what it does.
fn repeat(args: &RunArgs, manner: Manner, turn: &Turn) -> String {
    let plan = &turn.plan;
    let nodes = &args.nodes;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    if manner == Manner::Kinder {
        let command = format!("joinder test workflow {}", quoted(&plan.file));
        let again = path(&args.artifacts).map_or_else(|| command.clone(), |dir| format!("{command} {}", quoted(&dir)));
        return Called::look().words(&again);
    }
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
fn folder(at: usize, of: usize, turn: &Turn) -> String {
    if of == 1 {
        return String::new();
    }
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.=".contains(c) { c } else { '_' };
    let name: String = turn.name().chars().map(safe).take(100).collect();
    format!("{:0width$}-{name}", at + 1, width = of.to_string().len().max(2))
}
