//! What is shown while an action works: what commands in nodes write on standard output, what joinder says on standard error.

use std::io::{ErrorKind, Write};

use tokio::sync::mpsc;

use super::super::diag;
use crate::event::{Event, Told};
use crate::report;

/// Shows all that is told until the bus is closed; `several` nodes at once are told apart.
/// In a dry run only what would be done: nothing has come of it.
pub(super) async fn show(mut told: mpsc::UnboundedReceiver<Told>, several: bool, dry_run: bool) {
    let mut is_read = true;
    while let Some(told) = told.recv().await {
        let is_plan = matches!(told.event, Event::Note { .. } | Event::Warning { .. });
        // a phase is a line too
        if matches!(told.event, Event::KubeadmPhase { .. }) || (dry_run && !is_plan) {
            continue;
        }
        if let Event::KubeadmLine { node, line, .. } | Event::Output { node, line, .. } = &told.event {
            let node = if several { format!("{node}: ") } else { String::new() };
            let written = writeln!(std::io::stdout().lock(), "{node}{line}");
            // who reads has seen enough; what was asked for is done all the same
            is_read = is_read && !written.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe);
        } else if let Event::KubeadmStarted { node, argv } = &told.event {
            diag::say(&format!("{node} $ {}", crate::sys::shell::line(argv)));
        } else if let Some(line) = report::words(&told) {
            let line = line.trim_start_matches(' ');
            if dry_run {
                let _ = writeln!(std::io::stdout().lock(), "{line}");
            } else {
                diag::say(line);
            }
        }
    }
}
