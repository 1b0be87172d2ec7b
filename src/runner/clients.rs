//! What is judged by the history of joinder's own clients.

use std::time::Duration;

use crate::agent::{Call, Said};
use crate::cluster::Cluster;
use crate::event::{Judgement, Kept};
use crate::expect::{self, Window};
use crate::observe::{Observer, Pace};
use crate::spec::{Expectations, When};
use crate::step::World;

/// A read of all that was written in an hour.
const READ: Duration = Duration::from_secs(20);

/// Judges what is demanded of writes and reads; what was written is read once more for it.
pub(super) async fn judge(
    world: &World,
    cluster: &Cluster,
    observer: &Observer,
    wanted: &Expectations,
    window: Window,
    due: impl Fn(&str, Option<&When>) -> bool,
) -> Vec<Judgement> {
    let gap = wanted.write_gap.as_ref().filter(|gap| due("writeGap", gap.when.as_ref()));
    let lost = wanted.lost_writes.as_ref().filter(|lost| due("lostWrites", lost.when.as_ref()));
    let stale = wanted.stale_reads.as_ref().filter(|stale| due("staleReads", stale.when.as_ref()));
    let mut all = Vec::new();
    all.extend(gap.map(|gap| observer.look(|record| expect::write_gap(gap, record, window))).into_iter().flatten());
    if lost.is_none() && stale.is_none() {
        return all;
    }
    let kept = kept(world, cluster).await;
    for read in kept.iter().flat_map(|kept| &kept.registers) {
        observer.called(read);
    }
    let record = observer.record();
    // a read of the judge's is one of the reads that are judged
    let window =
        kept.iter().flat_map(|kept| &kept.registers).fold(window, |window, read| Window { to: window.to.max(read.ended), ..window });
    all.extend(lost.map(|lost| expect::lost_writes(lost, &record, kept.as_ref().map_err(String::as_str))));
    all.extend(stale.map(|stale| expect::stale_reads(stale, &record, window)));
    all
}

/// What the first member that answers has of all that was written.
async fn kept(world: &World, cluster: &Cluster) -> Result<Kept, String> {
    let mut why = Vec::new();
    for node in cluster.with_member() {
        let call = Call::Kept { etcd: Pace::access(node), prefix: Pace::prefix(&world.run), node: node.name.clone() };
        match node.agent().ask(call, READ).await {
            Ok(Said::Kept { kept }) => return Ok(kept),
            Ok(other) => why.push(format!("{}: {other:?}", node.name)),
            Err(e) => why.push(e.to_string()),
        }
    }
    Err(why.join("; "))
}
