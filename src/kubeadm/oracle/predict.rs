//! From what joins meet to what they come to.

use std::fmt;
use std::time::Duration;

use super::super::policy::{EtcdPolicy, Health, Policy};
use super::before::{Before, Own};
use super::rules::{Rule, rule};
use crate::spec::Residue;
use crate::sys::clock::human;

/// What a join may take beside kubeadm's own waits, on a busy machine.
const ORDINARY: Duration = Duration::from_secs(150);
/// The longest that a learner held the slot, etcd's 5 s behind it included: 25.4 s for three, 12.4 s for one
/// (docs/findings/parallel-joins.md).
const SLOT_MOST: Duration = Duration::from_secs(15);
/// The shortest without etcd's 5 s: a member that starts at once.
const SLOT_LEAST: Duration = Duration::from_secs(1);
/// How long a connection must have been held before etcd takes the next member (`HealthInterval`).
const GATE: Duration = Duration::from_secs(5);
/// kubeadm's tries behind a promotion, and the time between them (`app/phases/etcd/local.go`).
const TRIES: u32 = 8;
const BETWEEN: Duration = Duration::from_secs(5);

/// What joins come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// How many join.
    pub of: usize,
    /// How many of them succeed at least and at most.
    pub succeed: (usize, usize),
    /// How long those take.
    pub took: Bounds,
    /// What becomes of the others, where there may be some.
    pub fails: Option<Failure>,
    /// By which rules.
    pub rules: Vec<&'static Rule>,
}

/// How joins fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// kubeadm's error holds one of these.
    pub texts: Vec<&'static str>,
    /// What is left in etcd; `None` where no quorum is left to tell.
    pub residue: Option<Residue>,
    /// How long they take.
    pub took: Bounds,
}

/// How long one `kubeadm join` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At least, by kubeadm's own waits.
    pub least: Duration,
    /// At most, on a busy machine.
    pub most: Duration,
}

impl Bounds {
    fn from(least: Duration) -> Self {
        Self { least, most: least + ORDINARY }
    }
}

/// What one join comes to.
enum End {
    Joins { least: Duration, slack: Duration },
    Fails { text: &'static str, residue: Option<Residue>, least: Duration },
}

/// What joins will come to.
///
/// # Errors
/// Why nothing is predicted: versions that nobody has looked into, or something that nobody knows.
pub fn predict(before: &Before) -> Result<Prediction, String> {
    let rules = Rules::of(before)?;
    if before.joiners == 0 {
        return Err("no control plane joins".into());
    }
    if before.joiners > 1 && before.own != Own::Nothing {
        return Err("several join, and one has a member already".into());
    }
    let mut now = before.clone();
    let mut used = Vec::new();
    let (mut succeed, mut took, mut fails) = (0, None::<Bounds>, None);
    for _ in 0..before.joiners {
        match rules.one(&now, &mut used)? {
            End::Joins { least, slack } => {
                let bounds = Bounds { least, most: least + ORDINARY + slack };
                took = Some(took.map_or(bounds, |took| Bounds { least: took.least.min(least), most: took.most.max(bounds.most) }));
                succeed += 1;
                now.voters += 1;
            }
            End::Fails { text, residue, least } => {
                fails = Some(Failure { texts: vec![text], residue, took: Bounds::from(least) });
                break;
            }
        }
    }
    let mut prediction = Prediction {
        of: before.joiners,
        succeed: (succeed, succeed),
        took: took.unwrap_or(Bounds::from(Duration::ZERO)),
        fails,
        rules: Vec::new(),
    };
    if before.at_once && before.joiners > 1 && prediction.fails.is_none() {
        rules.queue(before, &mut prediction, &mut used);
    }
    used.dedup();
    prediction.rules = used.into_iter().filter_map(rule).collect();
    Ok(prediction)
}

/// The rules of the versions that run.
struct Rules {
    health: Health,
    etcd: EtcdPolicy,
}

impl Rules {
    fn of(before: &Before) -> Result<Self, String> {
        let policy = Policy::of(&before.kubeadm)?;
        if policy.stages().is_err() {
            return Err(format!("kubeadm {} waits for its kubelet before etcd: nothing is predicted before 1.33", before.kubeadm));
        }
        let unread = || format!("nobody has looked whether kubeadm {} has kubernetes/kubernetes#138403", before.kubeadm);
        let etcd = EtcdPolicy::of(&before.etcd)?;
        if !etcd.lists_by_quorum() {
            return Err(format!("nothing is predicted of etcd {}, whose member list needs no quorum", before.etcd));
        }
        Ok(Self { health: policy.health().ok_or_else(unread)?, etcd })
    }

