//! `cmd`: a process on this machine.

use std::path::absolute;
use std::time::Duration;

use super::error::StepError;
use super::world::World;
use crate::event::Event;
use crate::sys::process::{self, End, Pipe, Program};
use crate::sys::stop::Stop;

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(10);

/// Runs the program of task `index`, with `ARTIFACTS` in its environment; tells each line, and what it leaves running.
///
/// # Errors
/// [`StepError::NotStarted`] with the system's words; [`StepError::Command`] for anything but exit code 0.
pub async fn cmd(world: &World, index: usize, program: &Program, stop: &Stop) -> Result<(), StepError> {
    let redact = world.redactor();
    let (mut out, mut err) = (redact.lines(), redact.lines());
    let mut program = program.clone();
    if let Some(artifacts) = world.artifacts().and_then(|dir| absolute(dir).ok()) {
        // before the task's own, so that they win
        program.env.insert(0, ("ARTIFACTS".into(), artifacts.display().to_string()));
    }
    let ran = process::run(&program, GRACE, stop, |pipe, line, more| {
        let line = match pipe {
            Pipe::Out => out.piece(&line, more),
            Pipe::Err => err.piece(&line, more),
        };
        world.events.tell(Event::Output { index, node: String::new(), error: pipe == Pipe::Err, line });
    });
    let ran = ran.await;
    if !ran.leaked.is_empty() {
        let text = format!("{} left processes running, which were ended: {}", program.program, redact.apply(&ran.leaked.join(", ")));
        world.events.tell(Event::Warning { text });
    }
    let what = std::iter::once(&program.program).chain(&program.args).cloned().collect::<Vec<_>>().join(" ");
    match ran.end {
        End::NotStarted(why) => Err(StepError::NotStarted { what, why }),
        End::Stopped if ran.left.is_empty() => Err(StepError::Stopped),
        End::Exited(0) if ran.left.is_empty() => Ok(()),
        End::Exited(0) | End::Stopped => Err(StepError::Running { what, left: ran.left }),
        end @ (End::Exited(_) | End::Signalled(_)) => Err(StepError::Command { what: redact.apply(&what), how: end.to_string() }),
    }
}
