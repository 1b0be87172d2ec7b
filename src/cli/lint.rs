//! `joinder lint`: everything that is wrong with files, and nothing else.

use super::args::LintArgs;
use super::exit::Exit;
use super::{diag, files, show};

pub(super) fn lint(args: &LintArgs) -> Exit {
    match files::load(&args.files, &files::request(&args.vars)) {
        Err((exit, problems)) => {
            diag::say(&problems);
            exit
        }
        Ok(each) => {
            let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
            let line = |(file, loaded): &(std::path::PathBuf, crate::workflow::Loaded)| {
                let tasks = loaded.plans.first().map_or(0, |plan| plan.all_tasks().count());
                format!("{}: {}, {}\n", file.display(), count(loaded.plans.len(), "case"), count(tasks, "task"))
            };
            show::write(&each.iter().map(line).collect::<String>())
        }
    }
}
