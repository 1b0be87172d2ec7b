//! What differs by version. Nothing else in joinder compares versions.

use semver::Version;

/// The rules for one version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    version: Version,
    /// Wanted in place of the newest configuration API: is it v1beta4?
    v1beta4: Option<bool>,
}

impl Policy {
    /// The rules for `v1.36.3` or `1.36.3`.
    ///
    /// # Errors
    /// When that is no version.
    pub fn of(version: &str) -> Result<Self, String> {
        let version = Version::parse(version.trim().trim_start_matches('v'))
            .map_err(|e| format!("{version:?} is no Kubernetes version such as v1.36.3: {e}"))?;
        Ok(Self { version, v1beta4: None })
    }

    /// The same with another version of the configuration API.
    ///
    /// # Errors
    /// When there is no such version.
    pub fn with_config_api(self, api: &str) -> Result<Self, String> {
        let v1beta4 = match api {
            "v1beta3" if self.at_least(37) => {
                return Err(format!("kubeadm {} reads v1beta3 no more, which went with 1.37: use v1beta4", self.version));
            }
            "v1beta4" if !self.at_least(31) => {
                return Err(format!("kubeadm {} does not know v1beta4, which came with 1.31: use v1beta3", self.version));
            }
            "v1beta3" => false,
            "v1beta4" => true,
            _ => return Err(format!("{api:?} is no version of kubeadm's configuration: use v1beta3 or v1beta4")),
        };
        Ok(Self { v1beta4: Some(v1beta4), ..self })
    }

    /// v1beta4 came with 1.31.
    fn v1beta4(&self) -> bool {
        self.v1beta4.unwrap_or_else(|| self.at_least(31))
    }

    fn at_least(&self, minor: u64) -> bool {
        self.version.major > 1 || self.version.minor >= minor
    }

    /// Version of kubeadm's configuration API.
    pub fn config_api(&self) -> &'static str {
        if self.v1beta4() { "kubeadm.k8s.io/v1beta4" } else { "kubeadm.k8s.io/v1beta3" }
    }

    /// v1beta4 writes extra arguments as a list of name and value, v1beta3 as a map.
    pub fn args_are_a_list(&self) -> bool {
        self.v1beta4()
    }

    /// v1beta4 has kubeadm's own limits.
    pub fn knows_timeouts(&self) -> bool {
        self.at_least(31)
    }

    /// From 1.35 on the kubelet refuses to start on cgroup v1 unless told not to; the setting is known since 1.31.
    pub fn knows_fail_cgroup_v1(&self) -> bool {
        self.at_least(31)
    }

    /// Of whose health kubeadm wants to be sure before a control plane joins (`app/util/etcd/etcd.go`, `getClusterStatus`):
    /// each started voter must answer, until kubernetes/kubernetes#138403 made it more than half, without errors. That is 1.37, and
    /// 138538 to 138541 took it to later patches of 1.33 to 1.36. `None` for those patches that nobody has looked at.
    pub fn health(&self) -> Option<Health> {
        let patch = self.version.patch;
        match self.version.minor {
            _ if self.at_least(37) => Some(Health::Majority),
            // read in the modules: 1.33.13, 1.36.1 and 1.36.3 have it, 1.34.4 and 1.35.4 do not; 1.33.6 and 1.36.0 are older than it
            36 if patch >= 1 => Some(Health::Majority),
            33 if patch >= 13 => Some(Health::Majority),
            33 if patch > 6 => None,
            34 | 35 if patch > 4 => None,
            _ => Some(Health::Each),
        }
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

/// Whom kubeadm's look at etcd before a join must find well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Each started voter answers; what it says of alarms is not read.
    Each,
    /// More than half of the started voters answer and say nothing of errors. An alarm of one is said by all.
    Majority,
}

/// The rules by which one version of etcd takes members in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdPolicy {
    version: Version,
}

impl EtcdPolicy {
    /// The rules for `3.6.16`.
    ///
    /// # Errors
    /// When that is no version.
    pub fn of(version: &str) -> Result<Self, String> {
        let version = Version::parse(version.trim().trim_start_matches('v'))
            .map_err(|e| format!("{version:?} is no etcd version such as 3.6.16: {e}"))?;
        Ok(Self { version })
    }

