//! `joinder get build-artifacts`, kinder's `get artifacts`.

use super::super::context::Signals;
use super::super::diag;
use super::super::exit::Exit;
use super::args::FilesArgs;
use crate::image::{self, Origin};

pub(in super::super) async fn artifacts(args: FilesArgs) -> Exit {
    let signals = Signals::listen();
    let engine = match &args.source {
        Origin::Image(_) => match signals.engine().await {
            Ok((runtime, _)) => Some(runtime),
            Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
        },
        Origin::Layout(_) | Origin::Url(_) | Origin::Local(_) => None,
    };
    match image::get_artifacts(&args.source, args.what(), &args.to, engine.as_deref(), &signals.stop, &diag::say).await {
        Ok(()) => {
            diag::say(&format!("in {}", args.to.display()));
            Exit::Passed
        }
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    }
}
