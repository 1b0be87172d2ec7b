//! Looks at the node's own etcd member at a steady rate and tells what changed.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::protocol::{EtcdAccess, MemberChange, Said};
use super::serve::Answers;
use crate::etcd::{Client, Credentials, EtcdError, Kind};
use crate::event::{EtcdSample, Member, MemberId, Notice};
use crate::sys::clock::Stamp;

/// Where kubeadm keeps keys and certificates.
pub(super) const PKI: &str = "/etc/kubernetes/pki";
/// One question's limit; etcd's own clients in kubeadm use 2 s.
const LIMIT: Duration = Duration::from_secs(1);
/// A hash reads the whole store.
const HASH: Duration = Duration::from_secs(3);
/// A change of the member list, or a put: etcd itself gives up after 5 s and two election timeouts.
const CHANGE: Duration = Duration::from_secs(8);
/// Without a change, a sample is told this often all the same, so that silence means that nobody looks.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Watches until stopped. Looks that fall out because the one before them took too long are counted as missed.
pub(super) async fn watch(etcd: EtcdAccess, every: Duration, busy: Duration, answers: &Answers, stop: &CancellationToken) {
    let mut member = OwnMember { etcd, client: None };
    let mut told: Option<(EtcdSample, Instant)> = None;
    let mut listed: Option<(MemberId, Stamp)> = None;
    let (mut looks, mut missed) = (0, 0);
    loop {
        let began = Instant::now();
        let mut sample = tokio::select! {
            () = stop.cancelled() => return,
            sample = member.look() => sample,
        };
        let pause = if is_busy(&sample) { busy } else { every };
        let late = u32::try_from(began.elapsed().as_nanos() / pause.as_nanos().max(1)).unwrap_or(u32::MAX);
        looks += 1;
        missed += u64::from(late);
        (sample.looks, sample.missed) = (looks, missed);
        if sample.members.is_some() {
            // After a reset it is another member, which had no list before.
            let id = sample.status.as_ref().map_or(MemberId(0), |status| status.id);
            let before = listed.filter(|(of, _)| *of == id).map(|(_, at)| sample.seen.since(at));
            sample.gap_ms = before.map(|gap| u64::try_from(gap.as_millis()).unwrap_or(u64::MAX));
            listed = Some((id, sample.seen));
        }
        if told.as_ref().is_none_or(|(before, at)| sample.differs(before) || at.elapsed() >= HEARTBEAT) {
            answers.say(Said::Sample { sample: sample.clone() });
            told = Some((sample, Instant::now()));
            (looks, missed) = (0, 0);
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep_until(began + pause * late.saturating_add(1)) => {}
        }
    }
}

fn is_busy(sample: &EtcdSample) -> bool {
    let learning = sample.status.as_ref().is_some_and(|s| s.learner);
    learning || sample.members.as_ref().is_some_and(|all| all.iter().any(|m| m.learner || !m.started()))
}

/// A connection to the member with this limit for each question.
async fn client(etcd: &EtcdAccess, limit: Duration) -> Result<Client, String> {
    let EtcdAccess { address, ca, cert, key } = etcd;
    let credentials = Credentials::read(ca, cert, key).map_err(|e| format!("no certificates for etcd: {e}"))?;
    Client::new(&format!("https://{address}"), &credentials, limit).await.map_err(|e| e.to_string())
}

/// The member list behind a linearizable read on the node's own member.
pub(super) async fn settled_members(etcd: &EtcdAccess) -> Result<Vec<Member>, String> {
    client(etcd, LIMIT).await?.settled_members().await.map_err(|e| e.to_string())
}

/// The hash of all that the node's own member has stored, up to a revision or to the newest one.
pub(super) async fn data_hash(etcd: &EtcdAccess, revision: Option<u64>) -> Result<Notice, String> {
    client(etcd, HASH).await?.data_hash(revision).await.map_err(|e| e.to_string())
}

/// Changes the member list by way of the node's own member; returns the list behind it.
pub(super) async fn change(etcd: &EtcdAccess, change: &MemberChange) -> Result<Vec<Member>, String> {
    let mut client = client(etcd, CHANGE).await?;
    let changed = match change {
        MemberChange::Add { peer_url, learner } => client.add_member(peer_url, *learner).await,
        MemberChange::Promote { id } => client.promote_member(*id).await,
        MemberChange::Remove { id } => client.remove_member(*id).await,
        MemberChange::Update { id, peer_url } => client.update_member(*id, peer_url).await,
    };
    changed.map_err(|e| e.to_string())
}

/// Writes entries to the node's own member.
pub(super) async fn put(etcd: &EtcdAccess, entries: u32, size: usize) -> Result<(), String> {
    client(etcd, CHANGE).await?.fill(entries, size).await.map_err(|e| e.to_string())
}

/// The connection to the node's own member, made anew after each failure.
struct OwnMember {
    etcd: EtcdAccess,
    client: Option<Client>,
}

impl OwnMember {
    async fn look(&mut self) -> EtcdSample {
        let empty = |error: String| EtcdSample {
            seen: Stamp::now(),
            members: None,
            status: None,
            error: Some(error),
            gap_ms: None,
            looks: 0,
            missed: 0,
        };
        // A refused connection is told at once; the gRPC channel would spend its whole limit on it.
        if self.client.is_none()
            && let Err(why) = self.connect().await
        {
            return empty(why);
        }
        let Some(client) = self.client.as_mut() else { return empty("no connection".into()) };
        let mut other = client.clone();
        let (status, members) = tokio::join!(client.status(), other.members());
        let seen = Stamp::now();
        let error = first_trouble(status.as_ref().err(), members.as_ref().err());
        if error.is_some() {
            self.client = None;
        }
        EtcdSample { seen, members: members.ok(), status: status.ok(), error, gap_ms: None, looks: 0, missed: 0 }
    }

    async fn connect(&mut self) -> Result<(), String> {
        let address = &self.etcd.address;
        match timeout(LIMIT, TcpStream::connect(address)).await {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => return Err(format!("{address}: {e}")),
            Err(_) => return Err(format!("{address}: no answer in time")),
        }
        self.client = Some(client(&self.etcd, LIMIT).await?);
        Ok(())
    }
}

/// A learner that refuses its member list is no trouble: it is what learners do.
fn first_trouble(status: Option<&EtcdError>, members: Option<&EtcdError>) -> Option<String> {
    status.or(members.filter(|e| e.kind != Kind::Learner)).map(ToString::to_string)
}
