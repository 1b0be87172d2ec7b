//! `joinder report`: what a run has left, made anew from its events.

use super::args::ReportArgs;
use super::diag;
use super::exit::Exit;
use super::show;
use crate::report::rebuild;

pub(super) fn report(args: &ReportArgs) -> Exit {
    match rebuild(&args.dir, args.compare.as_deref()) {
        Ok(rebuilt) => {
            diag::say(rebuilt.summary.trim_matches('\n'));
            for doubt in &rebuilt.doubts {
                diag::say(&format!("warning: {doubt}"));
            }
            show::write(&format!("{}\n", rebuilt.page.display()))
        }
        Err(e) => diag::fail(Exit::BadEnvironment, &e.into()),
    }
}
