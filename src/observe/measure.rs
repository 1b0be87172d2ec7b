//! What components have used over time, and how well anybody looked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::series::Series;
use crate::event::{EtcdMetrics, EtcdSample, Usage};
use crate::sys::clock::{Stamp, human};

/// A part of the looks that may fail to start in time before times say nothing: a member on 2 cores misses some 5 % while others join.
const MISSED: (u64, u64) = (1, 4);
/// Slower fsyncs than this mean that the disk is busy with something else; etcd's own advice is 10 ms (its hardware guide).
const SLOW: Duration = Duration::from_millis(250);

/// What can be measured of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// CPU time in microseconds, a counter.
    Cpu,
    /// Resident anonymous memory in bytes.
    Rss,
    /// Memory less idle page cache in bytes.
    WorkingSet,
    /// The most memory that it was ever charged with, in bytes.
    Peak,
    /// Bytes sent to and received from peers, a counter.
    PeerBytes,
    /// Bytes of the store.
    DbSize,
    /// Below which time 99 % of the fsyncs were, in microseconds.
    FsyncP99,
}

impl Measure {
    /// Does it only grow, so that a time's amount is by how much it grew?
    pub fn is_counter(self) -> bool {
        match self {
            Self::Cpu | Self::PeerBytes => true,
            Self::Rss | Self::WorkingSet | Self::Peak | Self::DbSize | Self::FsyncP99 => false,
        }
    }
}

/// Values over time by node, component and measure.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    all: BTreeMap<(String, String, Measure), Series>,
    /// What each component of each node used last.
    latest: BTreeMap<(String, String), Latest>,
    /// Looks that were made and missed at members that answered, by node: running totals.
    looks: BTreeMap<String, (u64, u64, Series, Series)>,
    /// Nodes whose members did not answer the last look.
    silent: BTreeSet<String>,
}

/// What a component used last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latest {
    /// When.
    pub seen: Stamp,
    /// How much.
    pub usage: Usage,
    /// CPU time by time, so 1 for one core, since the measurement before it; `None` for the first.
    pub cores: Option<f64>,
}

