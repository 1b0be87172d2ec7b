//! One process of a node: killed, stopped, or asked to end so that another one takes its place.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::super::ground::names;
use super::each;
use super::guard::{ASK, Down, Guard, Refused};
use crate::node::Node;
use crate::spec::Victim;
use crate::sys::wait::{Look, Patience, wait};

/// Sends signal `$2` to each process that is called `$1`, and says its id. The kernel's own name for it: a path could be any.
const SIGNAL: &str = r#"for dir in /proc/[0-9]*; do
  { read -r name < "$dir/comm"; } 2>/dev/null || continue
  [ "$name" = "$1" ] || continue
  pid=${dir#/proc/}
  if [ "$2" = 0 ] || kill -s "$2" "$pid"; then echo "$pid"; fi
done"#;
/// How each of these processes is, as the kernel says: `12 S`; nothing for one that is gone.
const STATES: &str = r#"for pid in "$@"; do
  { read -r line < "/proc/$pid/stat"; } 2>/dev/null || continue
  rest=${line##*) }
  echo "$pid ${rest%% *}"
done"#;
/// Lets these processes run on.
const CONTINUE: &str = r#"for pid in "$@"; do [ ! -d "/proc/$pid" ] || kill -s CONT "$pid"; done"#;

/// How long a killed process may take to be gone.
const GONE: Duration = Duration::from_secs(5);
/// How long another one may take to come: the kubelet waits longer and longer before it starts a container again.
const BACK: Duration = Duration::from_mins(1);
/// How long it may be away between its end and its next start: the kubelet's unit waits a second.
const BETWEEN: Duration = Duration::from_secs(10);
/// Between two looks.
const EVERY: Duration = Duration::from_millis(100);

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Kill,
    Pause,
    Restart,
}

/// Processes that were struck.
pub(super) struct Process {
    way: Way,
    what: &'static str,
    /// Each node with its processes' ids.
    struck: Vec<(Arc<Node>, Vec<String>)>,
}

impl Process {
    pub(super) async fn strike(way: Way, victim: Victim, nodes: Vec<Arc<Node>>) -> Result<Box<dyn Guard>, Refused> {
        let what = victim.as_str();
        let signal = match way {
            Way::Kill => "KILL",
            Way::Pause => "STOP",
            Way::Restart => "TERM",
        };
        let mut struck = signalled(&nodes, what, signal).await?;
        // it may just have ended, and come back; nobody starts kubeadm again
        if struck.is_empty() && victim != Victim::Kubeadm {
            let patience = Patience { limit: BETWEEN, every: EVERY, stop: CancellationToken::new() };
            let looked = wait(what, &patience, || async {
                match signalled(&nodes, what, signal).await {
                    Ok(found) if found.is_empty() => Look::NotYet(String::new()),
                    found => Look::Done(found),
                }
            });
            struck = looked.await.unwrap_or(Ok(Vec::new()))?;
        }
        if struck.is_empty() {
            return Err(Refused::Failed(format!("no {what} runs on {}", names(&nodes))));
        }
        Ok(Box::new(Self { way, what, struck }))
    }

    /// What is in this state, in words, when all are.
    async fn all(&self, limit: Duration, is: impl Fn(&Seen) -> Option<String>) -> Option<String> {
        let patience = Patience { limit, every: EVERY, stop: CancellationToken::new() };
        let looked = wait(self.what, &patience, || async {
            let mut said = Vec::new();
            for (node, before) in &self.struck {
                let Some(seen) = Seen::of(node, self.what, before).await else { return Look::NotYet(format!("no word of {}", node.name)) };
                match is(&seen) {
                    Some(words) => said.push(format!("{words} on {}", node.name)),
                    None => return Look::NotYet(format!("{seen:?}")),
                }
            }
            Look::Done(said.join(", "))
        });
        looked.await.ok()
    }
}

/// How the processes of one node are now.
#[derive(Debug)]
struct Seen {
    what: &'static str,
    before: Vec<String>,
    /// Of those, the ones that are there, with their state.
    there: Vec<(String, String)>,
    now: Vec<String>,
}

impl Seen {
    async fn of(node: &Node, what: &'static str, before: &[String]) -> Option<Self> {
        let ids: Vec<&str> = before.iter().map(String::as_str).collect();
        let states = node.script(STATES, &ids, ASK).await.ok()?;
        let there = states.lines().filter_map(|line| line.split_once(' ')).map(|(id, state)| (id.to_owned(), state.to_owned())).collect();
        let now = find(node, what, "0").await.ok()?;
        Some(Self { what, before: before.to_vec(), there, now })
    }

    fn ids(&self) -> String {
        self.before.join(" and ")
    }

    fn gone(&self) -> Option<String> {
        // a zombie waits for its parent alone
        let gone = self.there.iter().all(|(_, state)| state == "Z");
        gone.then(|| format!("{} (process {}) is gone", self.what, self.ids()))
    }

    fn stopped(&self) -> Option<String> {
        let stopped = !self.there.is_empty() && self.there.iter().all(|(_, state)| state == "T");
        stopped.then(|| format!("{} (process {}) stands still", self.what, self.ids()))
    }

    fn another(&self) -> Option<String> {
        let new: Vec<String> = self.now.iter().filter(|id| !self.before.contains(id)).cloned().collect();
        (self.gone().is_some() && !new.is_empty()).then(|| format!("{} was process {} and is {}", self.what, self.ids(), new.join(" and ")))
    }
}

/// Sends the signal on each node, and says where there was anybody to get it.
async fn signalled(nodes: &[Arc<Node>], what: &str, signal: &str) -> Result<Vec<(Arc<Node>, Vec<String>)>, Refused> {
    let all = join_all(nodes.iter().map(async |node| (node.clone(), find(node, what, signal).await))).await;
    let mut struck = Vec::new();
    for (node, found) in all {
        let found = found.map_err(Refused::Failed)?;
        if !found.is_empty() {
            struck.push((node, found));
        }
    }
    Ok(struck)
}

async fn find(node: &Node, what: &str, signal: &str) -> Result<Vec<String>, String> {
    let said = node.script(SIGNAL, &[what, signal], ASK).await.map_err(|e| e.to_string())?;
    Ok(said.split_whitespace().map(str::to_owned).collect())
}

#[async_trait]
impl Guard for Process {
    fn down(&self) -> Down {
        if self.what != Victim::Etcd.as_str() {
            return Down::default();
        }
        let nodes = self.struck.iter().map(|(node, _)| node.name.clone()).collect();
        Down { nodes, lasts: self.way == Way::Pause }
    }

    async fn proof(&mut self) -> Option<String> {
        match self.way {
            Way::Kill => self.all(GONE, Seen::gone).await,
            Way::Pause => self.all(GONE, Seen::stopped).await,
            Way::Restart => self.all(BACK, Seen::another).await,
        }
    }

    /// What was killed comes back by itself, or never does.
    async fn heal(&mut self) -> Result<(), String> {
        if self.way != Way::Pause {
            return Ok(());
        }
        let healed = join_all(self.struck.iter().map(async |(node, ids)| {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            node.script(CONTINUE, &ids, ASK).await
        }));
        each::undone(healed.await)
    }
}
