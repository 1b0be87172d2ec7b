//! Starts samplers in each node, tells what they see, and keeps the record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::clients::{self, Pace, Shared};
use super::data::{self, Watched};
use super::passage::Stretch;
use super::record::Record;
use super::slot;
use super::timeline::{Explained, Timeline};
use crate::agent::{Agent, Call, Said};
use crate::event::{Bus, ClientCall, Event, Moment, Told, Usage};
use crate::node::Node;
use crate::sys::clock::Stamp;

/// Between two looks at a member, and the same while a learner or an unstarted member exists.
const EVERY: Duration = Duration::from_millis(100);
const BUSY: Duration = Duration::from_millis(50);
/// Between two measurements of what is used.
const METER: Duration = Duration::from_secs(1);
/// Between two comparisons of the members' data.
const COMPARE: Duration = Duration::from_secs(10);
/// What is used is told when it has changed by more than a part of this, or after so many measurements.
const LITTLE: u64 = 50;
const AT_LEAST: u32 = 10;

/// The running samplers. Dropping it ends them.
pub struct Observer {
    record: Arc<Mutex<Record>>,
    samplers: JoinSet<()>,
    events: Bus,
    stop: CancellationToken,
    nodes: Watched,
    /// What ends the watch of each node.
    each: BTreeMap<String, CancellationToken>,
    /// What joinder's own clients share, once they call.
    clients: Option<Shared>,
    /// The number of the last event that is in the record.
    heard: watch::Receiver<u64>,
}

impl Observer {
    /// Watches these nodes and their etcd members, whether they run yet or not.
    pub fn start<'a>(nodes: impl IntoIterator<Item = &'a Arc<Node>>, events: &Bus) -> Self {
        let (hears, heard) = watch::channel(0);
        let mut this = Self {
            record: Arc::new(Mutex::new(Record::since(events.zero()))),
            samplers: JoinSet::new(),
            events: events.clone(),
            stop: CancellationToken::new(),
            each: BTreeMap::new(),
            nodes: Watched::default(),
            clients: None,
            heard,
        };
        this.samplers.spawn(listen(events.subscribe(), events.clone(), this.record.clone(), hears, this.stop.clone()));
        nodes.into_iter().for_each(|node| this.add(node));
        this.samplers.spawn(compare(this.nodes.clone(), this.events.clone(), this.record.clone(), this.stop.clone()));
        this
    }

    /// Watches one more.
    pub fn add(&mut self, node: &Arc<Node>) {
        let stop = self.stop.child_token();
        self.each.insert(node.name.clone(), stop.clone());
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).insert(node.name.clone(), node.clone());
        if node.role.has_member() {
            self.samplers.spawn(sample(node.clone(), self.events.clone(), self.record.clone(), stop.clone()));
            if let Some(shared) = &self.clients {
                self.samplers.spawn(clients::drive(node.clone(), shared.clone(), stop.clone()));
            }
        }
        self.samplers.spawn(meter(node.clone(), self.events.clone(), self.record.clone(), stop));
    }

    /// Ends the watch of a node that is about to go; what was seen stays.
    pub fn forget(&mut self, node: &str) {
        if let Some(stop) = self.each.remove(node) {
            stop.cancel();
        }
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).remove(node);
        self.locked(|record| record.gone(node));
    }

    /// Has all voters tell the hash of their data, unless somebody learns.
    pub async fn compare_data(&self) {
        let (busy, answering) = self.locked(|record| (record.learning(), record.answering()));
        if !busy {
            data::compare(&self.nodes, &answering, &self.events).await;
        }
    }

    /// Has joinder's own clients call etcd wherever a member votes, from now on.
    pub fn load(&mut self, pace: Pace) {
        let (tell, voters) = watch::channel(BTreeSet::new());
        let shared = Shared { pace, events: self.events.clone(), record: self.record.clone(), voters };
        self.samplers.spawn(clients::count_voters(self.events.subscribe(), tell, self.record.clone(), self.stop.clone()));
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        for (node, stop) in nodes.values().filter(|node| node.role.has_member()).filter_map(|node| Some((node, self.each.get(&node.name)?)))
        {
            self.samplers.spawn(clients::drive(node.clone(), shared.clone(), stop.clone()));
        }
        drop(nodes);
        self.clients = Some(shared);
    }

    /// Keeps and tells a call that somebody else than the clients made.
    pub fn called(&self, call: &ClientCall) {
        self.locked(|record| {
            let seq = self.events.tell(Event::Called { call: call.clone() });
            record.history.called(seq, call);
        });
    }

    /// The member of this node was taken down on purpose, and told to run again.
    pub fn restarted(&self, node: &str, from: Stamp, told_back: Stamp) {
        self.locked(|record| record.restarted(node, from, told_back));
    }

    /// The member of this node is told to end, and to stay so.
    pub fn stopped(&self, node: &str, from: Stamp) {
        self.locked(|record| record.stopped(node, from));
    }

    /// A member that was told to end is told to run again.
    pub fn told_back(&self, node: &str, at: Stamp) {
        self.locked(|record| record.told_back(node, at));
    }

    /// What was seen so far.
    pub fn record(&self) -> Record {
        self.locked(|record| record.clone())
    }

    /// Waits until all that was told before this call is in the record.
    pub async fn caught_up(&self) {
        let last = self.events.last();
        // the listener's end: what it has not heard it never will
        let _ = self.heard.clone().wait_for(|heard| *heard >= last).await;
    }

    /// Looks at what was seen so far, without a copy.
    pub fn look<T>(&self, at: impl FnOnce(&Record) -> T) -> T {
        self.locked(|record| at(record))
    }

    /// Has a member of this name become a voter since then?
    pub fn promoted(&self, name: &str, since: Stamp) -> bool {
        self.locked(|record| {
            let lives = record.lives.values().filter(|life| life.name == name);
            lives.filter_map(|life| life.sight(Moment::Promoted)).any(|sight| sight.at >= since)
        })
    }

    /// Ends the samplers and waits for them.
    pub async fn stop(mut self) -> Record {
        self.stop.cancel();
        while self.samplers.join_next().await.is_some() {}
        self.record()
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Record) -> T) -> T {
        act(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Has the data compared now and then, while nobody learns: a hash reads the whole store, and learners give none.
async fn compare(nodes: Watched, events: Bus, record: Arc<Mutex<Record>>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(COMPARE) => {}
        }
        let (busy, answering) = {
            let record = record.lock().unwrap_or_else(PoisonError::into_inner);
            (record.learning(), record.answering())
        };
        if !busy {
            tokio::select! {
                () = stop.cancelled() => return,
                () = data::compare(&nodes, &answering, &events) => {}
            }
        }
    }
}