    /// One join by itself.
    fn one(&self, before: &Before, used: &mut Vec<&'static str>) -> Result<End, String> {
        let Before { voters, down, own, limits, .. } = *before;
        let up = voters.saturating_sub(down);
        let left = residue(own);
        let call = limits.etcd_api_call;
        let waits = |n: usize| call * u32::try_from(n).unwrap_or(u32::MAX);
        if up * 2 <= voters {
            used.push("quorum");
            return Ok(End::Fails { text: "couldn't validate the identity of the API Server", residue: None, least: limits.discovery });
        }
        let unhealthy = "etcd cluster is not healthy";
        let spent = match self.health {
            Health::Each if down > 0 => {
                used.push("health-each");
                return Ok(End::Fails { text: unhealthy, residue: Some(left), least: call });
            }
            Health::Each => Duration::ZERO,
            Health::Majority if before.no_space => {
                used.extend(["health-majority", "alarm"]);
                return Ok(End::Fails { text: unhealthy, residue: Some(left), least: waits(down) });
            }
            Health::Majority => {
                if down > 0 {
                    used.extend(["health-majority", "health-waits"]);
                }
                waits(down)
            }
        };
        let bootstrap = "failed while waiting for TLS bootstrap";
        // its etcd ends again and again: who waits for each voter behind the promotion waits in vain, the others pass
        let dead = |used: &mut Vec<&'static str>| {
            used.push("stale-match");
            let residue = Some(Residue::Voter);
            Ok(if self.health == Health::Each {
                used.push("health-each");
                let text = "timeout waiting for etcd cluster to be available";
                End::Fails { text, residue, least: (call + BETWEEN) * (TRIES - 1) + call }
            } else {
                used.push("local-api-server");
                End::Fails { text: bootstrap, residue, least: spent + limits.tls_bootstrap }
            })
        };
        match own {
            Own::Nothing if up < self.etcd.connected(voters) => {
                used.push("connected");
                return Ok(End::Fails { text: "unhealthy cluster", residue: Some(Residue::None), least: spent + call });
            }
            Own::Nothing if before.stale >= before.limit => {
                used.push("learner-limit");
                return Ok(End::Fails { text: "too many learner members", residue: Some(Residue::None), least: spent + call });
            }
            Own::Nothing => {}
            Own::Unstarted | Own::Wiped { .. } => used.push("reuse"),
        }
        if let Own::Wiped { learner, followed, in_sync } = own {
            match (learner, followed, in_sync) {
                (_, None, _) => return Err("nobody saw whom the joiner's old member followed".into()),
                (_, Some(false), _) => {
                    used.push("new-leader");
                    return Ok(End::Joins { least: spent, slack: Duration::ZERO });
                }
                (false, Some(true), _) => return dead(used),
                (true, Some(true), None) => return Err("nobody knows how far behind the joiner's old learner is".into()),
                (true, Some(true), Some(false)) => {
                    used.extend(["stale-match", "dead-promotion"]);
                    let text = "in sync with leader";
                    return Ok(End::Fails { text, residue: Some(Residue::NamedLearner), least: spent + call });
                }
                (true, Some(true), Some(true)) if voters > 1 => {
                    used.push("dead-promotion");
                    return dead(used);
                }
                // the leader loses its quorum, steps down, and leads again as a new one, who takes the joiner to have nothing
                (true, Some(true), Some(true)) => {
                    used.extend(["stale-match", "dead-promotion", "new-leader"]);
                    return Ok(End::Joins { least: spent, slack: (call + BETWEEN) * TRIES });
                }
            }
        }
        if before.no_space {
            used.push("local-api-server");
            return Ok(End::Fails { text: bootstrap, residue: Some(Residue::Voter), least: limits.tls_bootstrap });
        }
        Ok(End::Joins { least: spent * 2, slack: Duration::ZERO })
    }

    /// Who of those that join at once gets the slot in time.
    fn queue(&self, before: &Before, prediction: &mut Prediction, used: &mut Vec<&'static str>) {
        let call = before.limits.etcd_api_call;
        // the last try may begin just before the limit, and lasts up to 2 s
        let last = call + Duration::from_secs(2);
        let (mut fastest, mut slowest) = (Duration::ZERO, Duration::ZERO);
        let (mut least, mut most) = (1, 1);
        for behind in 1..before.joiners {
            let voters = before.voters + behind;
            fastest += if self.etcd.connected(voters) == voters { GATE } else { SLOT_LEAST };
            slowest += SLOT_MOST;
            most += usize::from(fastest <= last);
            least += usize::from(slowest <= call);
        }
        prediction.succeed = (least, most);
        prediction.took.most += call;
        if least < before.joiners {
            used.push("slot");
            let texts = vec!["too many learner members", "unhealthy cluster"];
            prediction.fails = Some(Failure { texts, residue: Some(Residue::None), took: Bounds::from(call) });
        }
    }
}

/// What is left of a joiner's member where nothing is done to it.
fn residue(own: Own) -> Residue {
    match own {
        Own::Nothing => Residue::None,
        Own::Unstarted => Residue::UnnamedLearner,
        Own::Wiped { learner: true, .. } => Residue::NamedLearner,
        Own::Wiped { learner: false, .. } => Residue::Voter,
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least.is_zero() {
            return write!(f, "up to {}", human(self.most));
        }
        write!(f, "{} to {}", human(self.least), human(self.most))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.texts.iter().map(|text| format!("{text:?}")).collect();
        let left = self.residue.map_or("no quorum to tell what", Residue::as_str);
        write!(f, "{}, leaves {left}, in {}", texts.join(" or "), self.took)
    }
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.succeed;
        match (&self.fails, self.of) {
            (None, 1) => write!(f, "joins in {}", self.took),
            (None, of) => write!(f, "all {of} join, each in {}", self.took),
            (Some(failure), 1) => write!(f, "fails with {failure}"),
            (Some(failure), of) if most == 0 => write!(f, "all {of} fail with {failure}"),
            (Some(failure), of) => {
                let many = if least == most { least.to_string() } else { format!("{least} to {most}") };
                write!(f, "{many} of {of} join, each in {}; the others fail with {failure}", self.took)
            }
        }
    }
}
