//! What is kept of etcd's metrics, from the text that Prometheus reads.

use std::collections::BTreeMap;

use crate::event::{EtcdMetrics, MemberId};

const FSYNC: &str = "etcd_disk_wal_fsync_duration_seconds";

/// Reads the few metrics that are kept. What is not there, or cannot be read, counts as nothing: which metrics there are differs by
/// version, and a member that has not started says little.
pub fn metrics(text: &str) -> EtcdMetrics {
    let mut kept = EtcdMetrics::default();
    let mut buckets = Vec::new();
    let mut peers: BTreeMap<MemberId, f64> = BTreeMap::new();
    for (name, labels, value) in text.lines().filter_map(sample) {
        match name {
            "etcd_network_active_peers" => {
                if let Some(id) = label(labels, "Remote").and_then(|id| id.parse().ok()) {
                    peers.insert(id, value);
                }
            }
            "etcd_network_peer_sent_bytes_total" => kept.peer_sent += whole(value),
            "etcd_network_peer_received_bytes_total" => kept.peer_received += whole(value),
            "etcd_mvcc_db_total_size_in_bytes" => kept.db_size = whole(value),
            "etcd_server_leader_changes_seen_total" => kept.leader_changes = whole(value),
            "etcd_server_proposals_committed_total" => kept.proposals = whole(value),
            _ => match name.strip_prefix(FSYNC) {
                Some("_bucket") => buckets.extend(label(labels, "le").and_then(|le| Some((le.parse().ok()?, whole(value))))),
                Some("_count") => kept.fsyncs = whole(value),
                _ => {}
            },
        }
    }
    kept.active_peers = peers.into_iter().filter(|(_, connections)| *connections > 0.0).map(|(id, _)| id).collect();
    kept.fsync_p99 = p99(&buckets, kept.fsyncs);
    kept
}

/// `name{labels} value`.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    if !line.starts_with("etcd_") {
        return None;
    }
    let (what, value) = line.rsplit_once(' ')?;
    let (name, labels) = what.split_once('{').unwrap_or((what, ""));
    Some((name, labels.trim_end_matches('}'), value.parse().ok()?))
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    labels.split(',').find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter of bytes or events, below 2^53")]
fn whole(value: f64) -> u64 {
    if value.is_finite() && value > 0.0 { value as u64 } else { 0 }
}

/// The upper edge of the first bucket that holds 99 % of all; twice the last edge where that is not enough, since JSON has no
/// infinity.
fn p99(buckets: &[(f64, u64)], all: u64) -> Option<f64> {
    if all == 0 {
        return None;
    }
    let enough = all - all / 100;
    let edges = || buckets.iter().filter(|(edge, _)| edge.is_finite());
    let least = edges().filter(|(_, below)| *below >= enough).map(|(edge, _)| *edge).min_by(f64::total_cmp);
    least.or_else(|| edges().map(|(edge, _)| edge * 2.0).max_by(f64::total_cmp))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From etcd 3.6.16 that kubeadm 1.36.3 started alone, with lines about peers put in by hand as etcd writes them with two.
    const TEXT: &str = include_str!("metrics.txt");

    #[test]
    fn what_is_kept_is_read_from_what_etcd_says() {
        let kept = metrics(TEXT);
        assert_eq!(kept.active_peers, [MemberId(0xc5fb_9a23_95c2_a7a1)]);
        assert_eq!((kept.peer_sent, kept.peer_received), (1_425_322, 3_080));
        assert_eq!((kept.fsyncs, kept.fsync_p99), (588, Some(0.032)));
        assert_eq!((kept.db_size, kept.leader_changes, kept.proposals), (991_232, 1, 623));
    }

    #[test]
    fn nothing_and_nonsense_count_as_nothing() {
        assert_eq!(metrics(""), EtcdMetrics::default());
        assert_eq!(
            metrics("etcd_network_active_peers{Remote=\"xyz\"} 1\netcd_mvcc_db_total_size_in_bytes\n\u{0}\n"),
            EtcdMetrics::default()
        );
    }

    #[test]
    fn the_bucket_of_99_percent_is_told() {
        let of = |buckets: &[(f64, u64)], all| p99(buckets, all);
        let some = [(0.001, 98), (0.002, 99), (f64::INFINITY, 100)];
        assert_eq!(of(&some, 100), Some(0.002));
        assert_eq!(of(&some[..1], 100), Some(0.002), "slower than all that it counts");
        assert_eq!(of(&[(0.001, 1), (f64::INFINITY, 100)], 100), Some(0.002));
        assert_eq!(of(&some, 0), None, "before the first");
    }
}