    /// To how many of `voters`, itself included, the member that is asked must have held a connection for 5 s before it lets a
    /// member in, learners too. All, until etcd-io/etcd#21667 counted the new one as down and wants the quorum of one more: from
    /// 3.5.30, 3.6.11 and 3.7.0 on (`isConnectedToQuorumAfterAddingNewMemberSince`). A single voter is always enough.
    pub fn connected(&self, voters: usize) -> usize {
        let Version { major, minor, patch, .. } = self.version;
        let counts_quorum = match (major, minor) {
            (3, 5) => patch >= 30,
            (3, 6) => patch >= 11,
            (3, ..=4) | (..=2, _) => false,
            (3.., _) => true,
        };
        if counts_quorum && voters > 1 { voters.div_ceil(2) + 1 } else { voters }
    }

    /// Does a member list need a quorum? Since 3.5; before, each member tells its own.
    pub fn lists_by_quorum(&self) -> bool {
        self.version.major > 3 || self.version.minor >= 5
    }

    /// Can the number of learners be set (`--max-learners`, since 3.6)? One before.
    pub fn limits_learners_by_flag(&self) -> bool {
        self.version.major > 3 || self.version.minor >= 6
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
        for (version, wanted, api) in [
            ("v1.36.3", "v1beta3", Some("kubeadm.k8s.io/v1beta3")),
            ("v1.36.3", "v1beta4", Some("kubeadm.k8s.io/v1beta4")),
            ("v1.37.2", "v1beta3", None),
            ("v1.30.0", "v1beta4", None),
            ("v1.36.3", "v1", None),
        ] {
            let policy = Policy::of(version).and_then(|p| p.with_config_api(wanted));
            assert_eq!(policy.ok().map(|p| p.config_api()), api, "{version} {wanted}");
        }
    }

    #[test]
    fn health_is_asked_of_each_voter_or_of_more_than_half_by_version() {
        let (each, majority) = (Some(Health::Each), Some(Health::Majority));
        for (version, want) in [
            ("v1.32.9", each),
            ("v1.33.6", each),
            ("v1.33.9", None),
            ("v1.33.13", majority),
            ("v1.34.4", each),
            ("v1.34.5", None),
            ("v1.35.4", each),
            ("v1.35.6", None),
            ("v1.36.0", each),
            ("v1.36.1", majority),
            ("v1.36.3", majority),
            ("v1.37.2", majority),
            ("v1.38.0-alpha.1.12+0123456789abcd", majority),
        ] {
            assert_eq!(Policy::of(version).map(|p| p.health()), Ok(want), "{version}");
        }
    }

    #[test]
    fn connections_are_wanted_to_all_voters_or_to_the_quorum_of_one_more() {
        // columns: 1 to 5 and 7 voters
        for (version, want) in [
            ("3.4.23", [1, 2, 3, 4, 5, 7]),
            ("3.5.29", [1, 2, 3, 4, 5, 7]),
            ("3.5.30", [1, 2, 3, 3, 4, 5]),
            ("3.6.10", [1, 2, 3, 4, 5, 7]),
            ("3.6.11", [1, 2, 3, 3, 4, 5]),
            ("3.7.0", [1, 2, 3, 3, 4, 5]),
        ] {
            let policy = EtcdPolicy::of(version).expect("a version");
            assert_eq!([1, 2, 3, 4, 5, 7].map(|voters| policy.connected(voters)), want, "{version}");
        }
        assert!(EtcdPolicy::of("3.6.0").is_ok_and(|p| p.limits_learners_by_flag()));
        assert!(EtcdPolicy::of("3.5.31").is_ok_and(|p| !p.limits_learners_by_flag()));
        assert!(EtcdPolicy::of("").is_err());
    }

    #[test]
    fn stages_need_a_phase_of_etcds_own() {
        let stages = |version| Policy::of(version).expect("a version").stages();
        assert!(stages("v1.32.9").is_err_and(|why| why.contains("1.32.9 has no phase etcd-join")));
        assert!(stages("v1.33.0").is_ok() && stages("v1.37.2").is_ok());
    }
}