/// Hears all that is told, and tells of each join where its time went.
async fn listen(
    mut told: UnboundedReceiver<Told>,
    events: Bus,
    record: Arc<Mutex<Record>>,
    hears: watch::Sender<u64>,
    stop: CancellationToken,
) {
    let mut timeline = Timeline::default();
    let mut hear = |told: Told| {
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        record.hear(&told);
        record.story.hear(&told);
        drop(record);
        timeline.hear(&told)
    };
    loop {
        let heard = tokio::select! {
            biased;
            heard = told.recv() => heard,
            () = stop.cancelled() => None,
        };
        let Some(heard) = heard else { break };
        let seq = heard.seq;
        if let Some(explained) = hear(heard) {
            explain(&explained, &events, &record);
        }
        hears.send_replace(seq);
    }
    for explained in timeline.rest() {
        explain(&explained, &events, &record);
    }
}

fn explain(explained: &Explained, events: &Bus, record: &Mutex<Record>) {
    let Explained { node, whole, stretches } = explained;
    let tell = |stretch: &Stretch| {
        let Stretch { kind, began, took } = *stretch;
        let seq = events.tell(Event::Span { node: node.clone(), span: kind, began, took });
        record.lock().unwrap_or_else(PoisonError::into_inner).story.span(node, *stretch, seq);
    };
    stretches.iter().for_each(tell);
    // the whole comes last: whoever waits for a node's spans waits for it
    tell(whole);
    let words = slot::holders(&record.lock().unwrap_or_else(PoisonError::into_inner).lives, node, stretches);
    for text in words {
        events.tell(Event::Note { text });
    }
}

/// Measures a node, and goes on with the next agent when one is lost with its container; `sample` tells of the loss.
async fn meter(node: Arc<Node>, events: Bus, record: Arc<Mutex<Record>>, stop: CancellationToken) {
    let mut agents = node.agents();
    loop {
        let agent = agents.borrow_and_update().clone();
        tokio::select! {
            () = stop.cancelled() => return,
            () = measure(&agent, &node, &events, &record) => {}
        }
        drop(agent);
        record.lock().unwrap_or_else(PoisonError::into_inner).lose(&node.name, "its agent was lost");
        tokio::select! {
            () = stop.cancelled() => return,
            changed = agents.changed() => if changed.is_err() { return },
        }
    }
}

