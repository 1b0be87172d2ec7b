//! The rights of a node container: far below `--privileged`, one list, a reason each.

use super::path;
use crate::agent;
use crate::runtime::ContainerSpec;

/// Capabilities beyond the engine's default set. Found by leaving out one at a time: `docs/rights.md` has what broke.
pub const CAPABILITIES: &[&str] = &[
    // mount, unshare and remount: systemd, containerd and the entry point
    "SYS_ADMIN",
    // addresses, routes, nft rules of pods and kube-proxy
    "NET_ADMIN",
    // reading /dev/kmsg, without which the kubelet exits
    "SYSLOG",
    // runc joins the namespaces of a pod by its first process: without it root may not, where that runs as another user
    "SYS_PTRACE",
];

/// Sets what systemd, containerd and a kubelet need of their container.
pub fn unprivileged(spec: &mut ContainerSpec) {
    spec.unconfined = true;
    spec.capabilities = CAPABILITIES.iter().map(|c| (*c).to_owned()).collect();
    // the kubelet watches it for out-of-memory kills and exits when it is not there
    spec.devices = vec!["/dev/kmsg".into()];
    spec.tmpfs = vec!["/tmp".into(), "/run".into()];
    // containerd cannot stack overlayfs on the engine's overlayfs
    spec.volumes = vec!["/var".into()];
    // systemd's clean shutdown
    spec.stop_signal = Some("SIGRTMIN+3".into());
}

/// What etcd alone needs of its container: no rights, a disk that is none of layers, and a first process that stays while etcd
/// comes and goes.
pub(super) fn etcd_alone(spec: &mut ContainerSpec) {
    spec.entrypoint = vec![agent::PATH.into(), agent::COMMAND.into(), "--idle".into()];
    spec.volumes = vec![path::ETCD_DATA.into()];
    spec.stop_signal = Some("SIGTERM".into());
}
