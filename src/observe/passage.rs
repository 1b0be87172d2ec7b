//! One node's way into the cluster, and where its time goes: a pure function of what was seen.

use std::time::Duration;

use crate::event::SpanKind;
use crate::kubeadm::marks::Mark;
use crate::sys::clock::Stamp;

/// A named stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// What it was spent on.
    pub kind: SpanKind,
    /// When it began.
    pub began: Stamp,
    /// How long it took.
    pub took: Duration,
}

/// What was seen of a node's way: kubeadm's marks, and moments from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// When each kubeadm of it began; a staged join has three.
    pub began: Vec<Stamp>,
    /// When each of them ended.
    pub ended: Vec<Stamp>,
    /// kubeadm's marks in their order.
    pub marks: Vec<(Stamp, Mark)>,
    /// Its member has a name.
    pub started: Option<Stamp>,
    /// Its member has a vote.
    pub promoted: Option<Stamp>,
    /// Its member serves clients, by its own log.
    pub serving: Option<Stamp>,
    /// Starts of its API server.
    pub api_servers: Vec<Stamp>,
    /// Its kubelet has its certificate.
    pub certificate: Option<Stamp>,
    /// Its Node object is Ready.
    pub ready: Option<Stamp>,
}

impl Passage {
    /// Adds a mark; one that only repeats the last is dropped.
    pub fn mark(&mut self, at: Stamp, mark: Mark) {
        if self.marks.last().is_none_or(|(_, last)| *last != mark) {
            self.marks.push((at, mark));
        }
    }

    /// All of it, from the first kubeadm's start to Ready or, where that was not seen, to the last kubeadm's end.
    pub fn whole(&self) -> Option<Stretch> {
        let (began, ended) = (*self.began.first()?, *self.ended.last()?);
        let end = self.ready.map_or(ended, |ready| ready.max(ended));
        Some(Stretch { kind: SpanKind::Join, began, took: end.since(began) })
    }

    /// The stretches in their order, without gap or overlap; what nothing explains is [`SpanKind::Rest`].
    pub fn stretches(&self) -> Vec<Stretch> {
        let Some(&ended) = self.ended.last() else { return Vec::new() };
        let end = self.ready.map_or(ended, |ready| ready.max(ended));
        let turns = self.turns();
        let mut all: Vec<Stretch> = Vec::new();
        for (at, (began, kind)) in turns.iter().enumerate() {
            let until = turns.get(at + 1).map_or(end, |(next, _)| *next).min(end);
            let took = until.since(*began);
            match all.last_mut() {
                _ if took.is_zero() => {}
                Some(last) if last.kind == *kind => last.took += took,
                _ => all.push(Stretch { kind: *kind, began: *began, took }),
            }
        }
        all
    }

    /// What the time is spent on, from which moment on.
    fn turns(&self) -> Vec<(Stamp, SpanKind)> {
        let mut turns: Vec<(Stamp, SpanKind)> = Vec::new();
        let last = self.ended.last();
        for (run, at) in self.began.iter().enumerate() {
            // A later kubeadm of a staged join reads what the first one has made.
            turns.push((*at, if run == 0 { SpanKind::Preflight } else { SpanKind::Prepare }));
        }
        for (run, at) in self.ended.iter().enumerate() {
            let kind = match (Some(at) == last, run) {
                (true, _) => SpanKind::ReadinessFloor,
                // behind the first of three, joinder itself holds the node until its turn with the slot
                (false, 0) => SpanKind::SlotWait,
                (false, _) => SpanKind::Rest,
            };
            turns.push((*at, kind));
        }
        turns.extend(self.marks.iter().map(|(at, mark)| (*at, self.kind(*mark, *at))));
        let announced = self.first(Mark::Announced);
        let promoted = self.first(Mark::Promoted).into_iter().chain(self.promoted).min();
        let bootstrapping = self.marks.iter().rev().find(|(_, mark)| *mark == Mark::Bootstrapping).map(|(at, _)| *at);
        if let Some(announced) = announced {
            // kubeadm of 1.34.0 promotes without a word of the start
            let started = self.started.into_iter().chain(promoted).min().map(|at| at.max(announced));
            turns.extend(started.map(|at| (at, SpanKind::Promotion)));
            turns.extend(promoted.map(|at| (at.max(announced), SpanKind::EtcdPublish)));
            // kubeadm goes on once each member serves; what it waits for after that has no name
            turns.extend(self.serving_late(promoted).map(|at| (at, SpanKind::Rest)));
        }
        if let Some(at) = bootstrapping {
            // the last start of an API server that had started before, while somebody waits for it
            let restart = self.api_servers.iter().skip(1).rev().find(|start| **start > at);
            if let Some(start) = restart {
                turns.retain(|(turn, kind)| *kind != SpanKind::KubeletCertificate || turn >= start);
                turns.push((at, SpanKind::ApiServerRestarts));
                turns.push((*start, SpanKind::KubeletCertificate));
            }
        }
        turns.sort_by_key(|(at, _)| *at);
        // what is only seen behind the end was not what kubeadm waited for
        turns.retain(|(at, kind)| last.is_none_or(|last| at < last) || *kind == SpanKind::ReadinessFloor);
        turns
    }

    /// When its member began to serve, if kubeadm has waited for that behind the promotion.
    fn serving_late(&self, promoted: Option<Stamp>) -> Option<Stamp> {
        let promoted = promoted?;
        let next = self.marks.iter().find(|(at, mark)| *at > promoted && *mark != Mark::Promoted).map(|(at, _)| *at);
        self.serving.filter(|at| *at > promoted && next.is_none_or(|next| *at < next))
    }

