//! Looks at the node's own etcd member at a steady rate and tells what changed.

use std::path::Path;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::protocol::Said;
use super::serve::Answers;
use crate::etcd::{Client, Credentials, EtcdError, Kind};
use crate::event::{EtcdSample, Member, MemberId};
use crate::sys::clock::Stamp;

/// Where kubeadm keeps keys and certificates.
pub(super) const PKI: &str = "/etc/kubernetes/pki";
const ADDRESS: &str = "127.0.0.1:2379";
const ENDPOINT: &str = "https://127.0.0.1:2379";
/// One question's limit; etcd's own clients in kubeadm use 2 s.
const LIMIT: Duration = Duration::from_secs(1);
/// Without a change, a sample is told this often all the same, so that silence means that nobody looks.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Watches until stopped. Looks that fall out because the one before them took too long are counted as missed.
pub(super) async fn watch(every: Duration, busy: Duration, answers: &Answers, stop: &CancellationToken) {
    let mut member = OwnMember::default();
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

/// The member list behind a linearizable read on the node's own member.
pub(super) async fn settled_members() -> Result<Vec<Member>, String> {
    let credentials = Credentials::of_kubeadm(Path::new(PKI)).map_err(|e| format!("no etcd certificates in {PKI}: {e}"))?;
    let mut client = Client::new(ENDPOINT, &credentials, LIMIT).await.map_err(|e| e.to_string())?;
    client.settled_members().await.map_err(|e| e.to_string())
}

/// The connection to the node's own member, made anew after each failure.
#[derive(Default)]
struct OwnMember(Option<Client>);

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
        if self.0.is_none()
            && let Err(why) = self.connect().await
        {
            return empty(why);
        }
        let Some(client) = self.0.as_mut() else { return empty("no connection".into()) };
        let mut other = client.clone();
        let (status, members) = tokio::join!(client.status(), other.members());
        let seen = Stamp::now();
        let error = first_trouble(status.as_ref().err(), members.as_ref().err());
        if error.is_some() {
            self.0 = None;
        }
        EtcdSample { seen, members: members.ok(), status: status.ok(), error, gap_ms: None, looks: 0, missed: 0 }
    }

    async fn connect(&mut self) -> Result<(), String> {
        match timeout(LIMIT, TcpStream::connect(ADDRESS)).await {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => return Err(format!("{ADDRESS}: {e}")),
            Err(_) => return Err(format!("{ADDRESS}: no answer in time")),
        }
        let credentials = Credentials::of_kubeadm(Path::new(PKI)).map_err(|e| format!("no etcd certificates in {PKI}: {e}"))?;
        self.0 = Some(Client::new(ENDPOINT, &credentials, LIMIT).await.map_err(|e| e.to_string())?);
        Ok(())
    }
}

/// A learner that refuses its member list is no trouble: it is what learners do.
fn first_trouble(status: Option<&EtcdError>, members: Option<&EtcdError>) -> Option<String> {
    status.or(members.filter(|e| e.kind != Kind::Learner)).map(ToString::to_string)
}
