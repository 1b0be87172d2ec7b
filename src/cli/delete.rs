//! `joinder delete cluster`.

use super::args::{DeleteArgs, DeleteManyArgs, NameArgs};
use super::case::REMOVAL;
use super::context::{Signals, engine};
use super::diag;
use super::exit::Exit;
use super::kinder::Called;
use super::kubeconfig;
use crate::cluster;
use crate::runtime::label;

/// Removes what carries the cluster's label. A cluster that is not there is gone already: that is no error, as in kind.
pub(super) async fn cluster(args: &DeleteArgs, called: Called) -> Exit {
    let name = args.cluster.name.as_str();
    let signals = Signals::listen();
    let runtime = match signals.engine().await {
        Ok((runtime, _)) => runtime,
        Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    };
    let labels = [format!("{}={name}", label::CLUSTER)];
    let gone = cluster::remove(runtime.as_ref(), &labels, REMOVAL, &signals.stop.hard).await;
    if gone.removed.is_empty() && gone.left.is_empty() {
        diag::say(&format!("there is no cluster {name:?}"));
    } else {
        diag::say(&format!("removed {}", gone.removed.join(", ")));
    }
    if !gone.left.is_empty() {
        diag::say(&format!(
            "error: could not remove {}\nhint: try again, or remove it by hand with the engine's own command",
            gone.left.join("; ")
        ));
        return Exit::Left;
    }
    if let Err(e) = kubeconfig::forget(&called.context(name), args.kubeconfig.kubeconfig.as_deref()).await {
        return diag::fail(signals.or(Exit::Left), &e.context("the cluster is gone, but its entries in a kubeconfig could not be removed"));
    }
    signals.or(Exit::Passed)
}

/// Removes one after the other; the first that could not be removed decides the exit code.
pub(super) async fn clusters(args: DeleteManyArgs, called: Called) -> Exit {
    let DeleteManyArgs { mut names, all, kubeconfig } = args;
    if all {
        let found = match engine().await {
            Ok(runtime) => cluster::clusters(runtime.as_ref()).await,
            Err(e) => Err(e),
        };
        match found {
            Ok(found) => names.extend(found.into_iter().map(|cluster| cluster.name)),
            Err(e) => return diag::fail(Exit::BadEnvironment, &e.into()),
        }
    }
    let mut worst = Exit::Passed;
    for name in names {
        let exit = self::cluster(&DeleteArgs { cluster: NameArgs { name }, kubeconfig: kubeconfig.clone() }, called).await;
        if worst == Exit::Passed {
            worst = exit;
        }
    }
    worst
}
