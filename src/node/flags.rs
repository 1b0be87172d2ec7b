//! The rights of a node container: far below `--privileged`, one list, a reason each.

use crate::runtime::ContainerSpec;

/// Capabilities beyond the engine's default set. Found by leaving out one at a time: `docs/rights.md` has what broke.
pub const CAPABILITIES: &[&str] = &[
    // mount, unshare and remount: systemd, containerd and the entry point
    "SYS_ADMIN",
    // addresses, routes, nft rules of pods and kube-proxy
    "NET_ADMIN",
    // reading /dev/kmsg, without which the kubelet exits
    "SYSLOG",
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
