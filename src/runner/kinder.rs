//! Runs a plan of version 1 by kinder's rules: one process after the other, and after a failure only what is forced.
//!
//! Two things are otherwise than with kinder, where nobody can rely on what it does. `--exit-on-task-error` and a signal leave forced
//! tasks their turn; a process is asked to end before it is killed, and a second signal that comes while it still ends kills it. What a
//! task leaves running goes on, as with kinder: it may be a container engine that the task has restarted.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::run::CaseResult;
use super::task::cleanup;
use crate::event::{Bus, Event, Outcome};
use crate::sys::env;
use crate::sys::process::{self, End, Program};
use crate::sys::redact::Redactor;
use crate::sys::stop::Stop;
use crate::workflow::{Plan, PlannedTask, Process, Step};

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(10);

/// Runs all tasks and tells of each exactly once.
pub async fn run_v1(plan: &Plan, events: &Bus, stop: &Stop) -> CaseResult {
    let mut result = CaseResult::default();
    // what reads on where tasks have left something running
    let mut others = JoinSet::new();
    // why nothing ordinary runs any more
    let mut over = Over::default();
    // the second signal ends cleanup, or the third, when the second came while an ordinary task still ended
    let mut cleaning = cleanup(stop);
    for warning in &plan.topology.warnings {
        events.tell(Event::Warning { text: warning.clone() });
    }
    for task in &plan.tasks {
        over.canceled |= stop.soft.is_cancelled();
        let reason = match task.force {
            true if cleaning.hard.is_cancelled() => Some("skipping because task workflow was canceled by the user twice"),
            true => None,
            false => over.reason(),
        };
        if let Some(reason) = reason {
            tell(task, &Outcome::Skipped { reason: reason.into() }, false, Duration::ZERO, events);
            continue;
        }
        events.tell(Event::TaskStarted { index: task.index, name: task.name.clone() });
        let began = Instant::now();
        let own = if task.force { &cleaning } else { stop };
        let outcome = run_one(task, own, events, &mut others).await;
        if !task.force && stop.hard.is_cancelled() {
            cleaning = Stop { soft: stop.last.child_token(), hard: stop.last.clone(), ..stop.clone() };
        }
        let counts = counts(&outcome, task.ignore_error);
        tell(task, &outcome, counts, began.elapsed(), events);
        if !counts {
            continue;
        }
        // a stop is told by the exit code, and is no failure of the task
        if outcome != Outcome::Stopped {
            result.failed.get_or_insert_with(|| task.name.clone());
        }
        match outcome {
            Outcome::TimedOut { .. } => over.timed_out = true,
            Outcome::Stopped => over.canceled = true,
            Outcome::Passed | Outcome::Failed { .. } | Outcome::NotStarted { .. } | Outcome::Skipped { .. } => over.failed = true,
        }
    }
    result
}

/// What has happened to tasks so far that leaves ordinary ones no turn.
#[derive(Debug, Default)]
struct Over {
    failed: bool,
    timed_out: bool,
    canceled: bool,
}

impl Over {
    /// Why an ordinary task is skipped, in kinder's words and in its order, whichever came first.
    fn reason(&self) -> Option<&'static str> {
        let reasons = [
            (self.failed, "skipping because a predecessor task failed"),
            (self.timed_out, "skipping because a predecessor task timed-out"),
            (self.canceled, "skipping because task workflow was canceled by the user"),
        ];
        reasons.into_iter().find_map(|(is, reason)| is.then_some(reason))
    }
}

/// `ignoreError` covers an exit code and nothing else: not a program that could not be started, a limit, a stop.
fn counts(outcome: &Outcome, ignore_error: bool) -> bool {
    match outcome {
        Outcome::Passed | Outcome::Skipped { .. } => false,
        Outcome::Failed { .. } => !ignore_error,
        Outcome::NotStarted { .. } | Outcome::TimedOut { .. } | Outcome::Stopped => true,
    }
}

fn tell(task: &PlannedTask, outcome: &Outcome, counts: bool, took: Duration, events: &Bus) {
    events.tell(Event::TaskFinished { index: task.index, name: task.name.clone(), outcome: outcome.clone(), counts, took });
}

async fn run_one(task: &PlannedTask, stop: &Stop, events: &Bus, others: &mut JoinSet<()>) -> Outcome {
    let Step::Cmd(process) = &task.step else {
        return Outcome::NotStarted { reason: format!("version 1 knows no step {}", task.step.word()) };
    };
    let program = match program(process) {
        Ok(program) => program,
        Err(reason) => return Outcome::NotStarted { reason },
    };
    let part = stop.part();
    let redact = Redactor::default();
    let mut lines = redact.lines();
    let hear = |_, line: String, more| {
        let line = lines.piece(&line, more);
        events.tell(Event::Output { index: task.index, node: String::new(), error: false, line });
    };
    let running = process::run_leaving(&program, GRACE, &part, hear, others);
    tokio::pin!(running);
    let in_time = tokio::select! {
        biased;
        ran = &mut running => Some(ran),
        () = sleep(task.limit) => None,
    };
    let late = in_time.is_none();
    let ran = if let Some(ran) = in_time {
        ran
    } else {
        part.soft.cancel();
        running.await
    };
    for (what, all) in [("leaves processes running", &ran.leaked), ("LEFT processes that could not be ended", &ran.left)] {
        if !all.is_empty() {
            let text = format!("{} {what}: {}", process.program, redact.apply(&all.join(", ")));
            events.tell(Event::Warning { text });
        }
    }
    match ran.end {
        _ if late => Outcome::TimedOut { limit: task.limit },
        End::Exited(0) => Outcome::Passed,
        End::Exited(code) => Outcome::Failed { reason: format!("exit status {code}") },
        End::Signalled(_) => Outcome::Failed { reason: ran.end.to_string() },
        End::NotStarted(reason) => Outcome::NotStarted { reason },
        End::Stopped => Outcome::Stopped,
    }
}

/// The program, both of whose streams are one file for kinder. It is looked up in joinder's own `PATH`, also where the file gives the task another one.
fn program(process: &Process) -> Result<Program, String> {
    let Process { program, args, dir, env } = process.clone();
    if program.contains('/') {
        return Ok(Program { program, args, dir, env, joined: true });
    }
    let path = env::var("PATH").unwrap_or_default();
    let runs = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let found = path.split(':').map(|dir| Path::new(dir).join(&program)).find(|path| runs(path));
    match found {
        Some(found) => Ok(Program { program: found.display().to_string(), args, dir, env, joined: true }),
        None if program == "kinder" => {
            Err("there is no program \"kinder\" in PATH: joinder is it by that name, `ln -s \"$(command -v joinder)\" DIR/kinder`".into())
        }
        None => Err(format!("there is no program {program:?} in PATH")),
    }
}