/// Keeps what one agent measures and notices, until it is lost.
async fn measure(agent: &Agent, node: &Node, events: &Bus, record: &Mutex<Record>) {
    let every = u64::try_from(METER.as_millis()).unwrap_or(u64::MAX);
    let log = node.etcd_log().map(str::to_owned);
    let node = node.name.as_str();
    let mut replies = agent.call(Call::Meter { node: node.to_owned(), every, log });
    let mut told: BTreeMap<String, (Usage, u32)> = BTreeMap::new();
    while let Ok(said) = replies.next().await {
        match said {
            Said::Metered { seen, used, metrics } => {
                record.lock().unwrap_or_else(PoisonError::into_inner).found(node);
                for (component, usage) in used {
                    record.lock().unwrap_or_else(PoisonError::into_inner).measures.used(node, &component, seen, &usage);
                    let (before, since) = told.get(&component).copied().unwrap_or_default();
                    let news = since == 0 || since >= AT_LEAST || differs(&usage, &before);
                    told.insert(component.clone(), if news { (usage, 1) } else { (before, since + 1) });
                    if news {
                        events.tell(Event::Used { node: node.to_owned(), component, seen, usage });
                    }
                }
                let seq = metrics
                    .as_ref()
                    .map_or(0, |metrics| events.tell(Event::Metrics { node: node.to_owned(), seen, metrics: metrics.clone() }));
                let fresh = {
                    let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(metrics) = &metrics {
                        record.measures.metrics(node, seen, metrics);
                    }
                    record.metrics(seq, node, seen, metrics.as_ref())
                };
                for (id, name, moment, seen) in fresh {
                    events.tell(Event::Member { id, name, moment, seen });
                }
            }
            Said::Noticed { seen, notice } => drop(events.tell(Event::Noticed { node: node.to_owned(), seen, notice })),
            Said::Failed { .. } => return,
            Said::Hello { .. }
            | Said::Started { .. }
            | Said::Line { .. }
            | Said::Exited { .. }
            | Said::Answer { .. }
            | Said::Sample { .. }
            | Said::Members { .. }
            | Said::Used { .. }
            | Said::Proxying { .. }
            | Said::Proxied { .. }
            | Said::Unproxied { .. }
            | Said::Disturbed { .. }
            | Said::Called { .. }
            | Said::Kept { .. }
            | Said::Done => {}
        }
    }
}

/// Would a reader learn something from it?
fn differs(now: &Usage, before: &Usage) -> bool {
    let far = |a: u64, b: u64| a.abs_diff(b) > b / LITTLE;
    far(now.memory, before.memory) || now.cpu_us.abs_diff(before.cpu_us) > u64::try_from(METER.as_micros()).unwrap_or(0) / LITTLE
}

/// Samples a node's member, and goes on with the next agent when one is lost with its container.
async fn sample(node: Arc<Node>, events: Bus, record: Arc<Mutex<Record>>, stop: CancellationToken) {
    let mut agents = node.agents();
    loop {
        let agent = agents.borrow_and_update().clone();
        let why = tokio::select! {
            () = stop.cancelled() => return,
            why = follow(&agent, &node, &events, &record) => why,
        };
        drop(agent);
        record.lock().unwrap_or_else(PoisonError::into_inner).lose(&node.name, &why);
        events.tell(Event::Warning { text: format!("{} is not watched until it is back: {why}", node.name) });
        tokio::select! {
            () = stop.cancelled() => return,
            changed = agents.changed() => if changed.is_err() { return },
        }
    }
}

/// Keeps what one agent sees; returns why it sees nothing any more.
async fn follow(agent: &Agent, node: &Node, events: &Bus, record: &Mutex<Record>) -> String {
    let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    let mut replies = agent.call(Call::Watch { etcd: node.etcd(), every: millis(EVERY), busy: millis(BUSY) });
    let node = node.name.as_str();
    loop {
        let said = match replies.next().await {
            Ok(said) => said,
            Err(e) => return e.to_string(),
        };
        if let Said::Sample { sample } = said {
            let seq = events.tell(Event::Etcd { node: node.to_owned(), sample: sample.clone() });
            let fresh = record.lock().unwrap_or_else(PoisonError::into_inner).sample(seq, node, &sample);
            for (id, name, moment) in fresh {
                events.tell(Event::Member { id, name, moment, seen: sample.seen });
            }
        } else if let Said::Failed { why } = said {
            return why;
        }
    }
}
