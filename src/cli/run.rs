//! `joinder run`: workflows, one after the other.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::task::JoinSet;

use super::args::RunArgs;
use super::context::Signals;
use super::exit::Exit;
use super::{case, diag, dry_run, get};
use crate::cluster;
use crate::event::{self, Bus, Event};
use crate::report::{Artifacts, Reporter, Verbosity, plain};
use crate::runner::{self, CaseResult};
use crate::runtime::label::Lifetime;
use crate::sys::clock::Stamp;
use crate::sys::{env, random};
use crate::workflow::{self, Plan};

pub(super) async fn run(args: RunArgs) -> Exit {
    let plans = match plans(&args) {
        Ok(plans) => plans,
        Err(problems) => {
            diag::say(&problems.join("\n"));
            return Exit::BadFile;
        }
    };
    if args.dry_run {
        return get::write(&plain(&plans.iter().map(dry_run::describe).collect::<String>()));
    }
    let signals = Signals::listen();
    match execute(&args, &plans, &signals).await {
        Ok(exit) => exit,
        Err((exit, error)) => diag::fail(signals.or(exit), &error),
    }
}

async fn execute(args: &RunArgs, plans: &[Plan], signals: &Signals) -> Result<Exit, (Exit, anyhow::Error)> {
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
    for (at, plan) in plans.iter().enumerate() {
        let lifetime = if args.nodes.retain { Lifetime::Kept } else { Lifetime::Process };
        let world = case::world(&plan.cluster, &plan.topology, &args.nodes, &run, lifetime, &runtime, &events).await;
        let mut world = match world {
            Ok(world) => world,
            Err(e) => {
                broken = Some(environment(e));
                break;
            }
        };
        world.logs = Some(if plans.len() == 1 { dir.join("nodes") } else { dir.join(case_name(at, plan)).join("nodes") });
        world.kubeconfig = world.logs.as_ref().map(|nodes| nodes.with_file_name("kubeconfig"));
        events.tell(case::started(plan, &world, (at + 1, plans.len()), ""));
        case::doubts(&world);
        let result = runner::run(plan, &mut world, &signals.stop, args.nodes.retain).await;
        whole.failed = whole.failed.or(result.failed);
        whole.undecided |= result.undecided;
        whole.left |= result.left;
        if signals.stop.soft.is_cancelled() {
            break;
        }
    }
    let exit = broken.as_ref().map_or_else(|| Exit::of(&whole, signals.caught()), |(exit, _)| *exit);
    events.tell(Event::RunFinished { exit: exit.code(), took: Stamp::now().since(began) });
    events.close();
    let summaries = reporter.join_all().await;
    let incomplete = summaries.into_iter().find_map(|s| s.artifacts.and_then(Result::err));
    match (broken, incomplete) {
        (Some(broken), _) => Err(broken),
        // A verdict whose record is torn is none that anybody could check.
        (None, Some(why)) if exit == Exit::Passed => Err(environment(anyhow::anyhow!("the artifacts are incomplete: {why}"))),
        (None, _) => Ok(exit),
    }
}

/// Every problem of every file.
fn plans(args: &RunArgs) -> Result<Vec<Plan>, Vec<String>> {
    let mut problems = Vec::new();
    let mut plans = Vec::new();
    let files: Vec<PathBuf> = args.files.iter().flat_map(|path| files(path, &mut problems)).collect();
    for file in files {
        let shown = file.display().to_string();
        match workflow::load(&file) {
            Err(e) => problems.push(format!("error: {e}")),
            Ok(parsed) => match workflow::plan(&parsed, &shown, args.nodes.name.as_deref()) {
                Ok(plan) => plans.push(plan),
                Err(all) => problems.extend(all.iter().map(|p| format!("error: {shown}: {p}"))),
            },
        }
    }
    if problems.is_empty() { Ok(plans) } else { Err(problems) }
}

/// A file as it is; a folder's `*.yaml` files, sorted, with those of its folders.
fn files(path: &Path, problems: &mut Vec<String>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(dir) = open.pop() {
        match std::fs::read_dir(&dir) {
            Err(e) => problems.push(format!("error: cannot read folder {}: {e}", dir.display())),
            Ok(entries) => {
                for entry in entries.flatten() {
                    let path = entry.path();
                    // Links to folders are not followed: they may lead round in circles.
                    if entry.file_type().is_ok_and(|t| t.is_dir()) {
                        open.push(path);
                    } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
                        found.push(path);
                    }
                }
            }
        }
    }
    if found.is_empty() && problems.is_empty() {
        problems.push(format!("error: folder {} has no *.yaml file", path.display()));
    }
    found.sort();
    found
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

/// The case's folder when there are several: its place and its file's name without the ending.
fn case_name(at: usize, plan: &Plan) -> String {
    let stem = Path::new(&plan.file).file_stem().map_or_else(|| "case".into(), |s| s.to_string_lossy());
    format!("{:02}-{stem}", at + 1)
}
