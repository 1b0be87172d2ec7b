//! The proxies in the nodes, each started once for all that need it, and ended with the last of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentError, Call, Disturb, Replies, Said};
use crate::event::{Bus, Event};
use crate::node::Node;

/// From asking for a proxy to its rule, and from ending it to its end.
const LIMIT: Duration = Duration::from_secs(15);
/// One word to an agent.
const ASK: Duration = Duration::from_secs(5);

/// All proxies of a run. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Proxies(Arc<tokio::sync::Mutex<BTreeMap<String, Shared>>>);

struct Shared {
    users: usize,
    proxy: Arc<Proxy>,
    /// Ends with the proxy.
    _task: JoinSet<()>,
}

/// A call that has met a fault.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub(super) node: String,
    pub(super) how: String,
}

type Listeners = Arc<Mutex<BTreeMap<String, mpsc::UnboundedSender<Met>>>>;

/// One proxy.
pub(super) struct Proxy {
    pub(super) node: Arc<Node>,
    stop: CancellationToken,
    /// Its end, with the reason where it was not asked for.
    ended: watch::Receiver<Option<Result<(), String>>>,
    listeners: Listeners,
}

impl Proxies {
    /// The proxy of a node, which stands when this returns.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) async fn take(&self, node: &Arc<Node>, events: &Bus) -> Result<Arc<Proxy>, AgentError> {
        let mut all = self.0.lock().await;
        if let Some(shared) = all.get_mut(&node.name).filter(|shared| shared.proxy.ended.borrow().is_none()) {
            shared.users += 1;
            return Ok(shared.proxy.clone());
        }
        let mut replies = node.agent().call(Call::Proxy);
        let first = timeout(LIMIT, replies.next()).await.map_err(|_| AgentError::Late { node: node.name.clone(), limit: LIMIT })??;
        if let Said::Failed { why } = first {
            return Err(AgentError::Refused { node: node.name.clone(), why });
        }
        let (end, ended) = watch::channel(None);
        let proxy = Arc::new(Proxy { node: node.clone(), stop: CancellationToken::new(), ended, listeners: Listeners::default() });
        let mut task = JoinSet::new();
        let (name, events, stop, listeners) = (node.name.clone(), events.clone(), proxy.stop.clone(), proxy.listeners.clone());
        task.spawn(async move {
            let why = follow(replies, &name, &events, &stop, &listeners).await;
            end.send_replace(Some(why));
        });
        all.insert(node.name.clone(), Shared { users: 1, proxy: proxy.clone(), _task: task });
        Ok(proxy)
    }

    /// One user less; with the last one the proxy ends.
    ///
    /// # Errors
    /// Why its rule may still be there.
    pub(super) async fn give_back(&self, proxy: &Arc<Proxy>) -> Result<(), String> {
        let mut all = self.0.lock().await;
        let Some(shared) = all.get_mut(&proxy.node.name).filter(|shared| Arc::ptr_eq(&shared.proxy, proxy)) else { return Ok(()) };
        shared.users -= 1;
        if shared.users > 0 {
            return Ok(());
        }
        let Some(shared) = all.remove(&proxy.node.name) else { return Ok(()) };
        shared.proxy.stop.cancel();
        match timeout(LIMIT, shared.proxy.end()).await {
            Ok(end) => end,
            Err(_) => Err("the proxy does not end".into()),
        }
    }
}

impl Proxy {
    /// Waits for its end, asked for or not.
    pub(super) async fn end(&self) -> Result<(), String> {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(Ok(())),
            Err(_) => Err("nobody follows the proxy".into()),
        }
    }

    /// Disturbs these calls from now on, and has `listener` told of each.
    ///
    /// # Errors
    /// The agent's.
    pub(super) async fn disturb(&self, disturb: Disturb, listener: mpsc::UnboundedSender<Met>) -> Result<(), AgentError> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(disturb.key.clone(), listener);
        self.node.agent().ask(Call::Disturb { disturb }, ASK).await.map(drop)
    }

    /// Lets what is held go on, and disturbs no more.
    ///
    /// # Errors
    /// The agent's.
    pub(super) async fn lift(&self, key: &str) -> Result<(), AgentError> {
        // a proxy that is gone disturbs nothing
        if self.ended.borrow().is_some() {
            return Ok(());
        }
        self.node.agent().ask(Call::Lift { key: key.to_owned() }, ASK).await.map(drop)
    }
}

/// Tells what one proxy says, until its end.
async fn follow(mut replies: Replies, node: &str, events: &Bus, stop: &CancellationToken, listeners: &Listeners) -> Result<(), String> {
    let mut stopping = false;
    let mut doubts = Vec::new();
    loop {
        let said = tokio::select! {
            said = replies.next() => said,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                replies.cancel();
                continue;
            }
        };
        match said {
            Ok(Said::Proxied { call }) => drop(events.tell(Event::Proxied { node: node.to_owned(), call })),
            Ok(Said::Disturbed { key, how, .. }) => {
                let met = Met { node: node.to_owned(), how };
                listeners.lock().unwrap_or_else(PoisonError::into_inner).get(&key).map(|to| to.send(met));
            }
            Ok(Said::Unproxied { endpoint, why }) => {
                // kubeadm tries again and again
                let text = format!("{node}: kubeadm's connection to {endpoint} ended: {why}");
                if !doubts.contains(&text) {
                    events.tell(Event::Note { text: text.clone() });
                    doubts.push(text);
                }
            }
            Ok(Said::Done) if stopping => return Ok(()),
            Ok(Said::Done) => return Err("the proxy of etcd's calls has ended".into()),
            Ok(Said::Failed { why }) => return Err(why),
            Ok(
                Said::Hello { .. }
                | Said::Started { .. }
                | Said::Line { .. }
                | Said::Exited { .. }
                | Said::Answer { .. }
                | Said::Sample { .. }
                | Said::Members { .. }
                | Said::Used { .. }
                | Said::Metered { .. }
                | Said::Noticed { .. }
                | Said::Called { .. }
                | Said::Kept { .. }
                | Said::Proxying { .. },
            ) => {}
            Err(e) => return Err(e.to_string()),
        }
    }
}
