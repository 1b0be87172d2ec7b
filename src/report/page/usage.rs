//! What the components of a node used, as figures over time.

use std::collections::BTreeMap;

use super::series::Series;
use crate::event::{EtcdMetrics, Usage};
use crate::sys::clock::Stamp;

/// What is plotted. The order is the page's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Figure {
    /// CPUs in use.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Bytes a second, read and written.
    Disk,
    /// Bytes a second, received and sent.
    Network,
    /// Bytes a second to and from etcd's peers.
    Peers,
    /// Bytes of etcd's store.
    Store,
    /// Seconds that 99 % of etcd's fsyncs took at most.
    Fsync,
}

/// The figures of a node, by component.
#[derive(Debug, Default)]
pub(in crate::report) struct Usages {
    pub(in crate::report) series: BTreeMap<(String, Figure), Series>,
    used: BTreeMap<String, (Stamp, Usage)>,
    peers: Option<(Stamp, u64)>,
}

impl Usages {
    pub(super) fn used(&mut self, component: &str, at: Stamp, usage: &Usage) {
        // the working set is what the kubelet evicts by; a kernel that does not say it has the whole
        let memory = [usage.working_set, usage.rss, usage.memory].into_iter().find(|bytes| *bytes > 0);
        if let Some(memory) = memory {
            self.push(component, Figure::Memory, at, float(memory));
        }
        if let Some((before, last)) = self.used.insert(component.to_owned(), (at, *usage)) {
            // a counter that went back is one of a component that started anew
            let mut rate = |figure, now: u64, last: u64, unit: f64| {
                let seconds = at.since(before).as_secs_f64();
                if let Some(more) = now.checked_sub(last)
                    && seconds > 0.0
                {
                    self.push(component, figure, at, float(more) / seconds / unit);
                }
            };
            rate(Figure::Cpu, usage.cpu_us, last.cpu_us, 1e6);
            if usage.io_read + usage.io_write > 0 {
                rate(Figure::Disk, usage.io_read + usage.io_write, last.io_read + last.io_write, 1.0);
            }
            if usage.net_received + usage.net_sent > 0 {
                rate(Figure::Network, usage.net_received + usage.net_sent, last.net_received + last.net_sent, 1.0);
            }
        }
    }

    pub(super) fn metrics(&mut self, at: Stamp, metrics: &EtcdMetrics) {
        self.push("etcd", Figure::Store, at, float(metrics.db_size));
        if let Some(p99) = metrics.fsync_p99 {
            self.push("etcd", Figure::Fsync, at, p99);
        }
        let peers = metrics.peer_sent.saturating_add(metrics.peer_received);
        if let Some((before, last)) = self.peers.replace((at, peers)) {
            let seconds = at.since(before).as_secs_f64();
            if let Some(more) = peers.checked_sub(last)
                && seconds > 0.0
            {
                self.push("etcd", Figure::Peers, at, float(more) / seconds);
            }
        }
    }

    fn push(&mut self, component: &str, figure: Figure, at: Stamp, value: f64) {
        self.series.entry((component.to_owned(), figure)).or_default().push(at, value);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a plot shows three digits")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::script::stamp;

    #[test]
    fn counters_become_rates_and_a_restart_is_none() {
        let mut usages = Usages::default();
        for (ms, cpu_us, memory) in [(0, 0, 10), (1_000, 500_000, 20), (2_000, 100, 5), (3_000, 250_100, 6)] {
            usages.used("etcd", stamp(ms), &Usage { cpu_us, memory, ..Usage::default() });
        }
        let values = |figure| {
            let series: &Series = &usages.series[&("etcd".to_owned(), figure)];
            series.points(100).into_iter().map(|point| point.1).collect::<Vec<_>>()
        };
        assert_eq!(values(Figure::Cpu), [0.5, 0.25]);
        assert_eq!(values(Figure::Memory), [10.0, 20.0, 5.0, 6.0]);
        assert!(!usages.series.contains_key(&("etcd".to_owned(), Figure::Network)), "a component has none of its own");
    }
}
