//! `joinder do ACTION`.

use tokio::task::JoinSet;

use super::super::context::Signals;
use super::super::diag;
use super::super::exit::Exit;
use super::args::Do;
use super::{inputs, shown};
use crate::action::{self, Action};
use crate::event::Bus;
use crate::spec::Order;

pub(in super::super) async fn act(what: Do) -> Exit {
    let (action, args) = what.parts();
    for flag in inputs::ignored(action, &args) {
        diag::say(&format!("warning: this action does not read {flag}"));
    }
    let options = match inputs::options(&args) {
        Ok(options) => options,
        Err(e) => return diag::fail(Exit::BadCommandLine, &e),
    };
    let signals = Signals::listen();
    let runtime = match signals.engine().await {
        Ok((runtime, _)) => runtime,
        Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    };
    let events = Bus::new();
    let several = action == Action::KubeadmJoin && options.order != Order::Serial;
    let mut shows = JoinSet::new();
    shows.spawn(shown::show(events.subscribe(), several, options.dry_run));
    let done = action::act(action, options, &runtime, &events, &signals.stop).await;
    events.close();
    shows.join_all().await;
    match done {
        Ok(()) => signals.or(Exit::Passed),
        Err(e) => {
            let exit = if e.is_unusable() { Exit::BadEnvironment } else { Exit::Failed };
            diag::fail(signals.or(exit), &e.into())
        }
    }
}
