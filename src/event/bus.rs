//! Events go to all who listen, in one order, each with its number and time.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::Event;
use crate::sys::clock::Stamp;

/// An event with its place in the stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    /// Counts from 1 without gaps.
    pub seq: u64,
    /// When it was told. Observations carry their own, earlier time.
    #[serde(flatten)]
    pub at: Stamp,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// Carries events. Clones are the same bus.
#[derive(Clone, Default)]
pub struct Bus(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    seq: u64,
    zero: Option<Stamp>,
    listeners: Vec<mpsc::UnboundedSender<Told>>,
}

impl Bus {
    /// A bus that nobody listens to yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All events from now on. Unbounded: a slow listener must not slow the cluster down that is being measured.
    pub fn subscribe(&self) -> mpsc::UnboundedReceiver<Told> {
        let (tx, rx) = mpsc::unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listeners.push(tx);
        rx
    }

    /// Tells all listeners, and returns the event's number.
    pub fn tell(&self, event: Event) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.seq += 1;
        let told = Told { seq: state.seq, at: Stamp::now(), event };
        let begins = matches!(told.event, Event::CaseStarted { of, .. } if of > 1);
        state.zero = state.zero.filter(|_| !begins).or(Some(told.at));
        state.listeners.retain(|l| l.send(told.clone()).is_ok());
        told.seq
    }

    /// What times are counted from where people read them: the run's begin, and of several cases each one's own.
    pub fn zero(&self) -> Option<Stamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).zero
    }

    /// The number of the last event that was told.
    pub fn last(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).seq
    }

    /// Ends the stream for all listeners.
    pub fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listeners.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_listeners_hear_the_same_order_and_the_end() {
        let bus = Bus::new();
        let (mut a, mut b) = (bus.subscribe(), bus.subscribe());
        for text in ["x", "y"] {
            bus.tell(Event::Note { text: text.into() });
        }
        bus.close();
        for listener in [&mut a, &mut b] {
            let mut seqs = Vec::new();
            while let Some(told) = listener.recv().await {
                seqs.push(told.seq);
            }
            assert_eq!(seqs, [1, 2]);
        }
    }
}
