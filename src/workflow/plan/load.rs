//! The load, and expectations that need one.

use super::super::file::Path;
use super::findings::Findings;
use super::types::{PlannedTask, Step};
use crate::spec::{Expectations, Load, Size};

/// Calls a second that one client can make.
const RATES: std::ops::RangeInclusive<u32> = 1..=1_000;
/// What a value may be, at least as long as its number.
const VALUES: (Size, Size) = (Size(16), Size(64 << 10));
/// Bytes a second of one writer: in an hour a tenth of what etcd's store may hold (2 GiB, where kubeadm sets no quota).
const FLOW: u64 = 64 << 10;
const PRELOADS: (Size, Size) = (Size(10 << 20), Size(1 << 30));

/// Looks at the file's `load`.
pub(super) fn check(load: &Load, findings: &mut Findings<'_>) {
    let path = Path::default().key("load");
    if load.off {
        let others = [("rate", load.rate.is_some()), ("valueSize", load.value_size.is_some()), ("preload", load.preload.is_some())];
        for (key, _) in others.iter().filter(|(_, there)| *there) {
            findings.wrong(&path.key(key), format!("`{key}` says nothing where the load is off"));
        }
        return;
    }
    if !RATES.contains(&load.writes()) {
        findings.wrong(&path.key("rate"), format!("a client makes {} to {} calls a second", RATES.start(), RATES.end()));
        return;
    }
    let value = load.value();
    if value < VALUES.0 || value > VALUES.1 {
        findings.wrong(&path.key("valueSize"), format!("a value has {} to {}", VALUES.0, VALUES.1));
    } else if value.0 * u64::from(load.writes()) > FLOW {
        let what =
            format!("each writer would put {} a second, and etcd's store has room for 2GiB", Size(value.0 * u64::from(load.writes())));
        findings.wrong_with(
            &path.key("valueSize"),
            what,
            format!("keep rate × valueSize at {} or less; `preload` fills the store", Size(FLOW)),
        );
    }
    if let Some(preload) = load.preload.filter(|preload| *preload < PRELOADS.0 || *preload > PRELOADS.1) {
        findings.wrong(&path.key("preload"), format!("{preload} is none of {} to {}", PRELOADS.0, PRELOADS.1));
    }
}

/// Looks at what tasks expect of clients.
pub(super) fn tasks(tasks: &[(Path, PlannedTask)], load: &Load, findings: &mut Findings<'_>) {
    for (path, task) in tasks {
        expectations(&task.expect, &path.key("expect"), !load.off, findings);
        if let Step::Group { tasks, .. } = &task.step {
            let path = path.key("group").key("tasks");
            for (at, inner) in tasks.iter().enumerate() {
                expectations(&inner.expect, &path.index(at).key("expect"), !load.off, findings);
            }
        }
    }
}

fn expectations(expect: &Expectations, path: &Path, on: bool, findings: &mut Findings<'_>) {
    let needs = [
        ("writeGap", expect.write_gap.is_some()),
        ("lostWrites", expect.lost_writes.is_some()),
        ("staleReads", expect.stale_reads.is_some()),
    ];
    for (key, _) in needs.iter().filter(|(_, there)| *there && !on) {
        findings.wrong_with(&path.key(key), "nobody writes or reads where the load is off", "take `off` out of `load`");
    }
    let Some(gap) = &expect.write_gap else { return };
    let own = path.key("writeGap");
    if gap.bounds().is_none() && gap.one_to_two.is_none() && gap.while_down.is_none() {
        findings.wrong_with(&own, "writeGap demands nothing", "say max, oneToTwo or whileDown");
    }
    if let Some(why) = gap.bounds().and_then(|bounds| bounds.wrong()) {
        findings.wrong(&own.key("min"), why);
    }
    for (key, bounds) in [("oneToTwo", gap.one_to_two), ("whileDown", gap.while_down)] {
        if let Some(why) = bounds.and_then(|bounds| bounds.wrong()) {
            findings.wrong(&own.key(key), why);
        }
    }
}
