//! Lines of kubeadm's output at which a join goes from one part of its way to the next.

/// Where a join has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It looks for the cluster.
    Discovering,
    /// It has found the cluster, and trusts it.
    Discovered,
    /// Certificates, kubeconfigs, manifests, a look at etcd's health, the kubelet's start.
    Preparing,
    /// etcd refused to add the member for now.
    AddRefused,
    /// etcd has added the member as a learner.
    Announced,
    /// etcd has made the learner a voter.
    Promoted,
    /// It waits for the kubelet's certificate.
    Bootstrapping,
    /// The kubelet has registered its Node object, which is marked as a control plane's.
    Registered,
}

/// The words, as kubeadm 1.30 to 1.37 write them with `--v=5` (`cmd/kubeadm/app/cmd/join.go`, `app/util/etcd/etcd.go`,
/// `app/phases`), and what they mark.
const WORDS: &[(&str, Mark)] = &[
    ("[preflight] Discovering cluster-info", Mark::Discovering),
    ("[preflight] Fetching init configuration", Mark::Discovered),
    ("Failed to add etcd member: ", Mark::AddRefused),
    ("[etcd] Announced new etcd member", Mark::Announced),
    ("[etcd] The learner was promoted", Mark::Promoted),
    ("[etcd] Waiting for the new etcd member to join the cluster", Mark::Promoted),
    ("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap", Mark::Bootstrapping),
    ("[kubelet-check] Waiting for a healthy kubelet", Mark::Bootstrapping),
];

/// Phases by the brackets before a line.
const PHASES: &[(&str, Mark)] = &[
    ("download-certs", Mark::Preparing),
    ("certs", Mark::Preparing),
    ("kubeconfig", Mark::Preparing),
    ("control-plane", Mark::Preparing),
    ("check-etcd", Mark::Preparing),
    ("kubelet-start", Mark::Preparing),
    ("mark-control-plane", Mark::Registered),
    ("control-plane-check", Mark::Registered),
];

/// What a line marks, if it marks anything.
pub fn mark(line: &str) -> Option<Mark> {
    let said = WORDS.iter().find(|(words, _)| line.contains(words));
    let phase = || super::output::phase(line).and_then(|phase| PHASES.iter().find(|(name, _)| *name == phase));
    said.or_else(phase).map(|(_, mark)| *mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_real_join_are_marked() {
        for (line, want) in [
            ("I1201 14:47:09.350138      99 join.go:553] [preflight] Discovering cluster-info", Some(Mark::Discovering)),
            ("I1201 14:47:09.363684      99 join.go:567] [preflight] Fetching init configuration", Some(Mark::Discovered)),
            ("[certs] Generating \"apiserver\" certificate and key", Some(Mark::Preparing)),
            ("I1201 14:47:10.4 99 etcd.go:518] Failed to add etcd member: etcdserver: unhealthy cluster", Some(Mark::AddRefused)),
            ("[etcd] Announced new etcd member joining to the existing etcd cluster", Some(Mark::Announced)),
            ("I1201 14:47:18.4 99 etcd.go:667] [etcd] The learner was promoted as a voting member: 5355b691dff93af0", Some(Mark::Promoted)),
            ("[kubelet-start] Starting the kubelet", Some(Mark::Preparing)),
            ("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap", Some(Mark::Bootstrapping)),
            ("[mark-control-plane] Marking the node cp-3 as control-plane by adding the labels: [x]", Some(Mark::Registered)),
            ("[preflight] Running pre-flight checks", None),
            ("I1201 14:47:10.2 99 local.go:72] [etcd] Checking etcd cluster health", None),
            ("", None),
        ] {
            assert_eq!(mark(line), want, "{line}");
        }
    }
}
