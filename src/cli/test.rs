//! `joinder test workflow`: a workflow as kinder runs it.

use std::io::IsTerminal;
use std::time::Duration;

use tokio::sync::mpsc;

use super::args::{NodeArgs, RoundArgs, RunArgs, SelectArgs, VarArgs, WorkflowArgs};
use super::exit::Exit;
use super::run::{Manner, run_as};
use super::{diag, show};
use crate::event::{Event, Outcome, Told};
use crate::report::KinderLines;
use crate::workflow::{self, Plan};

pub(super) async fn workflow(args: WorkflowArgs) -> Exit {
    // kinder stops there without cleanup and without JUnit, which nobody can want
    let _ = args.exit_on_task_error;
    if args.config.is_dir() {
        let what = format!("{} is a folder, and CONFIG is one file; `joinder run` runs all of a folder", args.config.display());
        return diag::fail(Exit::Unexpected, &anyhow::anyhow!(what));
    }
    let run = RunArgs {
        files: vec![args.config],
        vars: VarArgs::default(),
        select: SelectArgs::default(),
        rounds: RoundArgs::default(),
        nodes: NodeArgs::default(),
        artifacts: args.artifacts.filter(|dir| !dir.is_empty()).map(Into::into),
        dry_run: args.dry_run,
        list: false,
        output: None,
        verbose: args.verbose,
    };
    run_as(run, Manner::Kinder).await
}

/// kinder's lines on standard output, as they come, until all is told. A terminal shows joinder's own in their place.
pub(super) async fn console(mut told: mpsc::UnboundedReceiver<Told>) {
    let mut lines = KinderLines::default();
    let shown = !std::io::stdout().is_terminal();
    while let Some(Told { event, .. }) = told.recv().await {
        let text = lines.hear(&event);
        if shown && !text.is_empty() {
            // A reader that is gone changes nothing of what the run comes to.
            let _ = show::write(&text);
        }
    }
}

/// What `--dry-run` says as kinder.
pub(super) fn dry_run(plan: &Plan) -> String {
    for warning in &plan.topology.warnings {
        diag::say(&format!("warning: {warning}"));
    }
    workflow::outline(plan).iter().map(KinderLines::begin).collect()
}

/// kinder's last lines, from all that was told; nothing is a success that was not kept `whole`.
pub(super) fn closing(mut told: mpsc::UnboundedReceiver<Told>, took: Duration, whole: bool) -> String {
    let (mut all, mut passed, mut failed, mut skipped) = (0, 0, 0, 0);
    while let Ok(Told { event, .. }) = told.try_recv() {
        if let Event::CaseStarted { tasks, .. } = &event {
            all += tasks.len();
        }
        if let Event::TaskFinished { outcome, counts, .. } = event {
            match outcome {
                Outcome::Skipped { .. } => skipped += 1,
                Outcome::Stopped => failed += 1,
                Outcome::Passed | Outcome::Failed { .. } | Outcome::NotStarted { .. } | Outcome::TimedOut { .. } if counts => failed += 1,
                Outcome::Passed | Outcome::Failed { .. } | Outcome::NotStarted { .. } | Outcome::TimedOut { .. } => passed += 1,
            }
        }
    }
    let word = if failed == 0 && passed + skipped == all && whole { "SUCCESS!" } else { "FAIL!" };
    format!(
        "Ran {} of {all} tasks in {:.3} seconds\n{word} -- {passed} tasks Passed | {failed} Failed | {skipped} Skipped\n\nsee junit_runner.xml and task logs files for more details\n\n",
        passed + failed,
        took.as_secs_f64()
    )
}
