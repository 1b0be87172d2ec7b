//! The files of `images/`, carried in the program.

use std::path::Path;

use super::error::ImageError;
use crate::sys::packed::{Packed, packed};

/// A file that goes into the node image as it is: path, mode, contents.
pub(crate) type NodeFile = (&'static str, u32, &'static str);

/// Files of every node image.
pub(crate) const NODE_FILES: &[NodeFile] = &[
    ("usr/local/bin/entrypoint", 0o755, include_str!("../../images/node/entrypoint")),
    ("etc/systemd/system/kubelet.service", 0o644, include_str!("../../images/node/kubelet.service")),
    ("etc/systemd/system/kubelet.service.d/10-kubeadm.conf", 0o644, include_str!("../../images/node/10-kubeadm.conf")),
    ("etc/systemd/system/joinder-network.service", 0o644, include_str!("../../images/node/joinder-network.service")),
    ("etc/systemd/journald.conf.d/10-joinder.conf", 0o644, include_str!("../../images/node/journald.conf")),
    ("etc/sysctl.d/10-joinder.conf", 0o644, include_str!("../../images/node/sysctl.conf")),
    ("etc/systemd/system/kubelet.service.d/20-kind.conf", 0o644, include_str!("../../images/node/kind/kubelet.conf")),
    ("etc/systemd/system/pod-network.service", 0o644, include_str!("../../images/node/kind/pod-network.service")),
    ("kind/bin/before-kubelet", 0o755, include_str!("../../images/node/kind/before-kubelet")),
    ("kind/bin/pod-network", 0o755, include_str!("../../images/node/kind/pod-network")),
    ("kind/manifests/default-cni.yaml", 0o644, include_str!("../../images/node/kind/default-cni.yaml")),
    ("etc/crictl.yaml", 0o644, include_str!("../../images/node/crictl.yaml")),
];
/// containerd's configuration; `@PAUSE@` stands for the name of the sandbox image.
pub(crate) const CONTAINERD: &str = include_str!("../../images/node/containerd.toml");
/// containerd's configuration while images are unpacked at build time.
pub(crate) const IMPORT: &str = include_str!("../../images/node/import.toml");
/// The load balancer's configuration until it gets a real one.
pub(crate) const HAPROXY: &str = include_str!("../../images/load-balancer/haproxy.cfg");
/// The program of the pause image: file and contents.
pub(crate) const PAUSE: [(&str, &str); 2] =
    [("go.mod", include_str!("../../images/pause/go.mod")), ("main.go", include_str!("../../images/pause/main.go"))];
/// What `go.mod` files are made from.
pub(crate) const GO_MOD: &str = include_str!("../../images/go.mod.in");

/// A pinned module: component, version, `go.mod`, `go.sum`.
type Pinned = (&'static str, &'static str, Packed, Packed);

const PINNED: &[Pinned] = &[
    ("kubernetes", "v1.36.3", packed!("images/kubernetes/v1.36.3/go.mod"), packed!("images/kubernetes/v1.36.3/go.sum")),
    ("etcd", "v3.6.16", packed!("images/etcd/3.6.16/go.mod"), packed!("images/etcd/3.6.16/go.sum")),
    ("coredns", "v1.14.2", packed!("images/coredns/v1.14.2/go.mod"), packed!("images/coredns/v1.14.2/go.sum")),
    ("crictl", "v1.37.0", packed!("images/crictl/v1.37.0/go.mod"), packed!("images/crictl/v1.37.0/go.sum")),
];

/// `go.mod` and `go.sum` of a component at a version, where their sums are pinned.
pub(crate) fn pinned(component: &str, version: &str) -> Result<Option<(String, String)>, ImageError> {
    let Some((.., go_mod, go_sum)) = PINNED.iter().find(|(name, at, ..)| (*name, *at) == (component, version)) else { return Ok(None) };
    let text = |file: &str, packed: &Packed| packed.text().map_err(ImageError::io("unpack from joinder", Path::new(file)));
    Ok(Some((text("go.mod", go_mod)?, text("go.sum", go_sum)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_for_kind_leaves_joinders_own_nodes_alone() {
        let file = |wanted: &str| NODE_FILES.iter().find(|(path, ..)| *path == wanted).map(|(_, mode, text)| (*mode, *text)).expect(wanted);
        let condition = |unit: &'static str| unit.lines().find_map(|line| line.strip_prefix("ConditionPathExists=")).expect("a condition");
        let ours = condition(file("etc/systemd/system/joinder-network.service").1);
        let (mode, script) = file("kind/bin/before-kubelet");
        assert!(mode == 0o755 && script.contains(&format!("[ ! -e {ours} ] || exit 0")), "{script}");
        let (_, unit) = file("etc/systemd/system/pod-network.service");
        assert_eq!(condition(unit).strip_prefix('!'), Some(ours));
        assert!(file("kind/bin/pod-network").0 == 0o755 && unit.contains("ExecStart=/kind/bin/pod-network"), "{unit}");
        // kind reads the one, and asks the kubelet's unit for the other
        assert!(file("kind/manifests/default-cni.yaml").1.contains("resources: [nodes]"));
        assert!(file("etc/systemd/system/kubelet.service.d/20-kind.conf").1.contains("ExecStartPre=/kind/bin/before-kubelet"));
    }
}
