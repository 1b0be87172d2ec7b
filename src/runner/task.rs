//! One task: its limit, its step, its judgements, and what is told of it.

use std::path::absolute;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::foresight::{self, Foreseen};
use super::judge::{Look, judge};
use super::known::Known;
use super::policy;
use super::{faults, group, residue};
use crate::event::{Event, Judgement, Outcome, Verdict};
use crate::expect::Residues;
use crate::observe::Observer;
use crate::spec::Joins;
use crate::step::{self, StepError, World};
use crate::sys::clock::Stamp;
use crate::sys::process::Program;
use crate::sys::stop::Stop;
use crate::workflow::{ARTIFACTS, PlannedTask, Process, Step, Transfer};

/// How long a step may take to end after its limit has passed or a stop came, before its work is dropped. A process on this
/// machine has 10 s to end by itself.
const LAST_WORDS: Duration = Duration::from_secs(15);

/// What a task came to.
#[derive(Debug)]
pub(super) struct Ended {
    /// Before any policy.
    pub(super) outcome: Outcome,
    /// Does it make the run fail?
    pub(super) counts: bool,
    /// Did it fail in a way that is known?
    pub(super) known: bool,
    /// Was something judged undecided, in it or in a task of its group?
    pub(super) undecided: bool,
}

/// Runs a task and tells of it.
pub(super) async fn run(task: &PlannedTask, world: &mut World, stop: &Stop, known: Known<'_>) -> Ended {
    let stop = own_stop(task, stop);
    let clock = begin(task, world).await;
    let mut inner = group::Seen::default();
    // what is broken must be there: `init` makes it where no task did
    let made = if task.step == Step::Init && !task.faults.is_empty() && world.cluster.is_none() {
        step::create(world, &stop).await.map(drop)
    } else {
        Ok(())
    };
    let armed = match made {
        Ok(()) => faults::arm(task, world, &stop).await,
        Err(e) => Err(e),
    };
    let armed = match armed {
        Ok(armed) => armed,
        Err(e) => return end(task, world, (outcome(Err(e)), Vec::new()), clock, &stop, known).await,
    };
    let whole = world.faults.clone();
    let work = async |part: &Stop| {
        limited(task, part, async |part| match &task.step {
            Step::Create => step::create(world, part).await.map(drop),
            Step::Init => step::init(world, part).await,
            Step::Delete => step::delete(world, part).await,
            Step::Scale(scale) => step::scale(world, scale, part).await,
            Step::Group { tasks, keep_going } => {
                let (ended, seen) = group::run(tasks, *keep_going, world, part, known).await;
                inner = seen;
                ended
            }
            Step::Cmd(_)
            | Step::Join(_)
            | Step::Exec(_)
            | Step::Copy(_)
            | Step::Wait(_)
            | Step::Export(_)
            | Step::Restart(_)
            | Step::Reset(_)
            | Step::Repair(_)
            | Step::Advise(_)
            | Step::Member(_)
            | Step::Fault(_)
            | Step::Heal(_)
            | Step::Expect => beside(task, world, part).await,
        })
        .await
    };
    let came = faults::under(armed, &whole, &stop, work).await;
    let came = faults::healed(task, world, came).await;
    let ended = end(task, world, came, clock, &stop, known).await;
    Ended { undecided: ended.undecided | inner.undecided, known: ended.known | inner.known, ..ended }
}

/// The same for a task of a group, whose step leaves the world as it is.
pub(super) async fn run_beside(task: &PlannedTask, world: &World, stop: &Stop, known: Known<'_>) -> Ended {
    let stop = own_stop(task, stop);
    let clock = begin(task, world).await;
    let armed = match faults::arm(task, world, &stop).await {
        Ok(armed) => armed,
        Err(e) => return end(task, world, (outcome(Err(e)), Vec::new()), clock, &stop, known).await,
    };
    let work = async |part: &Stop| limited(task, part, async |part| beside(task, world, part).await).await;
    let came = faults::under(armed, &world.faults, &stop, work).await;
    let came = faults::healed(task, world, came).await;
    end(task, world, came, clock, &stop, known).await
}

/// Tells that a task, with those of its group, is not run.
pub(super) fn skip(task: &PlannedTask, world: &World, reason: &str) -> Ended {
    if let Step::Group { tasks, .. } = &task.step {
        for inner in tasks {
            skip(inner, world, reason);
        }
    }
    let outcome = Outcome::Skipped { reason: reason.to_owned() };
    finished(task, world, &outcome, false, Duration::ZERO);
    Ended { outcome, counts: false, known: false, undecided: false }
}

