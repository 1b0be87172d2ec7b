//! `joinder delete cluster`.

use super::args::DeleteArgs;
use super::case::REMOVAL;
use super::context::Signals;
use super::diag;
use super::exit::Exit;
use super::kubeconfig;
use crate::cluster;
use crate::runtime::label;

/// Removes what carries the cluster's label. A cluster that is not there is gone already: that is no error, as in kind.
pub(super) async fn cluster(args: &DeleteArgs) -> Exit {
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
    if let Err(e) = kubeconfig::forget(name, args.kubeconfig.kubeconfig.as_deref()).await {
        return diag::fail(signals.or(Exit::Left), &e.context("the cluster is gone, but its entries in a kubeconfig could not be removed"));
    }
    signals.or(Exit::Passed)
}
