//! The labels that everything made carries: the only database there is.

use std::collections::BTreeMap;

use crate::sys::clock::Stamp;
use crate::sys::owner::Owner;

/// The run that made it. Only objects with this label are ever removed.
pub const RUN: &str = "io.joinder.run";
/// The cluster it belongs to.
pub const CLUSTER: &str = "io.joinder.cluster";
/// What it is in the cluster: `control-plane`, `worker`, `etcd`, `external-load-balancer`, `network`, `volume`, `build`.
pub const ROLE: &str = "io.joinder.role";
/// Position in the cluster, from 1; decides the address.
pub const INDEX: &str = "io.joinder.index";
/// When it was made, RFC 3339.
pub const CREATED: &str = "io.joinder.created-at";
/// The process that made it, see [`Owner`]. Absent on what is meant to outlive its maker (`create cluster`).
pub const OWNER: &str = "io.joinder.owner";
/// The file on the host that holds the cluster's kubeconfig and goes with it.
pub const KUBECONFIG: &str = "io.joinder.kubeconfig";
/// Version of Kubernetes in a node image, `v1.36.3`.
pub const KUBERNETES: &str = "io.joinder.kubernetes";
/// Version of etcd in a node image, `3.6.16`.
pub const ETCD: &str = "io.joinder.etcd";
/// What an image is: `node`, `etcd` or `load-balancer`.
pub const IMAGE: &str = "io.joinder.image";
/// Digest of the plan that an image was built from.
pub const PLAN: &str = "io.joinder.plan";

/// A word of its own on each variant of a node image: what a build that failed has left is found by it.
pub const VARIANT: &str = "io.joinder.variant";

/// What kind and kinder look for: the cluster's name and the role, under their old names and their new ones.
const KINDS: [(&str, &str); 2] = [("io.x-k8s.kind.cluster", "io.x-k8s.kind.role"), ("io.k8s.sigs.kind.cluster", "io.k8s.sigs.kind.role")];

/// Labels as the engine takes them, ordered.
pub type Labels = BTreeMap<String, String>;

/// Does the thing end with the process that made it?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Belongs to this process; `gc` takes it once the process is gone.
    Process,
    /// Stays until it is deleted by name.
    Kept,
}

/// The labels common to everything of one run and cluster.
pub fn common(run: &str, cluster: &str, lifetime: Lifetime) -> Labels {
    let mut labels = Labels::from([
        (RUN.to_owned(), run.to_owned()),
        (CLUSTER.to_owned(), cluster.to_owned()),
        (CREATED.to_owned(), Stamp::now().wall.to_string()),
    ]);
    if lifetime == Lifetime::Process {
        labels.insert(OWNER.to_owned(), Owner::current().to_string());
    }
    labels
}

/// `labels` with a role added.
#[must_use]
pub fn with_role(mut labels: Labels, role: &str) -> Labels {
    labels.insert(ROLE.to_owned(), role.to_owned());
    labels
}

/// `labels` with those that make it a node of kind's and kinder's too, so that their commands find it.
#[must_use]
pub fn with_kinds(mut labels: Labels, cluster: &str, role: &str) -> Labels {
    for (of_cluster, of_role) in KINDS {
        labels.insert(of_cluster.to_owned(), cluster.to_owned());
        labels.insert(of_role.to_owned(), role.to_owned());
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kind_looks_for_is_on_it_under_both_names() {
        let labels = with_kinds(Labels::new(), "a", "worker");
        let wanted = ["io.k8s.sigs.kind.cluster=a", "io.k8s.sigs.kind.role=worker", "io.x-k8s.kind.cluster=a", "io.x-k8s.kind.role=worker"];
        assert_eq!(labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(), wanted);
    }
}
