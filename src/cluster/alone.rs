//! Nodes with etcd alone: their certificates, and how their etcd is started.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;

use super::create::Cluster;
use super::topology::EtcdAlone;
use crate::node::{Node, NodeFile, path};
use crate::pki::{Authority, Leaf, PkiError, Usage};

/// As long as the authority's own, less what clocks may differ.
const VALID: Duration = Duration::from_hours(24 * 364);

/// With which list of members a node's etcd begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// `NAME=URL`, one for each member.
    pub cluster: Vec<String>,
    /// Does it found the cluster with the others?
    pub founds: bool,
    /// How often the node was made a member before: each time it has another data folder, so that nothing old is in its way.
    pub before: u32,
}

/// An authority for the members and clients of one cluster.
pub(super) fn authority(cluster: &str) -> Result<Authority, PkiError> {
    Authority::make(&format!("joinder {cluster}")).map(|(authority, _)| authority)
}

/// The certificates of one node.
pub(super) fn files(authority: &Authority, node: &str, address: Ipv4Addr) -> Result<Vec<NodeFile>, PkiError> {
    let until = Timestamp::now() + VALID;
    let addresses = [address, Ipv4Addr::LOCALHOST].map(IpAddr::from).into();
    let dns = vec![node.to_owned(), "localhost".to_owned()];
    let server = authority.issue(&Leaf { dns, addresses, until, ..Leaf::new(node, Usage::Both) })?;
    let client = authority.issue(&Leaf { until, ..Leaf::new("joinder", Usage::Client) })?;
    let [ca_at, client_at, client_key_at] = path::ETCD_CLIENT;
    let [server_at, server_key_at] = path::ETCD_SERVER;
    let all = [
        (ca_at, 0o644, authority.cert()),
        (client_at, 0o644, &client.cert),
        (client_key_at, 0o600, &client.key),
        (server_at, 0o644, &server.cert),
        (server_key_at, 0o600, &server.key),
    ];
    Ok(all.map(|(path, mode, text)| (path.to_owned(), mode, text.as_bytes().to_vec())).into())
}

/// The URL at which a node's member is reached by others.
pub(super) fn peer_url(address: Ipv4Addr) -> String {
    format!("https://{address}:{}", path::PEER_PORT)
}

impl Cluster {
    /// The URL at which a node's member is reached by others.
    pub fn peer_url(&self, node: &Node) -> String {
        peer_url(node.address)
    }

    /// From now on the node's etcd starts with this list of members, in a new data folder.
    pub fn begin_member(&self, node: &str, cluster: Vec<String>, founds: bool) {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let before = starts.get(node).map_or(0, |start| start.before + 1);
        starts.insert(node.to_owned(), Start { cluster, founds, before });
    }

    /// With which list of members the node's etcd starts; `None` before it was made a member.
    pub fn start_of(&self, node: &str) -> Option<Start> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }
}

impl EtcdAlone {
    /// The command line of a node's etcd.
    pub fn argv(&self, node: &Node, start: &Start) -> Vec<String> {
        self.argv_at(&node.name, node.address, start)
    }

    fn argv_at(&self, name: &str, address: Ipv4Addr, start: &Start) -> Vec<String> {
        let ([ca, ..], [cert, key]) = (path::ETCD_CLIENT, path::ETCD_SERVER);
        let (client, peer) = (format!("https://{address}:{}", path::CLIENT_PORT), peer_url(address));
        let mut flags = vec![
            ("name", name.to_owned()),
            ("data-dir", format!("{}/{}", path::ETCD_DATA, start.before + 1)),
            // 3.4 would write lines that are no JSON
            ("logger", "zap".into()),
            ("listen-client-urls", format!("https://{},{client}", path::ETCD)),
            ("advertise-client-urls", client),
            ("listen-peer-urls", peer.clone()),
            ("initial-advertise-peer-urls", peer),
            ("listen-metrics-urls", format!("http://{}", path::ETCD_METRICS)),
            ("initial-cluster", start.cluster.join(",")),
            ("initial-cluster-state", if start.founds { "new" } else { "existing" }.into()),
        ];
        for (prefix, name) in [("", "client-cert-auth"), ("peer-", "peer-client-cert-auth")] {
            let flag = |name: &'static str, peer: &'static str| if prefix.is_empty() { name } else { peer };
            flags.push((flag("cert-file", "peer-cert-file"), cert.into()));
            flags.push((flag("key-file", "peer-key-file"), key.into()));
            flags.push((flag("trusted-ca-file", "peer-trusted-ca-file"), ca.into()));
            flags.push((name, "true".into()));
        }
        // of a flag that is given twice the last one counts
        let own = self.args.iter().map(|(name, value)| format!("--{name}={value}"));
        let all = flags.into_iter().map(|(name, value)| format!("--{name}={value}")).chain(own);
        std::iter::once(path::ETCD_PROGRAM.to_owned()).chain(all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_flags_come_last_and_each_membership_has_its_own_folder() {
        let alone = EtcdAlone { members: 1, args: vec![("snapshot-count".into(), "100".into())], ..EtcdAlone::default() };
        let start = Start { cluster: vec!["a=https://10.213.0.11:2380".into()], founds: true, before: 1 };
        let argv = alone.argv_at("a", Ipv4Addr::new(10, 213, 0, 11), &start);
        assert_eq!(argv.last().map(String::as_str), Some("--snapshot-count=100"));
        for flag in [
            "--data-dir=/var/lib/etcd/2",
            "--initial-cluster=a=https://10.213.0.11:2380",
            "--initial-cluster-state=new",
            "--listen-client-urls=https://127.0.0.1:2379,https://10.213.0.11:2379",
            "--listen-metrics-urls=http://127.0.0.1:2381",
            "--peer-client-cert-auth=true",
            "--peer-key-file=/etc/etcd/pki/server.key",
            "--trusted-ca-file=/etc/etcd/pki/ca.crt",
        ] {
            assert!(argv.iter().any(|arg| arg == flag), "{flag} in {argv:?}");
        }
    }

    #[test]
    fn each_node_has_certificates_of_one_authority() {
        let authority = authority("x").expect("made");
        let files = files(&authority, "x-etcd-1", Ipv4Addr::new(10, 213, 0, 11)).expect("signed");
        let names: Vec<(&str, u32)> = files.iter().map(|(path, mode, _)| (path.rsplit('/').next().unwrap_or_default(), *mode)).collect();
        assert_eq!(names, [("ca.crt", 0o644), ("client.crt", 0o644), ("client.key", 0o600), ("server.crt", 0o644), ("server.key", 0o600)]);
    }
}
