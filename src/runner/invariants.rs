//! Listens to a case's events, and has its invariants judged at each of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::event::{Bus, Event, INVARIANTS, Judgement, Told, Verdict};
use crate::expect::Invariance;
use crate::spec::{Invariant, Invariants};
use crate::sys::stop::Stop;

/// What a join that fails in a known way may break on its way: that is known with it.
const AFTERMATH: [Invariant; 5] = [Invariant::Started, Invariant::Truthful, Invariant::Endpoints, Invariant::Limits, Invariant::Cause];

/// What does not end ordinary work: their tasks fail as well, and say themselves what becomes of those beside and behind them.
const OF_A_TASK: [Invariant; 2] = [Invariant::Limits, Invariant::Cause];

/// Judges while a case runs. Dropping it ends that.
pub(super) struct Watch {
    listener: JoinSet<Option<Invariance>>,
    /// All has been told that belongs to the case.
    told: CancellationToken,
    ear: Ear,
}

/// What a broken invariant does.
#[derive(Clone)]
struct Ear {
    events: Bus,
    state: Arc<Mutex<State>>,
    /// Ordinary work ends by it.
    stop: Option<CancellationToken>,
    /// May the case fail in a known way?
    known: bool,
}

#[derive(Default)]
struct State {
    /// The first that is broken.
    broken: Option<String>,
    /// The first that ended ordinary work.
    ends_by: Option<String>,
    /// Broken ones that are told at the end, as what they are known for then.
    held: Vec<Judgement>,
}

impl Watch {
    /// Listens from now on; etcd lets so many learners in. A broken invariant ends ordinary work by `stop`, if it may.
    pub(super) fn begin(which: &Invariants, learners: usize, events: &Bus, stop: &Stop, known: bool) -> Self {
        let ear = Ear { events: events.clone(), state: Arc::default(), stop: which.fail_fast.then(|| stop.soft.clone()), known };
        let (mut listener, told) = (JoinSet::new(), CancellationToken::new());
        if which.on().next().is_some() {
            listener.spawn(listen(events.subscribe(), Invariance::new(which, learners), ear.clone(), told.clone()));
        }
        Self { listener, told, ear }
    }

    /// Why no ordinary task has its turn any more.
    pub(super) fn ends_by(&self) -> Option<String> {
        self.ear.state().ends_by.as_ref().map(|name| format!("{name} does not hold"))
    }

    /// Tells of those that did not break, once all has been told; returns the first that broke. `known`: the case failed in a known
    /// way.
    pub(super) async fn end(mut self, known: bool) -> Option<String> {
        self.told.cancel();
        while let Some(all) = self.listener.join_next().await {
            let Ok(Some(all)) = all else { continue };
            let held = std::mem::take(&mut self.ear.state().held);
            for judgement in held {
                self.ear.tell(Judgement { verdict: if known { Verdict::Known } else { Verdict::Fail }, ..judgement });
            }
            all.end().into_iter().for_each(|judgement| self.ear.tell(judgement));
        }
        self.ear.state().broken.clone()
    }
}

impl Ear {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broken(&self, judgement: Judgement) {
        let is_of = |all: &[Invariant]| all.iter().any(|one| one.title() == judgement.name);
        if self.known && is_of(&AFTERMATH) {
            self.state().held.push(judgement);
            return;
        }
        if let Some(stop) = self.stop.as_ref().filter(|_| !is_of(&OF_A_TASK)) {
            // before anybody can learn that it has its turn
            self.state().ends_by.get_or_insert_with(|| judgement.name.clone());
            stop.cancel();
        }
        self.tell(judgement);
    }

    fn tell(&self, judgement: Judgement) {
        // what cleanup leaves has an exit code of its own
        if judgement.verdict == Verdict::Fail && judgement.name != Invariant::NothingLeft.title() {
            self.state().broken.get_or_insert_with(|| judgement.name.clone());
        }
        self.events.tell(Event::Judged { index: 0, task: INVARIANTS.to_owned(), judgement });
    }
}

/// Hears until all was told.
async fn listen(mut events: UnboundedReceiver<Told>, mut all: Invariance, ear: Ear, told: CancellationToken) -> Option<Invariance> {
    loop {
        let heard = tokio::select! {
            // what waits is heard before the end
            biased;
            heard = events.recv() => heard?,
            () = told.cancelled() => return Some(all),
        };
        all.hear(&heard).into_iter().for_each(|judgement| ear.broken(judgement));
    }
}
