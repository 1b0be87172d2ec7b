//! Does a migrated text mean what the file meant? As far as a plan can tell: joinder's steps do what kinder's commands did in their own way.

use std::path::Path;

use super::super::expand::{Loaded, Request, plans_of_text};
use super::super::file::{Problem, Problems, Sources};
use super::super::plan::{ARTIFACTS, Plan, PlannedTask, Process, Step};

/// Plans the text of `path` in version 2, and compares it with what was planned of the file.
///
/// # Errors
/// What is wrong with the text, or the first thing that it means otherwise.
pub(super) fn same(old: &Loaded, text: &str, path: &Path, request: &Request) -> Result<(), Problems> {
    let name = format!("{} in version 2", path.display());
    let new = plans_of_text(Path::new(&name), text, request)?;
    let mut plans = old.plans.iter().zip(&new.plans);
    let other = plans.find_map(|(old, new)| difference(old, new));
    let other = other.or_else(|| (old.vars != new.vars).then(|| "its vars would be others".to_owned()));
    match other {
        None => Ok(()),
        Some(what) => Err(Problems::new(Sources::default(), vec![Problem::of(format!("{name}: {what}"))], false)),
    }
}

fn difference(old: &Plan, new: &Plan) -> Option<String> {
    if old.summary != new.summary {
        return Some("its summary would be another".into());
    }
    if old.tasks.len() != new.tasks.len() {
        return Some(format!("it would have {} tasks and not {}", new.tasks.len(), old.tasks.len()));
    }
    let of_task =
        |(old, new): (&PlannedTask, &PlannedTask)| of_task(old, new).map(|what| format!("task {:?}: {what} would be another", new.name));
    old.tasks.iter().zip(&new.tasks).find_map(of_task)
}

fn of_task(old: &PlannedTask, new: &PlannedTask) -> Option<String> {
    let differs = [
        ("its description", old.description.trim_end() != new.description.trim_end()),
        ("its timeout", old.limit != new.limit),
        ("`force`", old.force != new.force),
        ("`ignoreError`", old.ignore_error != new.ignore_error),
    ];
    if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
        return Some(what.into());
    }
    let (Step::Cmd(old), Step::Cmd(new)) = (&old.step, &new.step) else { return None };
    of_process(old, new)
}

fn of_process(old: &Process, new: &Process) -> Option<String> {
    // a file that sets the folder of artifacts itself has it everywhere
    let own = new.env.iter().find(|(name, _)| name == "ARTIFACTS").map(|(_, value)| value.as_str());
    let told = |text: &String| own.map_or_else(|| text.clone(), |own| text.replace(ARTIFACTS, own));
    if told(&old.program) != new.program {
        return Some("its command".into());
    }
    let args = old.args.iter().map(told);
    if let Some((at, _)) = args.zip(&new.args).enumerate().find(|(_, (old, new))| old != *new) {
        return Some(format!("its argument {}", at + 1));
    }
    let env = |process: &Process| process.env.iter().filter(|(name, _)| name != "ARTIFACTS").cloned().collect::<Vec<_>>();
    let differs = [
        ("the number of its arguments", old.args.len() != new.args.len()),
        ("its folder", old.dir != new.dir),
        ("its environment", env(old) != env(new)),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(what, _)| what.into())
}
