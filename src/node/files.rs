//! What is written into a node before it starts, in one archive.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::path;
use crate::agent;
use crate::runtime::{Archive, Tar};

/// Binaries that replace the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// joinder itself, to serve as the agent; the running program when not said.
    pub joinder: Option<PathBuf>,
    /// kubeadm.
    pub kubeadm: Option<PathBuf>,
    /// kubelet.
    pub kubelet: Option<PathBuf>,
    /// etcd, in place of the one in the image's etcd image.
    pub etcd: Option<PathBuf>,
}

/// A file for a node: path, mode, contents.
pub type NodeFile = (String, u32, Vec<u8>);

/// The pods of the node with this index: a /24 of 10.244.0.0/16, as by hand.
pub fn pod_subnet(index: u8) -> String {
    format!("10.244.{index}.0/24")
}

/// All pods.
const PODS: &str = "10.244.0.0/16";

/// The archive for the node with this `index` among `others` (index and address of every other node).
pub(super) fn archive(
    index: u8,
    gateway: Ipv4Addr,
    others: &[(u8, Ipv4Addr)],
    overrides: &Overrides,
    files: &[NodeFile],
) -> io::Result<Tar> {
    let mut archive = begin(overrides, files)?;
    // Pods must not inherit the engine's 127.0.0.11: CoreDNS would forward to itself and stop with "Loop detected".
    archive.file(path::RESOLV, 0o644, format!("nameserver {gateway}\n").as_bytes())?;
    archive.file(path::NETWORK, 0o755, network_script(others).as_bytes())?;
    archive.file(path::CNI, 0o644, conflist(index).as_bytes())?;
    for (from, to) in [(&overrides.kubeadm, path::KUBEADM), (&overrides.kubelet, path::KUBELET), (&overrides.etcd, path::ETCD_OVERRIDE)] {
        replace(&mut archive, from.as_deref(), to)?;
    }
    archive.finish()
}

/// The archive for a node with etcd alone, where there is no system that needs files.
pub(super) fn archive_of_etcd(overrides: &Overrides, files: &[NodeFile]) -> io::Result<Tar> {
    let mut archive = begin(overrides, files)?;
    replace(&mut archive, overrides.etcd.as_deref(), path::ETCD_PROGRAM)?;
    archive.finish()
}

fn begin(overrides: &Overrides, files: &[NodeFile]) -> io::Result<Archive> {
    let mut archive = Archive::default();
    // The running program, whichever way it was called: it is linked statically.
    let joinder = overrides.joinder.as_deref().unwrap_or(Path::new("/proc/self/exe"));
    archive.copy(agent::PATH, 0o755, joinder)?;
    for (path, mode, bytes) in files {
        archive.file(path, *mode, bytes)?;
    }
    Ok(archive)
}

fn replace(archive: &mut Archive, from: Option<&Path>, to: &str) -> io::Result<()> {
    let Some(from) = from else { return Ok(()) };
    archive.copy(to, 0o755, from).map(drop)
}

/// Puts the user's etcd into the unpacked layers that hold one, in our images and in kind's.
pub(super) const REPLACE_ETCD: &str = "for f in /kind/store/*/snapshots/*/fs/usr/local/bin/etcd \
    /var/lib/containerd/*/snapshots/*/fs/usr/local/bin/etcd; do \
    if [ -f \"$f\" ]; then cp /kind/override/etcd \"$f\"; found=1; fi; done; [ -n \"$found\" ] || { echo no etcd in the image store; exit 1; }";

/// A route to every other node's pods, and masquerading for what leaves the pods' network. Safe to run again.
pub(super) fn network_script(others: &[(u8, Ipv4Addr)]) -> String {
    use std::fmt::Write;
    let mut script = "#!/bin/sh\n# routes to the pods of the other nodes; run at each boot\nset -e\n".to_owned();
    for (index, address) in others {
        let _ = writeln!(script, "ip route replace {} via {address}", pod_subnet(*index));
    }
    let _ = write!(
        script,
        "nft -f - <<EOF\n\
         table ip joinder-pods\n\
         flush table ip joinder-pods\n\
         table ip joinder-pods {{\n\
         \tchain post {{\n\
         \t\ttype nat hook postrouting priority srcnat; policy accept;\n\
         \t\tip saddr {PODS} ip daddr != {PODS} oifname != \"cni0\" masquerade\n\
         \t}}\n\
         }}\n\
         EOF\n"
    );
    script
}

/// A bridge with addresses from a local range: nothing to download, nothing to run.
fn conflist(index: u8) -> String {
    let value = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": pod_subnet(index)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_node_gets_a_route() {
        let script = network_script(&[(2, Ipv4Addr::new(10, 213, 0, 12)), (3, Ipv4Addr::new(10, 213, 0, 13))]);
        assert!(
            script.contains("ip route replace 10.244.2.0/24 via 10.213.0.12\nip route replace 10.244.3.0/24 via 10.213.0.13\n"),
            "{script}"
        );
    }
}