/// Why times say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noise {
    words: String,
    /// May the disk be why something took long? Else only looks fell out.
    pub slow_disk: bool,
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Measures {
    /// Adds what a component has used.
    pub fn used(&mut self, node: &str, component: &str, seen: Stamp, usage: &Usage) {
        let key = (node.to_owned(), component.to_owned());
        let before = self.latest.get(&key).filter(|latest| latest.usage.cpu_us <= usage.cpu_us && latest.seen < seen);
        let cores = before.map(|latest| {
            let used = Duration::from_micros(usage.cpu_us - latest.usage.cpu_us);
            used.as_secs_f64() / seen.since(latest.seen).as_secs_f64()
        });
        self.latest.insert(key, Latest { seen, usage: *usage, cores });
        let mut push = |measure, value| self.push(node, component, measure, seen, value);
        push(Measure::Cpu, usage.cpu_us);
        for (measure, value) in [(Measure::Rss, usage.rss), (Measure::WorkingSet, usage.working_set), (Measure::Peak, usage.memory_peak)] {
            // 0 is what the kernel does not say
            if value > 0 {
                push(measure, value);
            }
        }
    }

    /// Adds what etcd says of itself.
    pub fn metrics(&mut self, node: &str, seen: Stamp, metrics: &EtcdMetrics) {
        let mut push = |measure, value| self.push(node, "etcd", measure, seen, value);
        push(Measure::PeerBytes, metrics.peer_sent + metrics.peer_received);
        push(Measure::DbSize, metrics.db_size);
        if let Some(p99) = metrics.fsync_p99 {
            push(Measure::FsyncP99, u64::try_from(Duration::from_secs_f64(p99.max(0.0)).as_micros()).unwrap_or(u64::MAX));
        }
    }

    /// Adds how often a member was looked at. One that does not answer is no sign of noise: it may have not started, or be gone.
    /// Nor is the first answer behind that, which may have waited until the member served.
    pub fn looked(&mut self, node: &str, sample: &EtcdSample) {
        let was_silent = self.silent.remove(node);
        if sample.error.is_some() {
            self.silent.insert(node.to_owned());
        }
        let (looks, missed, made, late) = self.looks.entry(node.to_owned()).or_default();
        if sample.error.is_none() && !was_silent {
            *looks += sample.looks;
            *missed += sample.missed;
            made.push(sample.seen, *looks);
            late.push(sample.seen, *missed);
        }
    }

    /// A component's last level before that moment, by node.
    pub fn before(&self, component: &str, measure: Measure, at: Stamp) -> BTreeMap<String, u64> {
        let series = self.all.iter().filter(|((_, c, m), _)| c == component && *m == measure);
        series.filter_map(|((node, ..), series)| Some((node.clone(), series.before(at)?))).collect()
    }

    /// What the components of a node used last, by name.
    pub fn latest(&self, node: &str) -> impl Iterator<Item = (&str, &Latest)> {
        self.latest.iter().filter(move |((of, _), _)| of == node).map(|((_, component), latest)| (component.as_str(), latest))
    }

    /// What it used last says nothing of a node that is gone.
    pub(super) fn gone(&mut self, node: &str) {
        self.latest.retain(|(of, _), _| of != node);
    }

    /// A component's amount in that time, by node: the most of a level, the growth of a counter.
    pub fn of(&self, component: &str, measure: Measure, from: Stamp, to: Stamp) -> BTreeMap<String, u64> {
        let series = self.all.iter().filter(|((_, c, m), _)| c == component && *m == measure);
        let amounts = series.filter_map(|((node, ..), series)| {
            let amount = if measure.is_counter() { series.grown(from, to) } else { series.most(from, to) };
            Some((node.clone(), amount?))
        });
        amounts.collect()
    }

    /// Why times seen from `from` to `to` say nothing, if that is so: looks that fell out meanwhile, or a disk that was slow before.
    pub fn noise(&self, from: Stamp, to: Stamp) -> Option<Noise> {
        let missed = self.looks.iter().find_map(|(node, (_, _, made, late))| {
            let (made, late) = (made.grown(from, to).unwrap_or(0), late.grown(from, to).unwrap_or(0));
            let many = late * MISSED.1 > (made + late) * MISSED.0;
            many.then(|| format!("{late} of {} looks at etcd on {node} could not be made in time", made + late))
        });
        let fsyncs = self.all.iter().filter(|((_, _, measure), _)| *measure == Measure::FsyncP99);
        let slow = fsyncs.filter_map(|((node, ..), series)| Some((node, Duration::from_micros(series.before(from)?))));
        let slow = slow.max_by_key(|(_, p99)| *p99).filter(|(_, p99)| *p99 > SLOW);
        let slow_disk = slow.is_some();
        let disk =
            |(node, p99)| format!("the disk was slow before anything was done: 99 % of etcd's fsyncs on {node} took up to {}", human(p99));
        let words: Vec<String> = missed.into_iter().chain(slow.map(disk)).collect();
        (!words.is_empty()).then(|| Noise { words: words.join(", and "), slow_disk })
    }

    fn push(&mut self, node: &str, component: &str, measure: Measure, seen: Stamp, value: u64) {
        self.all.entry((node.to_owned(), component.to_owned(), measure)).or_default().push(seen, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Stamp {
        Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
    }

    fn looks(s: u64, looks: u64, missed: u64) -> EtcdSample {
        EtcdSample { seen: at(s), members: None, status: None, error: None, gap_ms: None, looks, missed }
    }

    #[test]
    fn amounts_are_by_node_and_kind() {
        let mut measures = Measures::default();
        for (s, cpu_us, rss) in [(1, 1_000, 50), (2, 3_000, 70), (3, 4_000, 60)] {
            measures.used("cp-1", "etcd", at(s), &Usage { cpu_us, rss, ..Usage::default() });
        }
        assert_eq!(measures.of("etcd", Measure::Rss, at(0), at(9)), [("cp-1".to_owned(), 70)].into());
        assert_eq!(measures.of("etcd", Measure::Cpu, at(2), at(3)), [("cp-1".to_owned(), 3_000)].into());
        assert!(measures.of("etcd", Measure::Peak, at(0), at(9)).is_empty(), "the kernel did not say");
        assert!(measures.of("kubelet", Measure::Rss, at(0), at(9)).is_empty());
    }

    #[test]
    fn many_missed_looks_are_noise_in_their_own_time_only() {
        let mut measures = Measures::default();
        for (s, made, missed) in [(1, 20, 1), (2, 10, 10), (3, 20, 0)] {
            measures.looked("cp-1", &looks(s, made, missed));
        }
        measures.looked("cp-2", &EtcdSample { error: Some("refused".into()), ..looks(3, 1, 60) });
        let said = measures.noise(at(2), at(2)).map(|noise| noise.to_string());
        assert_eq!(said.as_deref(), Some("10 of 20 looks at etcd on cp-1 could not be made in time"));
        assert_eq!(measures.noise(at(3), at(3)), None);
        measures.looked("cp-2", &looks(4, 1, 7));
        assert_eq!(measures.noise(at(4), at(4)), None, "it had been waited for");
        measures.looked("cp-2", &looks(5, 1, 7));
        assert!(measures.noise(at(5), at(5)).is_some());
    }

    #[test]
    fn a_slow_disk_counts_only_as_it_was_before() {
        let mut measures = Measures::default();
        let metrics = |p99| EtcdMetrics { fsync_p99: Some(p99), ..EtcdMetrics::default() };
        measures.metrics("cp-1", at(1), &metrics(0.512));
        measures.metrics("cp-1", at(5), &metrics(1.024));
        let said = measures.noise(at(2), at(9)).expect("noise").to_string();
        assert!(said.contains("fsyncs on cp-1 took up to 512ms"), "{said}");
        assert_eq!(measures.noise(at(1), at(9)), None, "it got slow by what was done");
    }
}
