//! `restart`: nodes, or something in them, end and start again.

use std::time::Duration;

use super::each::each;
use super::error::StepError;
use super::member::{again, end};
use super::world::World;
use crate::cluster::select;
use crate::event::Event;
use crate::node::{BootLimits, Node, NodeError, Role};
use crate::spec::{Ending, Part, Restart};
use crate::sys::clock::{Stamp, human};
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, wait};

/// From asking a node to stop to killing it. Measured: a control plane alone is down after 6 s, one of three takes longer than this.
const GRACE: Duration = Duration::from_secs(30);
/// One command in a node.
const ASK: Duration = Duration::from_secs(30);
/// The kubelet waits longer and longer before it starts a container again, five minutes at most.
const BACK: Duration = Duration::from_mins(6);
/// Between two looks.
const EVERY: Duration = Duration::from_millis(200);

/// The main process of the kubelet while it is active; nothing otherwise.
const KUBELET: &str = r#"[ "$(systemctl show -p ActiveState --value kubelet)" = active ] || exit 0
pid=$(systemctl show -p MainPID --value kubelet); [ "$pid" = 0 ] || echo "$pid""#;
/// Restarts it; systemd starts what was killed by itself.
const END_KUBELET: &str = "case $2 in kill) systemctl kill -s KILL kubelet ;; *) systemctl restart kubelet ;; esac";
/// The running container of this name; nothing when there is none.
const CONTAINER: &str = r#"crictl ps --state running --name "^$1\$" -q 2>/dev/null | head -n 1"#;
/// Ends the container's process; the kubelet starts another container.
const END_CONTAINER: &str = r#"set -eu
pid=$(crictl inspect --output go-template --template '{{.info.pid}}' "$1" 2>/dev/null)
[ "${pid:-0}" -gt 1 ] || { echo "crictl does not say which process container $1 is"; exit 1; }
case $2 in kill) kill -KILL "$pid" ;; *) kill -TERM "$pid" ;; esac"#;

/// Restarts, one node after the other up to the first failure, or all at once. Ends when what was restarted runs again.
///
/// # Errors
/// [`StepError::Node`] for a node that does not come back, [`StepError::Restart`] for something in it.
pub async fn restart(world: &World, restart: &Restart, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let nodes = select(&cluster, &restart.nodes, restart.allow_empty).await?;
    each("restart", &nodes, restart.parallel, stop, async |node| one(world, node, restart, stop).await).await
}

async fn one(world: &World, node: &Node, restart: &Restart, stop: &Stop) -> Result<(), StepError> {
    let began = Stamp::now();
    let ended = end_and_start(world, node, restart, stop).await;
    if matches!(restart.what, Part::Node | Part::Etcd)
        && let Some(observer) = &world.observer
    {
        observer.restarted(&node.name, began, Stamp::now());
    }
    let what = ended?;
    world.events.tell(Event::Note { text: format!("{what} runs again {} after it was told to end", human(Stamp::now().since(began))) });
    Ok(())
}

/// Returns what was restarted, in words.
async fn end_and_start(world: &World, node: &Node, restart: &Restart, stop: &Stop) -> Result<String, StepError> {
    Ok(match restart.what {
        Part::Node => {
            let grace = match restart.how {
                Ending::Stop => Some(GRACE),
                Ending::Kill => None,
            };
            let how = node.restart(grace, &BootLimits { containerd: world.limits.boot, stop: stop.soft.clone() }).await?;
            // nobody else starts it: there is no system in that node
            if node.role == Role::Etcd {
                again(world, node, stop).await?;
            }
            format!("container {} {how}, and", node.name)
        }
        Part::Kubelet => part(node, restart, KUBELET, END_KUBELET, stop).await?,
        Part::Etcd if node.role == Role::Etcd => {
            end(node, restart.how).await?;
            again(world, node, stop).await?;
            format!("etcd of {}", node.name)
        }
        Part::Etcd | Part::KubeApiserver => part(node, restart, CONTAINER, END_CONTAINER, stop).await?,
    })
}

/// Ends what `find` finds by `end`, and waits until it finds another one; returns its name.
async fn part(node: &Node, restart: &Restart, find: &str, end: &str, stop: &Stop) -> Result<String, StepError> {
    let what = restart.what.as_str();
    let failed = |why: String| StepError::Restart { what, node: node.name.clone(), why };
    let said = |e| NodeError::from(e).to_string();
    let find = async || node.script(find, &[what], ASK).await.map(|id| id.trim().to_owned());
    let before = find().await.map_err(said).map_err(failed)?;
    if before.is_empty() {
        return Err(failed("none runs there".into()));
    }
    let how = match restart.how {
        Ending::Stop => "stop",
        Ending::Kill => "kill",
    };
    node.script(end, &[&before, how], ASK).await.map_err(said).map_err(failed)?;
    let patience = Patience { limit: BACK, every: EVERY, stop: stop.soft.clone() };
    let back = wait(format!("{what} of {}", node.name), &patience, || async {
        match find().await {
            Ok(now) if now.is_empty() => Look::NotYet("it is down".into()),
            Ok(now) if now == before => Look::NotYet("it has not ended yet".into()),
            Ok(_) => Look::Done(()),
            Err(e) => Look::NotYet(e.to_string()),
        }
    });
    back.await?;
    Ok(format!("{what} of {}", node.name))
}
