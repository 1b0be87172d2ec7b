//! What differs by version. Nothing else in joinder compares versions.

use semver::Version;

/// The rules for one version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    version: Version,
}

impl Policy {
    /// The rules for `v1.36.3` or `1.36.3`.
    ///
    /// # Errors
    /// When that is no version.
    pub fn of(version: &str) -> Result<Self, String> {
        let version = Version::parse(version.trim().trim_start_matches('v'))
            .map_err(|e| format!("{version:?} is no Kubernetes version such as v1.36.3: {e}"))?;
        Ok(Self { version })
    }

    fn at_least(&self, minor: u64) -> bool {
        self.version.major > 1 || self.version.minor >= minor
    }

    /// Version of kubeadm's configuration API: v1beta4 came with 1.31.
    pub fn config_api(&self) -> &'static str {
        if self.at_least(31) { "kubeadm.k8s.io/v1beta4" } else { "kubeadm.k8s.io/v1beta3" }
    }

    /// v1beta4 writes extra arguments as a list of name and value, v1beta3 as a map.
    pub fn args_are_a_list(&self) -> bool {
        self.at_least(31)
    }

    /// From 1.35 on the kubelet refuses to start on cgroup v1 unless told not to; the setting is known since 1.31.
    pub fn knows_fail_cgroup_v1(&self) -> bool {
        self.at_least(31)
    }

    /// How a join can be run in stages.
    ///
    /// # Errors
    /// Before 1.33 etcd's phase is part of `control-plane-join`, and the kubelet waits for its certificate before it.
    pub fn stages(&self) -> Result<Stages, String> {
        if self.at_least(33) {
            return Ok(STAGES);
        }
        Err(format!(
            "kubeadm {} has no phase etcd-join of its own, which order: staged needs: take Kubernetes 1.33 or newer, or order: parallel",
            self.version
        ))
    }
}

/// The phases of `kubeadm join` on a control plane, in three runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Skipped in the first run: etcd's phase, and all after it.
    pub not_before: &'static str,
    /// The second run.
    pub etcd: &'static str,
    /// Skipped in the third run: etcd's phase, and all before it.
    pub not_after: &'static str,
}

/// The order of phases in which the kubelet waits for its certificate behind etcd (`cmd/kubeadm/app/cmd/join.go`): by default
/// since 1.33 (gate `ControlPlaneKubeletLocalMode`), always since 1.36.
const STAGES: Stages = Stages {
    not_before: "etcd-join,kubelet-wait-bootstrap,control-plane-join,wait-control-plane",
    etcd: "join phase etcd-join",
    not_after: "preflight,control-plane-prepare,check-etcd,kubelet-start,etcd-join",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_api_follows_the_version() {
        for (version, api) in
            [("v1.30.14", "kubeadm.k8s.io/v1beta3"), ("v1.31.0", "kubeadm.k8s.io/v1beta4"), ("1.37.2", "kubeadm.k8s.io/v1beta4")]
        {
            assert_eq!(Policy::of(version).map(|p| p.config_api()), Ok(api));
        }
        assert!(Policy::of("latest").is_err());
    }

    #[test]
    fn stages_need_a_phase_of_etcds_own() {
        let stages = |version| Policy::of(version).expect("a version").stages();
        assert!(stages("v1.32.9").is_err_and(|why| why.contains("1.32.9 has no phase etcd-join")));
        assert!(stages("v1.33.0").is_ok() && stages("v1.37.2").is_ok());
    }
}