/// Why a task is not for these versions.
pub(super) fn unmet(task: &PlannedTask, world: &World) -> Option<String> {
    task.when.as_ref()?.unmet(world.kubernetes(), world.images.etcd.as_deref())
}

/// Cleanup goes on after a soft stop.
pub(super) fn cleanup(stop: &Stop) -> Stop {
    Stop { soft: stop.hard.child_token(), ..stop.clone() }
}

fn own_stop(task: &PlannedTask, stop: &Stop) -> Stop {
    if task.force { cleanup(stop) } else { stop.clone() }
}

async fn begin(task: &PlannedTask, world: &World) -> (Stamp, Instant, Foreseen) {
    world.events.tell(Event::TaskStarted { index: task.index, name: task.name.clone() });
    let foreseen = foresight::of(task, world).await;
    (Stamp::now(), Instant::now(), foreseen)
}

/// Judges, and tells how it ended.
async fn end(
    task: &PlannedTask,
    world: &World,
    (outcome, of_faults): (Outcome, Vec<Judgement>),
    (began, clock, foreseen): (Stamp, Instant, Foreseen),
    stop: &Stop,
    known: Known<'_>,
) -> Ended {
    let took = clock.elapsed();
    if let Some(observer) = &world.observer {
        observer.caught_up().await;
    }
    let wanted_failures = wanted_failures(task, &outcome);
    let look = if outcome.passed() || wanted_failures.is_some() { Look::Until } else { Look::Once };
    let mut judgements: Vec<Judgement> =
        if stop.soft.is_cancelled() { Vec::new() } else { judge(world, &task.expect, &foreseen, began, look, stop).await };
    if !stop.soft.is_cancelled() {
        judgements.extend(of_faults);
    }
    let residues = residues(task, world, &outcome, began).await;
    // Judging takes its own time, as long as the expectations allow; only what followed from the step is the task's.
    let took = if outcome.passed() { clock.elapsed() } else { took };
    // by now what kubeadm came to has been heard: where the step failed otherwise, that counts
    let by_kubeadm = |observer: &Observer| observer.look(|record| residue::failed(record, began).len());
    let as_wanted = wanted_failures.is_some()
        && wanted_failures == world.observer.as_ref().map(by_kubeadm)
        && judgements.iter().any(|j| j.name == "joins" && j.verdict == Verdict::Pass);
    let mut counts = policy::counts(if as_wanted { &Outcome::Passed } else { &outcome }, &judgements, task.ignore_error);
    let mut is_known = false;
    if counts {
        let failed = judgements.iter().filter(|j| j.verdict == Verdict::Fail).map(|j| format!("{}: {}", j.name, j.saw));
        let why: Vec<String> = outcome.reason().into_iter().chain(failed).collect();
        let seen = known.failed(world, &task.name, &why, &residues);
        is_known = seen.iter().any(|judgement| judgement.verdict == Verdict::Known);
        counts = !is_known;
        judgements.extend(seen);
    }
    for judgement in &judgements {
        world.events.tell(Event::Judged { index: task.index, task: task.name.clone(), judgement: judgement.clone() });
    }
    // Each task is a new state that all voters must agree on. Whom a fault has just silenced would hold the next task up.
    let changes = !matches!(task.step, Step::Delete | Step::Fault(_));
    if let Some(observer) = world.observer.as_ref().filter(|_| changes && !stop.soft.is_cancelled()) {
        observer.compare_data().await;
    }
    finished(task, world, &outcome, counts, took);
    Ended { outcome, counts, known: is_known, undecided: policy::undecided(&judgements, task.ignore_error) }
}

/// What the joins of a task that failed have left in etcd.
async fn residues(task: &PlannedTask, world: &World, outcome: &Outcome, began: Stamp) -> Residues {
    let joins = matches!(task.step, Step::Join(_) | Step::Scale(_));
    match (&world.cluster, &world.observer, outcome) {
        (Some(cluster), Some(observer), Outcome::Failed { .. } | Outcome::TimedOut { .. }) if joins => {
            let residues = residue::read(cluster, &observer.record(), began).await;
            residue::tell(&residues, world);
            residues
        }
        _ => Residues::new(),
    }
}

