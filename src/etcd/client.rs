//! One member's view, asked of that member alone.

use std::time::Duration;

use etcd_client::{Certificate, ConnectOptions, GetOptions, Identity, MemberAddOptions, TlsOptions};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::time::timeout;

use super::error::{EtcdError, Kind};
use crate::event::{Member, MemberId, MemberStatus, Notice};

/// A key that nobody writes: reading it linearizably costs a round trip to the leader and nothing else.
const NO_KEY: &str = "joinder/no-such-key";

/// Where entries go that are written only so that there are some.
const FILL: &str = "joinder/fill/";
/// How many of them are written at once.
const AT_ONCE: usize = 16;

/// PEM files of a client of etcd.
#[derive(Clone, Debug)]
pub struct Credentials {
    ca: Vec<u8>,
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Credentials {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read, as before `kubeadm init` has written them; it is named.
    pub fn read(ca: &str, cert: &str, key: &str) -> std::io::Result<Self> {
        let read = |file: &str| std::fs::read(file).map_err(|e| std::io::Error::new(e.kind(), format!("{file}: {e}")));
        Ok(Self { ca: read(ca)?, cert: read(cert)?, key: read(key)? })
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
        Ok(plain(answer.members()))
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

    /// The hash of all keys from the compacted revision up to `revision`, or to the newest one. A linearizable read on the same
    /// member goes first, so that it has what was written before the call.
    ///
    /// # Errors
    /// [`Kind::Learner`] from a learner; [`Kind::Refused`] for a revision that is compacted.
    pub async fn data_hash(&mut self, revision: Option<u64>) -> Result<Notice, EtcdError> {
        let mut inner = self.inner.clone();
        let read = self.limited("read linearizably", inner.get(NO_KEY, Some(GetOptions::new().with_count_only()))).await?;
        let newest = read.header().map_or(0, etcd_client::ResponseHeader::revision);
        let upto = revision.and_then(|revision| i64::try_from(revision).ok()).unwrap_or(newest);
        let answer = self.limited("read the hash of the data", inner.hash_kv(upto)).await?;
        Ok(Notice::DataHash {
            member: MemberId(answer.header().map_or(0, etcd_client::ResponseHeader::member_id)),
            revision: u64::try_from(upto).unwrap_or(0),
            compacted: u64::try_from(answer.compact_version()).unwrap_or(0),
            hash: answer.hash(),
        })
    }

    /// Adds a member, and returns the list behind it as the one that is asked has it.
    ///
    /// # Errors
    /// [`Kind::Refused`] with etcd's words; [`Kind::Late`] where it may have been added.
    pub async fn add_member(&mut self, peer_url: &str, learner: bool) -> Result<Vec<Member>, EtcdError> {
        let mut inner = self.inner.clone();
        let options = if learner { MemberAddOptions::new().with_is_learner() } else { MemberAddOptions::new() };
        let answer = self.limited("add a member by way", inner.member_add([peer_url], Some(options))).await?;
        Ok(plain(answer.member_list()))
    }

    /// Makes a learner a voter; returns the list behind it.
    ///
    /// # Errors
    /// As [`Client::add_member`].
    pub async fn promote_member(&mut self, id: MemberId) -> Result<Vec<Member>, EtcdError> {
        let mut inner = self.inner.clone();
        let answer = self.limited("promote a member by way", inner.member_promote(id.0)).await?;
        Ok(plain(answer.members()))
    }

    /// Removes a member; returns the list behind it.
    ///
    /// # Errors
    /// As [`Client::add_member`].
    pub async fn remove_member(&mut self, id: MemberId) -> Result<Vec<Member>, EtcdError> {
        let mut inner = self.inner.clone();
        let answer = self.limited("remove a member by way", inner.member_remove(id.0)).await?;
        Ok(plain(answer.members()))
    }

    /// Gives a member another peer URL; returns the list behind it.
    ///
    /// # Errors
    /// As [`Client::add_member`].
    pub async fn update_member(&mut self, id: MemberId, peer_url: &str) -> Result<Vec<Member>, EtcdError> {
        let mut inner = self.inner.clone();
        let answer = self.limited("update a member by way", inner.member_update(id.0, [peer_url.to_owned()])).await?;
        Ok(plain(answer.members()))
    }

    /// Writes so many entries of this size under [`FILL`], some at once, each another key.
    ///
    /// # Errors
    /// The first failure; the others in flight are given up.
    pub async fn fill(&mut self, entries: u32, size: usize) -> Result<(), EtcdError> {
        let value = vec![b'x'; size];
        let put = |at: u32| {
            let (mut inner, value, this) = (self.inner.clone(), value.clone(), &*self);
            async move { this.limited("put an entry by way", inner.put(format!("{FILL}{at:08}"), value, None)).await.map(drop) }
        };
        stream::iter(0..entries).map(put).buffer_unordered(AT_ONCE).try_collect().await
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

/// Members as plain types, by id.
fn plain(members: &[etcd_client::Member]) -> Vec<Member> {
    let plain = |m: &etcd_client::Member| Member {
        id: MemberId(m.id()),
        name: m.name().to_owned(),
        peer_urls: m.peer_urls().to_vec(),
        learner: m.is_learner(),
    };
    let mut members: Vec<Member> = members.iter().map(plain).collect();
    members.sort();
    members
}
