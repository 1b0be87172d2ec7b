//! What is kept for a page over an hour, and pages and traces of events whose stamps make no sense.

use std::time::Duration;

use super::{page, view};
use crate::event::{EtcdMetrics, EtcdSample, Event, Member, MemberId, MemberStatus, Moment, SpanKind, Told, Usage, Work};
use crate::report::files::Pages;
use crate::report::model::Run;
use crate::report::script::{Script, name, stamp};
use crate::report::trace;
use crate::sys::clock::Stamp;

/// One second of five control planes, told at that time.
fn second(s: u64) -> Vec<Event> {
    let seen = stamp(s * 1_000);
    let members: Vec<Member> = (1..=5).map(|id| Member { id: MemberId(id), name: name(id), ..Member::default() }).collect();
    let node = |id: u64| {
        let status = MemberStatus { id: MemberId(id), leader: MemberId(1), term: 2, index: s * 20, ..Default::default() };
        let sample =
            EtcdSample { seen, members: Some(members.clone()), status: Some(status), error: None, gap_ms: Some(100), looks: 10, missed: 0 };
        let metrics = EtcdMetrics { peer_sent: s * 999, db_size: s << 12, fsync_p99: Some(0.004), ..Default::default() };
        let used = ["node", "etcd", "kube-apiserver", "kubelet"].map(|component| {
            let usage = Usage { cpu_us: s * 12_345, rss: (s % 777) << 16, io_write: s, net_sent: s, ..Usage::default() };
            Event::Used { node: name(id), component: component.into(), seen, usage }
        });
        let line = Event::KubeadmLine { node: name(id), seen, line: format!("line {s}") };
        used.into_iter().chain([Event::Etcd { node: name(id), sample }, Event::Metrics { node: name(id), seen, metrics }, line])
    };
    (1..=5).flat_map(node).collect()
}

fn hear(run: &mut Run, pages: &mut Pages, told: &Told) {
    let ended = run.hear(told);
    pages.hear(told, run, ended);
}

#[test]
fn what_a_page_keeps_of_an_hour_of_five_nodes_is_no_larger_than_of_half_an_hour() {
    let script = Script::grown(4);
    let (mut run, mut pages) = (Run::default(), Pages::keeping(true));
    script.told.iter().for_each(|told| hear(&mut run, &mut pages, told));
    let mut seq = script.told.len() as u64;
    let mut sizes = Vec::new();
    for s in 60..3_660 {
        for event in second(s) {
            seq += 1;
            hear(&mut run, &mut pages, &Told { seq, at: stamp(s * 1_000), event });
        }
        if s == 1_860 || s == 3_659 {
            sizes.push(pages.histories().map(|history| format!("{history:?}").len()).sum::<usize>());
        }
    }
    assert!(sizes[1] < sizes[0] * 3 / 2, "{sizes:?} characters");
    let (case, history) = (run.cases().last().expect("a case"), pages.histories().last().expect("its history"));
    let html = page(&view(&run, case, history)).expect("drawn");
    assert!((50_000..1_500_000).contains(&html.len()), "{} bytes", html.len());
    let trace = trace::json(case, history).expect("written");
    assert!((50_000..8_000_000).contains(&trace.len()), "{} bytes", trace.len());
}

#[test]
fn stamps_that_jump_give_a_page_and_a_trace_all_the_same() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut script = Script::joining();
    for seq in 0..400_u64 {
        let mono = match random.u8(..4) {
            0 => 0,
            1 => u64::MAX,
            2 => random.u64(..),
            _ => seq * 1_000_000,
        };
        let wall = jiff::Timestamp::from_second(random.i64(-377_705_023_201..=253_402_207_200)).expect("a time");
        let seen = Stamp { mono, wall };
        let took = Duration::from_millis(random.u64(..1 << 40));
        let node = name(random.u64(1..4));
        let event = match random.u8(..8) {
            0 => Event::Span { node, span: SpanKind::SlotWait, began: seen, took },
            1 => Event::Worked { work: Work::Join, on: node, began: seen, took },
            2 => Event::Used {
                node,
                component: "etcd".into(),
                seen,
                usage: Usage { cpu_us: random.u64(..), rss: random.u64(..), ..Usage::default() },
            },
            3 => Event::Metrics {
                node,
                seen,
                metrics: EtcdMetrics {
                    peer_sent: random.u64(..),
                    peer_received: random.u64(..),
                    fsync_p99: Some(f64::MAX),
                    ..Default::default()
                },
            },
            4 => Event::KubeadmPhase { node, seen, phase: "etcd".into() },
            5 => Event::Member { id: MemberId(random.u64(..3)), name: node, moment: Moment::Promoted, seen },
            6 => Event::KubeadmStarted { node, argv: vec!["kubeadm".into(), "join".into()] },
            _ => {
                let status =
                    Some(MemberStatus { id: MemberId(1), leader: MemberId(random.u64(1..4)), term: random.u64(..), ..Default::default() });
                Event::Etcd { node, sample: EtcdSample { seen, members: None, status, error: None, gap_ms: None, looks: 1, missed: 0 } }
            }
        };
        // when it is told jumps too
        let at = if random.u8(..10) == 0 { seen } else { script.now() };
        script.told.push(Told { seq, at, event });
    }
    let (mut run, mut pages) = (Run::default(), Pages::keeping(true));
    script.told.iter().for_each(|told| hear(&mut run, &mut pages, told));
    let (case, history) = (run.cases().last().expect("a case"), pages.histories().last().expect("its history"));
    let html = page(&view(&run, case, history)).expect("drawn");
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    trace::tests::assert_valid(&trace::json(case, history).expect("written"));
}
