//! The record over an hour, and with stamps and members that make no sense: bounded, and never a panic.

use super::*;
use crate::event::{EtcdMetrics, EtcdSample, Event, Member, MemberId, MemberStatus, Told, Usage};
use crate::sys::clock::Stamp;

const COMPONENTS: [&str; 4] = ["node", "etcd", "kube-apiserver", "kubelet"];

fn at(s: u64) -> Stamp {
    Stamp { mono: s * 1_000_000_000, wall: jiff::Timestamp::UNIX_EPOCH }
}

fn list(members: u64) -> Vec<Member> {
    (1..=members).map(|id| Member { id: MemberId(id), name: format!("cp-{id}"), ..Member::default() }).collect()
}

/// One second of five control planes: each value another one than before.
fn second(record: &mut Record, s: u64) {
    for id in 1..=5 {
        let node = format!("cp-{id}");
        let status = MemberStatus { id: MemberId(id), leader: MemberId(1), term: 2, index: s * 20, db_size: s << 12, ..Default::default() };
        let sample = EtcdSample {
            seen: at(s),
            members: Some(list(5)),
            status: Some(status),
            error: None,
            gap_ms: Some(100),
            looks: 10,
            missed: s % 2,
        };
        record.sample(s, &node, &sample);
        let active_peers = (1..=5).filter(|peer| *peer != id).map(MemberId).collect();
        let metrics = EtcdMetrics {
            active_peers,
            peer_sent: s * 999,
            db_size: s << 12,
            fsync_p99: Some(if s.is_multiple_of(2) { 0.001 } else { 0.008 }),
            ..Default::default()
        };
        record.metrics(s, &node, at(s), Some(&metrics));
        record.measures.metrics(&node, at(s), &metrics);
        for component in COMPONENTS {
            let usage =
                Usage { cpu_us: s * 12_345, rss: (s % 777) << 16, working_set: (s % 555) << 16, memory_peak: s << 10, ..Usage::default() };
            record.measures.used(&node, component, at(s), &usage);
        }
        let line = Event::KubeadmLine { node: node.clone(), seen: at(s), line: format!("line {s}") };
        record.story.hear(&Told { seq: s, at: at(s), event: line });
    }
}

#[test]
fn an_hour_of_five_nodes_is_no_larger_than_half_an_hour() {
    let mut record = Record::default();
    (1..=1_800).for_each(|s| second(&mut record, s));
    let half = format!("{record:?}").len();
    (1_801..=3_600).for_each(|s| second(&mut record, s));
    let whole = format!("{record:?}").len();
    // numbers have more digits by then, and lines of kubeadm are kept up to their own bound
    assert!(whole < half * 3 / 2, "{half} and {whole} characters");
    assert!(whole < 24 << 20, "{whole} characters");
    let cpu = record.measures.of("etcd", Measure::Cpu, at(0), at(3_600));
    assert_eq!(cpu.get("cp-3"), Some(&(3_600 * 12_345)), "nothing is lost of what was counted");
}

#[test]
fn clocks_that_jump_and_members_of_anywhere_break_nothing() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut record = Record::default();
    for seq in 0..5_000 {
        let mono = match random.u8(..4) {
            0 => 0,
            1 => u64::MAX,
            2 => random.u64(..),
            _ => seq * 1_000_000,
        };
        let wall = jiff::Timestamp::from_second(random.i64(-377_705_023_201..=253_402_207_200)).expect("a time");
        let seen = Stamp { mono, wall };
        let node = format!("cp-{}", random.u8(..5));
        let id = |random: &mut fastrand::Rng| MemberId(if random.bool() { random.u64(..4) } else { random.u64(..) });
        let status = random.bool().then(|| MemberStatus {
            id: id(&mut random),
            cluster: id(&mut random),
            leader: id(&mut random),
            term: random.u64(..),
            index: random.u64(..),
            learner: random.bool(),
            ..Default::default()
        });
        let members = random.bool().then(|| {
            let member = |random: &mut fastrand::Rng| Member {
                id: id(random),
                name: if random.bool() { String::new() } else { node.clone() },
                peer_urls: vec![],
                learner: random.bool(),
            };
            (0..random.u8(..6)).map(|_| member(&mut random)).collect()
        });
        let error = random.bool().then(|| "x".to_owned());
        let sample = EtcdSample {
            seen,
            members,
            status,
            error,
            gap_ms: random.bool().then(|| random.u64(..)),
            looks: random.u64(..9),
            missed: random.u64(..9),
        };
        record.sample(seq, &node, &sample);
        let metrics = EtcdMetrics {
            active_peers: vec![id(&mut random)],
            peer_sent: random.u64(..1 << 60),
            fsync_p99: Some(random.f64() * 1e9),
            ..Default::default()
        };
        record.metrics(seq, &node, seen, Some(&metrics));
        record.measures.metrics(&node, seen, &metrics);
        record.measures.used(&node, "etcd", seen, &Usage { cpu_us: random.u64(..1 << 60), rss: random.u64(..), ..Usage::default() });
        record.measures.of("etcd", Measure::Cpu, seen, at(seq));
        record.measures.before("etcd", Measure::Rss, seen);
        record.measures.noise(at(0), seen);
        record.leader_at(seen);
        record.newest_list();
        if random.u8(..20) == 0 {
            record.lose(&node, "lost");
        }
    }
    assert!(!record.lives.is_empty());
}

#[tokio::test]
async fn whoever_waits_for_it_finds_all_that_was_told_in_the_record() {
    let events = crate::event::Bus::new();
    let observer = Observer::start([], &events);
    events.tell(Event::KubeadmStarted { node: "cp-2".into(), argv: vec!["kubeadm".into(), "join".into()] });
    events.tell(Event::KubeadmFinished {
        node: "cp-2".into(),
        code: Some(1),
        phase: None,
        error: Some("why".into()),
        took: std::time::Duration::ZERO,
    });
    observer.caught_up().await;
    assert_eq!(observer.record().story.ends.get("cp-2").map(Vec::len), Some(1));
    observer.stop().await;
}
