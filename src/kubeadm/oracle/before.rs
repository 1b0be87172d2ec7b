//! What a prediction is made from.

use std::fmt;
use std::time::Duration;

/// What joins meet, and how they are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The version of the kubeadm that joins, `v1.36.3`.
    pub kubeadm: String,
    /// The version of the voters that answer, `3.6.16`.
    pub etcd: String,
    /// Voters in the member list.
    pub voters: usize,
    /// Voters that do not answer, the joiner's own entry included.
    pub down: usize,
    /// Learners of others, whom nobody will promote.
    pub stale: usize,
    /// How many learners etcd takes (`--max-learners`).
    pub limit: usize,
    /// What the list has of the one that joins.
    pub own: Own,
    /// Does a member raise the alarm NOSPACE?
    pub no_space: bool,
    /// How many control planes join.
    pub joiners: usize,
    /// All at once, or one after the other?
    pub at_once: bool,
    /// kubeadm's own limits.
    pub limits: Limits,
}

/// What the member list has of a node that joins with an empty data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Nothing.
    Nothing,
    /// A learner that never started.
    Unstarted,
    /// A member that had started, and whose data is gone.
    Wiped {
        /// Has it no vote?
        learner: bool,
        /// Has it followed the leader that leads now? That one then takes it to have what it once had. `None` when nobody knows.
        followed: Option<bool>,
        /// Had it 90 % of what the leader has now? `None` when nobody knows, or it is too close.
        in_sync: Option<bool>,
    },
}

/// kubeadm's own limits of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long one question to etcd is repeated.
    pub etcd_api_call: Duration,
    /// How long the kubelet's certificate is waited for.
    pub tls_bootstrap: Duration,
    /// How long the cluster is looked for.
    pub discovery: Duration,
}

impl Default for Limits {
    /// kubeadm's (`app/constants/constants.go`).
    fn default() -> Self {
        Self { etcd_api_call: Duration::from_mins(2), tls_bootstrap: Duration::from_mins(5), discovery: Duration::from_mins(5) }
    }
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} voter{}", self.voters, if self.voters == 1 { "" } else { "s" })?;
        if self.down > 0 {
            write!(f, ", {} down", self.down)?;
        }
        if self.stale > 0 {
            write!(f, ", {} stale learner, limit {}", self.stale, self.limit)?;
        }
        match self.own {
            Own::Nothing => {}
            Own::Unstarted => write!(f, ", an unnamed learner of the joiner's own")?,
            Own::Wiped { learner, followed, in_sync } => {
                let word = |known: Option<bool>, yes: &'static str, no: &'static str| known.map_or("", |is| if is { yes } else { no });
                write!(
                    f,
                    ", a {} of the joiner's own whose data is gone{}{}",
                    if learner { "named learner" } else { "voter" },
                    word(followed, ", known to the leader", ", of an earlier leader's term"),
                    word(in_sync.filter(|_| learner), ", in sync", ", behind"),
                )?;
            }
        }
        if self.no_space {
            write!(f, ", alarm NOSPACE")?;
        }
        if self.joiners > 1 {
            write!(f, ", {} join {}", self.joiners, if self.at_once { "at once" } else { "in turn" })?;
        }
        Ok(())
    }
}
