//! One member's view, asked of that member alone.

use std::path::Path;
use std::time::Duration;

use etcd_client::{Certificate, ConnectOptions, GetOptions, Identity, TlsOptions};
use tokio::time::timeout;

use super::error::{EtcdError, Kind};
use crate::event::{Member, MemberId, MemberStatus};

/// A key that nobody writes: reading it linearizably costs a round trip to the leader and nothing else.
const NO_KEY: &str = "joinder/no-such-key";

/// PEM files of a client of etcd.
#[derive(Clone, Debug)]
pub struct Credentials {
    ca: Vec<u8>,
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Credentials {
    /// Reads kubeadm's health check certificate below `pki` (`/etc/kubernetes/pki`).
    ///
    /// # Errors
    /// When a file cannot be read, as before `kubeadm init` has written them.
    pub fn of_kubeadm(pki: &Path) -> std::io::Result<Self> {
        let read = |name: &str| std::fs::read(pki.join("etcd").join(name));
        Ok(Self { ca: read("ca.crt")?, cert: read("healthcheck-client.crt")?, key: read("healthcheck-client.key")? })
    }

    /// Takes PEM texts: whom to trust, and how to be known.
    pub fn of_pem(ca: impl Into<Vec<u8>>, cert: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self { ca: ca.into(), cert: cert.into(), key: key.into() }
    }
}

/// A connection to one member. Reconnects by itself.
#[derive(Clone)]
pub struct Client {
    endpoint: String,
    pub(super) inner: etcd_client::Client,
    limit: Duration,
}

impl Client {
    /// Prepares a connection to `https://127.0.0.1:2379`-like endpoints; nothing is sent yet. Each call ends within `limit`.
    ///
    /// # Errors
    /// [`Kind::Tls`] when the credentials are unusable.
    pub async fn new(endpoint: &str, credentials: &Credentials, limit: Duration) -> Result<Self, EtcdError> {
        let tls = TlsOptions::new()
            .ca_certificate(Certificate::from_pem(&credentials.ca))
            .identity(Identity::from_pem(&credentials.cert, &credentials.key));
        let options = ConnectOptions::new().with_tls(tls).with_connect_timeout(limit);
        let inner = etcd_client::Client::connect([endpoint], Some(options)).await.map_err(|e| {
            let said = e.to_string();
            EtcdError { op: "prepare a connection", endpoint: endpoint.to_owned(), said, kind: Kind::Tls }
        })?;
        Ok(Self { endpoint: endpoint.to_owned(), inner, limit })
    }

    /// The member list as this member holds it, sorted by id. etcd's `MemberList` with `linearizable: false`, which is all
    /// that the client crate sends.
    ///
    /// # Errors
    /// [`Kind::Learner`] from a learner; others as they come.
    pub async fn members(&mut self) -> Result<Vec<Member>, EtcdError> {
        let op = "read the member list";
        let mut inner = self.inner.clone();
        let answer = self.limited(op, inner.member_list()).await?;
        let mut members: Vec<Member> = answer
            .members()
            .iter()
            .map(|m| Member { id: MemberId(m.id()), name: m.name().to_owned(), peer_urls: m.peer_urls().to_vec(), learner: m.is_learner() })
            .collect();
        members.sort();
        Ok(members)
    }

    /// The member list, at least as fresh as the moment of the call: a linearizable read on the same member first, which
    /// fails without quorum.
    ///
    /// # Errors
    /// [`Kind::Late`] without quorum.
    pub async fn settled_members(&mut self) -> Result<Vec<Member>, EtcdError> {
        let op = "read linearizably";
        let mut inner = self.inner.clone();
        self.limited(op, inner.get(NO_KEY, Some(GetOptions::new().with_count_only()))).await?;
        self.members().await
    }

    /// What the member says about itself. A learner answers too.
    ///
    /// # Errors
    /// As they come.
    pub async fn status(&mut self) -> Result<MemberStatus, EtcdError> {
        let op = "read the status";
        let mut inner = self.inner.clone();
        let answer = self.limited(op, inner.status()).await?;
        Ok(MemberStatus {
            id: MemberId(answer.header().map_or(0, etcd_client::ResponseHeader::member_id)),
            cluster: MemberId(answer.header().map_or(0, etcd_client::ResponseHeader::cluster_id)),
            leader: MemberId(answer.leader()),
            term: answer.raft_term(),
            index: answer.raft_index(),
            db_size: u64::try_from(answer.db_size()).unwrap_or(0),
            learner: answer.is_learner(),
            version: answer.version().to_owned(),
            errors: answer.errors().to_vec(),
        })
    }

    pub(super) async fn limited<T>(
        &self,
        op: &'static str,
        call: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, EtcdError> {
        match timeout(self.limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(e)) => Err(EtcdError::new(op, &self.endpoint, &e)),
            Err(_) => Err(EtcdError::late(op, &self.endpoint)),
        }
    }
}
