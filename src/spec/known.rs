//! What is known to fail, with which versions, and in just which way.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::Demand;

/// Failing in just this way with these versions is `known`; any other failure is a failure; so is passing, unless `strict: false`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownBad {
    /// kubeadm's versions: a demand for each minor, `"1.34": ">=1.34.4"`.
    #[serde(default)]
    pub kubeadm: BTreeMap<String, Demand>,
    /// etcd's versions: a demand for each minor, `"3.5": "<=3.5.19"`.
    #[serde(default)]
    pub etcd: BTreeMap<String, Demand>,
    /// Where it is reported: `kubernetes/kubeadm#3317`.
    pub issue: String,
    /// How it fails.
    pub fails: Failing,
    /// Passing is a failure too.
    #[serde(default = "yes")]
    pub strict: bool,
}

fn yes() -> bool {
    true
}

/// How something known fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failing {
    /// The name of the task.
    pub step: String,
    /// A text that its reason holds.
    pub error: Option<String>,
    /// What a failed join has left in etcd.
    pub residue: Option<Residue>,
}

/// What a failed join has left in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Residue {
    /// Nothing.
    None,
    /// A learner that never started.
    UnnamedLearner,
    /// A learner that has started.
    NamedLearner,
    /// A voter, though kubeadm failed.
    Voter,
}

impl Residue {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::UnnamedLearner => "unnamed-learner",
            Self::NamedLearner => "named-learner",
            Self::Voter => "voter",
        }
    }
}

impl KnownBad {
    /// Is it about these versions? Each of `kubeadm` and `etcd` that is said must hold the version under its minor.
    pub fn is_about(&self, kubeadm: Option<&str>, etcd: Option<&str>) -> bool {
        let holds = |table: &BTreeMap<String, Demand>, version: Option<&str>| {
            table.is_empty()
                || version.is_some_and(|version| {
                    let minor: Vec<&str> = version.trim_start_matches('v').splitn(3, '.').take(2).collect();
                    table.get(&minor.join(".")).is_some_and(|demand| demand.met_by(version) == Ok(true))
                })
        };
        holds(&self.kubeadm, kubeadm) && holds(&self.etcd, etcd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_looked_up_under_its_minor() {
        let demand = |text: &str| text.parse::<Demand>().expect("a demand");
        let known = KnownBad {
            kubeadm: [("1.34".to_owned(), demand(">=1.34.4")), ("1.35".to_owned(), demand("<=1.35.4"))].into(),
            etcd: BTreeMap::new(),
            issue: "kubernetes/kubeadm#3317".into(),
            fails: Failing { step: "join".into(), error: None, residue: None },
            strict: true,
        };
        for (version, about) in [("v1.34.4", true), ("v1.34.0", false), ("v1.35.4", true), ("v1.35.5", false), ("v1.36.3", false)] {
            assert_eq!(known.is_about(Some(version), None), about, "{version}");
        }
        assert!(!known.is_about(None, None));
    }
}
