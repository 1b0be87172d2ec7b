//! Certificates that do not hold, in place of those that kubeadm has made. etcd reads its files at each handshake; who has a connection
//! keeps it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use jiff::Timestamp;

use super::super::ground::Ground;
use super::each;
use super::guard::{ASK, Down, Guard, Refused};
use crate::node::{Node, NodeError, path};
use crate::pki::{Authority, Issued, Leaf, PkiError, Usage};
use crate::spec::{BadCertificate, Certificate, Flaw};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// The last line since `$1`, as containerd dates it, in which etcd or an API server finds this flaw, `$2`.
const SAID: &str = r#"cat /var/log/pods/kube-system_etcd-*/etcd/*.log /var/log/pods/kube-system_kube-apiserver-*/kube-apiserver/*.log 2>/dev/null |
awk -v since="$1" '$1 > since' | grep -oE "(x509|tls): [^\"]*($2)[^\"\\]*" | tail -n 1"#;

/// Only one fault at a time has a certificate; `$1` stands while one does.
const TAKE: &str =
    r#"(set -C; : >"$1") 2>/dev/null || { echo "another fault has changed this certificate, and has not ended yet"; exit 5; }"#;
const RELEASE: &str = r#"rm -f "$1""#;

impl Certificate {
    fn file(self) -> &'static str {
        match self {
            Self::EtcdServer => "etcd/server",
            Self::EtcdPeer => "etcd/peer",
            Self::EtcdHealthcheckClient => "etcd/healthcheck-client",
            Self::ApiserverEtcdClient => "apiserver-etcd-client",
        }
    }

    fn usage(self) -> Usage {
        match self {
            // a gateway in etcd asks its own server by it
            Self::EtcdServer | Self::EtcdPeer => Usage::Both,
            Self::EtcdHealthcheckClient | Self::ApiserverEtcdClient => Usage::Client,
        }
    }
}

impl Flaw {
    /// What Go's verifier says of it (`crypto/x509/verify.go`), a regular expression.
    fn said(self) -> &'static str {
        match self {
            Self::Expired | Self::NotYetValid => "has expired or is not yet valid",
            Self::WrongCa => "signed by unknown authority",
            // etcd looks itself at the address that a peer or a client comes from (`client/pkg/transport/listener_tls.go`)
            Self::MissingSan => "certificate is valid for|does not match any of DNSNames",
        }
    }
}

/// A bad certificate for a node.
fn mint(node: &Node, wanted: &BadCertificate, authority: &Authority, at: Timestamp) -> Result<Issued, PkiError> {
    let mut leaf = Leaf::new(&node.name, wanted.of.usage());
    leaf.dns = vec![node.name.clone(), "localhost".to_owned()];
    leaf.addresses = vec![IpAddr::V4(node.address), Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    match wanted.flaw {
        Flaw::Expired => (leaf.from, leaf.until) = (at - DAY, at - HOUR),
        Flaw::NotYetValid => (leaf.from, leaf.until) = (at + HOUR, at + DAY),
        Flaw::WrongCa => return Authority::make("etcd-ca")?.0.issue(&leaf),
        Flaw::MissingSan => (leaf.dns, leaf.addresses) = (vec!["nobody.invalid".to_owned()], vec![Ipv4Addr::UNSPECIFIED.into()]),
    }
    authority.issue(&leaf)
}

/// Nodes with a bad certificate, and what they had.
pub(super) struct Bad {
    wanted: BadCertificate,
    since: String,
    had: Vec<(Arc<Node>, [Bytes; 2])>,
    control_planes: Vec<Arc<Node>>,
}

impl Bad {
    pub(super) async fn strike(wanted: &BadCertificate, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        if ground.cluster.external_etcd.is_some() {
            return Err(Refused::NotApplicable("the certificates of an external etcd are none of kubeadm's".into()));
        }
        let nodes = ground.nodes(&wanted.nodes).await?;
        let now = Timestamp::now();
        let control_planes = ground.cluster.control_planes().cloned().collect();
        let mut this = Self { wanted: wanted.clone(), since: now.to_string(), had: Vec::new(), control_planes };
        for node in nodes {
            if let Err(refused) = this.spoil(node, now).await {
                let _ = this.heal().await;
                return Err(refused);
            }
        }
        Ok(Box::new(this))
    }

    async fn spoil(&mut self, node: Arc<Node>, now: Timestamp) -> Result<(), Refused> {
        let [cert, key] = self.paths();
        let read = async |file: &str| match node.read_if_there(file).await? {
            Some(bytes) => Ok(bytes),
            None => Err(Refused::NotApplicable(format!("{}: there is no {file}", node.name))),
        };
        let had = [read(&cert).await?, read(&key).await?];
        let (ca, ca_key) = (read(path::ETCD_CA).await?, read(path::ETCD_CA_KEY).await?);
        let failed = |e: PkiError| Refused::Failed(format!("{}: {e}", node.name));
        let authority = Authority::read(&String::from_utf8_lossy(&ca), &ca_key).map_err(failed)?;
        let bad = mint(&node, &self.wanted, &authority, now).map_err(failed)?;
        node.script(TAKE, &[&self.taken()], ASK).await?;
        // from here on it is undone
        self.had.push((node.clone(), had));
        node.write(&key, 0o600, bad.key.as_bytes()).await?;
        Ok(node.write(&cert, 0o644, bad.cert.as_bytes()).await?)
    }

    fn taken(&self) -> String {
        format!("/etc/kubernetes/joinder-{}.bad", self.wanted.of.file().replace('/', "-"))
    }

    fn paths(&self) -> [String; 2] {
        ["crt", "key"].map(|end| format!("{}/{}.{end}", path::PKI, self.wanted.of.file()))
    }
}

#[async_trait]
impl Guard for Bad {
    // who has a connection keeps it: a member that runs goes on
    fn down(&self) -> Down {
        Down::default()
    }

    async fn proof(&mut self) -> Option<String> {
        let said = self.wanted.flaw.said();
        let found = each::said(&self.control_planes, SAID, &[&self.since, said]).await;
        each::proof(found.into_iter().map(|(node, said)| format!("{node}: {said}")))
    }

    async fn heal(&mut self) -> Result<(), String> {
        let [cert, key] = self.paths();
        let healed = join_all(self.had.iter().map(async |(node, [had, had_key])| {
            // a reset has taken it away: so it stays
            if node.read_if_there(&cert).await?.is_none() {
                node.script(RELEASE, &[&self.taken()], ASK).await?;
                return Ok(());
            }
            node.write(&key, 0o600, had_key).await?;
            node.write(&cert, 0o644, had).await?;
            node.script(RELEASE, &[&self.taken()], ASK).await?;
            Ok::<_, NodeError>(())
        }));
        each::undone(healed.await)
    }
}