    fn kind(&self, mark: Mark, at: Stamp) -> SpanKind {
        match mark {
            Mark::Discovering => SpanKind::Discovery,
            Mark::Discovered if self.first(Mark::Preparing).is_some_and(|first| first < at) => SpanKind::Prepare,
            Mark::Discovered => SpanKind::Preflight,
            Mark::Preparing => SpanKind::Prepare,
            Mark::AddRefused => SpanKind::SlotWait,
            Mark::Announced => SpanKind::EtcdStart,
            Mark::Promoted => SpanKind::EtcdPublish,
            Mark::Bootstrapping => SpanKind::KubeletCertificate,
            Mark::Registered => SpanKind::ReadinessFloor,
        }
    }

    fn first(&self, wanted: Mark) -> Option<Stamp> {
        self.marks.iter().find(|(_, mark)| *mark == wanted).map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Stamp {
        Stamp { mono: ms * 1_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn passage(marks: &[(u64, Mark)]) -> Passage {
        let mut passage = Passage { began: vec![at(0)], ..Passage::default() };
        for (ms, mark) in marks {
            passage.mark(at(*ms), *mark);
        }
        passage
    }

    fn shown(passage: &Passage) -> Vec<(&'static str, u128)> {
        let all = passage.stretches();
        let whole = passage.whole().expect("it ended");
        let sum: Duration = all.iter().map(|stretch| stretch.took).sum();
        assert_eq!(sum, whole.took, "they fill the whole: {all:?}");
        for pair in all.windows(2) {
            assert_eq!(pair[1].began.since(pair[0].began), pair[0].took, "one after the other: {all:?}");
        }
        all.iter().map(|stretch| (stretch.kind.as_str(), stretch.took.as_millis())).collect()
    }

    /// The second joiner of two at once, in milliseconds as they were on 2 cores with kubeadm 1.36.3.
    fn second() -> Passage {
        Passage {
            ended: vec![at(18_308)],
            started: Some(at(8_810)),
            promoted: Some(at(9_252)),
            serving: Some(at(9_260)),
            certificate: Some(at(17_900)),
            ready: Some(at(20_000)),
            ..passage(&[
                (144, Mark::Discovering),
                (158, Mark::Discovered),
                (201, Mark::Preparing),
                (997, Mark::Preparing),
                (1_212, Mark::AddRefused),
                (7_719, Mark::AddRefused),
                (8_216, Mark::Announced),
                (9_245, Mark::Promoted),
                (9_273, Mark::Bootstrapping),
                (18_277, Mark::Registered),
            ])
        }
    }

    #[test]
    fn the_time_of_a_join_is_told_by_name() {
        assert_eq!(
            shown(&second()),
            [
                ("preflight", 144),
                ("discovery", 14),
                ("preflight", 43),
                ("prepare", 1_011),
                ("slot-wait", 7_004),
                ("etcd-start", 594),
                ("promotion", 435),
                ("etcd-publish", 15),
                ("rest", 13),
                ("kubelet-certificate", 9_004),
                ("readiness-floor", 1_723),
            ]
        );
    }

    #[test]
    fn a_publish_timeout_and_restarts_of_the_api_server_have_their_names() {
        let mut passage = second();
        passage.serving = None;
        passage.marks.iter_mut().skip(6).for_each(|(at, _)| at.mono += 7_000_000_000);
        passage.marks.last_mut().expect("marks").0.mono += 20_000_000_000;
        passage.ended = vec![at(46_000)];
        passage.ready = None;
        // started with kubeadm, and anew while the kubelet waits for it
        passage.api_servers = vec![at(1_300), at(20_000), at(40_000)];
        let all = shown(&passage);
        assert!(all.contains(&("etcd-publish", 7_028)), "{all:?}");
        assert!(all.contains(&("api-server-restarts", 23_727)), "{all:?}");
        assert_eq!(all.last(), Some(&("readiness-floor", 723)));
    }

    #[test]
    fn a_staged_join_waits_for_its_ticket_between_its_parts() {
        let staged = Passage {
            began: vec![at(0), at(5_000), at(8_000)],
            ended: vec![at(1_000), at(7_900), at(9_000)],
            ..passage(&[(100, Mark::Preparing), (5_400, Mark::Announced), (6_400, Mark::Promoted), (8_100, Mark::Bootstrapping)])
        };
        assert_eq!(
            shown(&staged),
            [
                ("preflight", 100),
                ("prepare", 900),
                ("slot-wait", 4_000),
                ("prepare", 400),
                ("etcd-start", 1_000),
                ("etcd-publish", 1_500),
                ("rest", 100),
                ("prepare", 100),
                ("kubelet-certificate", 900),
            ]
        );
    }

    #[test]
    fn a_join_that_failed_or_hardly_began_is_told_as_far_as_it_came() {
        let refused = Passage { ended: vec![at(121_000)], ..passage(&[(500, Mark::Preparing), (1_000, Mark::AddRefused)]) };
        assert_eq!(shown(&refused), [("preflight", 500), ("prepare", 500), ("slot-wait", 120_000)]);
        assert_eq!(shown(&Passage { ended: vec![at(10)], ..passage(&[]) }), [("preflight", 10)]);
        assert_eq!(passage(&[]).stretches(), [], "it has not ended");
        assert_eq!(Passage::default().whole(), None);
    }
}