/// Have joins failed, as many as should where that is known, and nothing else? The expectation tells whether they are the right ones.
fn wanted_failures(task: &PlannedTask, outcome: &Outcome) -> Option<usize> {
    let Outcome::Failed { reason } = outcome else { return None };
    let failed = StepError::did_not_join(reason)?;
    match &task.expect.joins {
        Some(Joins::These(these)) => (failed == these.len()).then_some(failed),
        Some(Joins::Oracle) => Some(failed),
        Some(Joins::Ok(_)) | None => None,
    }
}

fn finished(task: &PlannedTask, world: &World, outcome: &Outcome, counts: bool, took: Duration) {
    world.events.tell(Event::TaskFinished { index: task.index, name: task.name.clone(), outcome: outcome.clone(), counts, took });
}

/// Runs the step under the task's limit: when it passes, the step is told to stop and may end what runs in the nodes.
async fn limited(task: &PlannedTask, stop: &Stop, work: impl AsyncFnOnce(&Stop) -> Result<(), StepError>) -> Outcome {
    let part = stop.part();
    let late = CancellationToken::new();
    let limit = async {
        tokio::select! {
            () = stop.soft.cancelled(), if task.step != Step::Delete => {}
            () = sleep(task.limit) => {
                late.cancel();
                part.soft.cancel();
            }
        }
        sleep(LAST_WORDS).await;
    };
    let ended = tokio::select! {
        biased;
        ended = work(&part) => Some(ended),
        () = limit => None,
        // delete ends at once by itself, and says what it leaves
        () = stop.hard.cancelled(), if task.step != Step::Delete => None,
    };
    if late.is_cancelled() {
        return Outcome::TimedOut { limit: task.limit };
    }
    match ended {
        Some(ended) if !stop.soft.is_cancelled() || task.force => outcome(ended),
        Some(_) | None => Outcome::Stopped,
    }
}

fn outcome(ended: Result<(), StepError>) -> Outcome {
    match ended {
        Ok(()) => Outcome::Passed,
        Err(e) if e.is_no_start() => Outcome::NotStarted { reason: e.to_string() },
        Err(e) => Outcome::Failed { reason: e.to_string() },
    }
}

/// The steps that can run beside others.
async fn beside(task: &PlannedTask, world: &World, stop: &Stop) -> Result<(), StepError> {
    match &task.step {
        Step::Cmd(process) => step::cmd(world, task.index, &program(process, world), stop).await,
        Step::Join(join) => step::join(world, join, stop).await,
        Step::Exec(exec) => step::exec(world, task.index, exec, stop).await,
        Step::Copy(Transfer::In { from, nodes, to, allow_empty }) => step::copy_in(world, from, nodes, to, *allow_empty, stop).await,
        Step::Copy(Transfer::Out { node, from, to }) => step::copy_out(world, node, from, to).await,
        Step::Wait(wait) => step::wait(world, wait, task.limit, stop).await,
        Step::Export(export) => step::export(world, export, stop).await,
        Step::Restart(restart) => step::restart(world, restart, stop).await,
        Step::Reset(reset) => step::reset(world, reset, stop).await,
        Step::Repair(repair) => step::repair(world, repair, stop).await,
        Step::Advise(advise) => step::advise(world, advise, stop).await,
        Step::Member(member) => step::member(world, member, task.limit, stop).await,
        Step::Fault(fault) => faults::stand(task, fault, world, stop).await,
        // a fault is healed behind the step, as all are
        Step::Heal(_) | Step::Expect => Ok(()),
        Step::Create | Step::Init | Step::Scale(_) | Step::Delete | Step::Group { .. } => {
            Err(StepError::NotInGroup { step: task.step.word() })
        }
    }
}

/// With the folder of artifacts where it asks for it.
fn program(process: &Process, world: &World) -> Program {
    let Process { mut program, mut args, mut dir, env } = process.clone();
    if let Some(artifacts) = world.artifacts().and_then(|dir| absolute(dir).ok()) {
        let artifacts = artifacts.display().to_string();
        for text in std::iter::once(&mut program).chain(&mut args) {
            *text = text.replace(ARTIFACTS, &artifacts);
        }
        dir = dir.map(|dir| dir.display().to_string().replace(ARTIFACTS, &artifacts).into());
    }
    Program { program, args, dir, env, joined: false }
}
