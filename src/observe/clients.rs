//! joinder's own clients: started in each node whose member votes, and stopped when it does no longer.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::record::Record;
use crate::agent::{Access, Agent, Call, Client, EtcdAccess, Identity, Load, Said};
use crate::event::{Bus, Event, Told};
use crate::node::{Node, Role, path};

/// After a client that ended by itself, which none does.
const AGAIN: Duration = Duration::from_secs(1);

/// How all clients of a run call.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Calls a second of a writer of etcd.
    pub writes: u32,
    /// Calls a second of each other client.
    pub reads: u32,
    /// Bytes of a value.
    pub value_size: usize,
    /// The run's id.
    pub run: String,
}

impl Pace {
    /// What all keys of the run begin with.
    pub fn prefix(run: &str) -> String {
        format!("joinder/{run}/")
    }

    /// How a client in a node is let in by the node's own member.
    pub fn access(node: &Node) -> Access {
        let EtcdAccess { address, ca, cert, key } = node.etcd();
        let identity = match node.role {
            Role::ControlPlane | Role::Worker => Identity::Signed { ca: path::ETCD_CA.into(), key: path::ETCD_CA_KEY.into() },
            // its certificates are joinder's anyhow
            Role::Etcd => Identity::Files { ca, cert, key },
        };
        Access { endpoint: format!("https://{address}"), identity }
    }
}

/// What the clients share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) pace: Pace,
    pub(super) events: Bus,
    pub(super) record: Arc<Mutex<Record>>,
    /// The nodes whose members vote, as far as anybody saw.
    pub(super) voters: watch::Receiver<BTreeSet<String>>,
}

/// Tells who votes, from the beginning of the load on.
pub(super) async fn count_voters(
    mut told: UnboundedReceiver<Told>,
    voters: watch::Sender<BTreeSet<String>>,
    record: Arc<Mutex<Record>>,
    stop: CancellationToken,
) {
    loop {
        let now = record.lock().unwrap_or_else(PoisonError::into_inner).voting();
        voters.send_if_modified(|before| {
            let changed = *before != now;
            *before = now;
            changed
        });
        loop {
            let heard = tokio::select! {
                () = stop.cancelled() => return,
                heard = told.recv() => heard,
            };
            match heard.map(|told| told.event) {
                Some(Event::Member { .. }) => break,
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// What runs in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Its member has no vote.
    None,
    /// A writer and a reader of its member.
    Voter,
    /// Those, and the pair through the API server, which is there once.
    First,
}

fn part(voters: &BTreeSet<String>, node: &str) -> Part {
    match voters.iter().position(|voter| voter == node) {
        Some(0) => Part::First,
        Some(_) => Part::Voter,
        None => Part::None,
    }
}

/// Runs the clients of one node while its member votes, also with the next agent when one is lost with its container.
pub(super) async fn drive(node: Arc<Node>, shared: Shared, stop: CancellationToken) {
    let mut voters = shared.voters.clone();
    let mut agents = node.agents();
    loop {
        let part = part(&voters.borrow_and_update(), &node.name);
        let agent = agents.borrow_and_update().clone();
        let work = async {
            match part {
                Part::None => std::future::pending().await,
                Part::Voter | Part::First => calls(&agent, &node, &shared, part).await,
            }
        };
        // the agent is lost: the next one goes on
        let lost = tokio::select! {
            () = stop.cancelled() => return,
            changed = changed(&mut voters, &node.name, part) => if changed { false } else { return },
            () = work => true,
        };
        drop(agent);
        if lost {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = agents.changed() => if changed.is_err() { return },
                () = sleep(AGAIN) => {}
            }
        }
    }
}

/// Waits until the node's part is another one; `false` when nobody counts voters any more.
async fn changed(voters: &mut watch::Receiver<BTreeSet<String>>, node: &str, before: Part) -> bool {
    voters.wait_for(|voters| part(voters, node) != before).await.is_ok()
}

/// Makes the calls of one node until one of its clients ends.
async fn calls(agent: &Agent, node: &Node, shared: &Shared, part: Part) {
    let pace = &shared.pace;
    let (etcd, prefix) = (Pace::access(node), Pace::prefix(&pace.run));
    let load = |name: String, node: &str, rate: u32, client: Client| {
        let from = shared.record.lock().unwrap_or_else(PoisonError::into_inner).history.next(&name);
        Load { name, node: node.to_owned(), every_us: 1_000_000 / u64::from(rate.max(1)), from, client }
    };
    let index = u64::from(node.index);
    let writer = Client::Writer { etcd: etcd.clone(), prefix: prefix.clone(), index, value_size: pace.value_size };
    let mut all = vec![
        load(format!("writer {}", node.name), &node.name, pace.writes, writer),
        load(format!("reader {}", node.name), &node.name, pace.reads, Client::Reader { etcd, prefix }),
    ];
    if part == Part::First && node.role == Role::ControlPlane {
        let (kubeconfig, config_map) = (path::ADMIN_CONF.to_owned(), format!("joinder-{}", pace.run));
        let writer = Client::ApiWriter { kubeconfig: kubeconfig.clone(), config_map: config_map.clone() };
        all.push(load("api-writer".into(), "", pace.reads, writer));
        all.push(load("api-reader".into(), "", pace.reads, Client::ApiReader { kubeconfig, config_map }));
    }
    let each = all.into_iter().map(|load| Box::pin(follow(agent, load, shared)));
    futures_util::future::select_all(each).await;
}

/// Keeps what one client did, until it ends.
async fn follow(agent: &Agent, load: Load, shared: &Shared) {
    let mut replies = agent.call(Call::Load { load });
    while let Ok(said) = replies.next().await {
        if let Said::Called { call } = said {
            // one after the other, so that who hears the event finds it in the record
            let mut record = shared.record.lock().unwrap_or_else(PoisonError::into_inner);
            let seq = shared.events.tell(Event::Called { call: call.clone() });
            record.history.called(seq, &call);
        } else if said.is_last() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pair_through_the_api_server_runs_once() {
        let voters: BTreeSet<String> = ["cp-1", "cp-2"].map(str::to_owned).into();
        let parts = ["cp-1", "cp-2", "cp-3"].map(|node| part(&voters, node));
        assert_eq!(parts, [Part::First, Part::Voter, Part::None]);
    }
}
