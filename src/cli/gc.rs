//! `joinder gc`: what dead joinder processes have left.

use super::case::REMOVAL;
use super::context::Signals;
use super::diag;
use super::exit::Exit;
use crate::cluster;

pub(super) async fn collect() -> Exit {
    let signals = Signals::listen();
    let collected = match signals.engine().await {
        Ok((runtime, _)) => cluster::collect_garbage(runtime.as_ref(), REMOVAL, &signals.stop.hard).await,
        Err(e) => Err(e),
    };
    match collected {
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
        Ok(gone) => {
            let removed =
                if gone.removed.is_empty() { "nothing was left behind".to_owned() } else { format!("removed {}", gone.removed.join(", ")) };
            diag::say(&removed);
            if gone.left.is_empty() {
                return Exit::Passed;
            }
            diag::say(&format!("error: could not remove {}", gone.left.join("; ")));
            Exit::Left
        }
    }
}
