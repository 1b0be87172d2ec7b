//! The runs of kubeadm that a command is made of: one, or one a phase.

use super::policy::Policy;

/// A run: the command's words and its flags.
pub type Run = (&'static str, &'static [&'static str]);

/// Of `kubeadm init`, in kubeadm's own order (`cmd/kubeadm/app/cmd/init.go`). What was left out: `show-join-command`, which only says
/// something, and `wait-control-plane`, which takes no configuration and would wait for another cluster.
const INIT: &[Run] = &[
    ("init phase preflight", &[]),
    ("init phase certs all", &[]),
    ("init phase kubeconfig all", &[]),
    ("init phase etcd local", &[]),
    ("init phase control-plane all", &[]),
    ("init phase kubelet-start", &[]),
    (WANTS_API_SERVER, &[]),
    UPLOAD_CERTS,
    ("init phase mark-control-plane", &[]),
    ("init phase bootstrap-token", &[]),
    ("init phase kubelet-finalize all", &[]),
    ("init phase addon all", &[]),
];
/// Of `kubeadm join` on a control plane, since etcd's phase is one of its own.
const JOIN: &[Run] = &[
    ("join phase preflight", &[]),
    ("join phase control-plane-prepare all", &[]),
    ("join phase kubelet-start", &[]),
    ("join phase etcd-join", &[]),
    ("join phase kubelet-wait-bootstrap", &[]),
    ("join phase control-plane-join all", &[]),
];
/// Before that.
const JOIN_BEFORE: &[Run] = &[
    ("join phase preflight", &[]),
    ("join phase control-plane-prepare all", &[]),
    ("join phase kubelet-start", &[]),
    ("join phase control-plane-join all", &[]),
];
/// On a worker.
const JOIN_WORKER: &[Run] = &[("join phase preflight", &[]), ("join phase kubelet-start", &[])];
/// Of `kubeadm init`: from here on it speaks to the API server.
pub const WANTS_API_SERVER: &str = "init phase upload-config all";
const UPLOAD_CERTS: Run = ("init phase upload-certs", &["--upload-certs"]);

/// The runs of `kubeadm init`; with an etcd of its own only where that is `local`.
pub fn init(phases: bool, upload: bool, local: bool) -> Vec<Run> {
    match (phases, upload) {
        (false, true) => vec![("init", &["--upload-certs"])],
        (false, false) => vec![("init", &[])],
        (true, _) => {
            let wanted = |run: &&Run| (upload || **run != UPLOAD_CERTS) && (local || run.0 != "init phase etcd local");
            INIT.iter().filter(wanted).copied().collect()
        }
    }
}

/// The runs of `kubeadm join`.
pub fn join(phases: bool, control_plane: bool, policy: &Policy, local: bool) -> Vec<Run> {
    let all = match (phases, control_plane) {
        (false, _) => return vec![("join", &[])],
        (true, false) => JOIN_WORKER,
        (true, true) if policy.stages().is_ok() => JOIN,
        (true, true) => JOIN_BEFORE,
    };
    all.iter().filter(|run| local || run.0 != "join phase etcd-join").copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_role_version_and_what_is_wanted() {
        let new = Policy::of("v1.36.3").expect("a version");
        let old = Policy::of("v1.31.0").expect("a version");
        assert_eq!(join(false, true, &new, true), [("join", &[][..])]);
        assert_eq!(join(true, true, &new, true).len(), 6);
        assert_eq!(join(true, true, &new, false).len(), 5);
        assert_eq!(join(true, true, &old, true).len(), 4);
        assert_eq!(join(true, false, &new, true), JOIN_WORKER);
        assert_eq!(init(false, true, true), [("init", &["--upload-certs"][..])]);
        assert_eq!((init(true, true, true).len(), init(true, false, true).len(), init(true, false, false).len()), (12, 11, 10));
    }
}
