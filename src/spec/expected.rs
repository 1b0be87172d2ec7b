//! What a step demands of use, time, leaders, joins, order and logs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::known::Residue;
use super::selector::Pick;
use super::unit::{Comparable, Compare, Percent, Size, Span, as_text};
use super::version::When;

/// The time that something is looked at over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// This task's step, and its expectations' waiting.
    #[default]
    Step,
    /// All since `init` began.
    Run,
}

/// Whose amount is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// Each node's by itself.
    #[default]
    Each,
    /// All nodes' together.
    Sum,
    /// That of the node whose member leads etcd in the end.
    Leader,
}

/// Bounds on an amount, over which time, and of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[serde(bound(deserialize = "T: FromStr<Err = String>"))]
pub struct Amount<T> {
    /// Just this.
    pub equals: Option<Limit<T>>,
    /// At least.
    pub min: Option<Limit<T>>,
    /// At most.
    pub max: Option<Limit<T>>,
    /// Bounds are percentages of another amount.
    pub ratio_to: Option<RatioTo>,
    /// The time that it is looked at over; `step` when not said.
    #[serde(default)]
    pub over: Over,
    /// Whose it is; `each` when not said.
    #[serde(default)]
    pub of: Of,
}

impl<T: Comparable> Amount<T> {
    /// The bounds that are amounts.
    pub fn bounds(&self) -> Compare<T> {
        let amount = |limit: Option<Limit<T>>| match limit {
            Some(Limit::Is(amount)) => Some(amount),
            Some(Limit::Times(_)) | None => None,
        };
        Compare { equals: amount(self.equals), min: amount(self.min), max: amount(self.max) }
    }

    /// The bounds that are percentages.
    pub fn ratios(&self) -> Compare<Percent> {
        let percent = |limit: Option<Limit<T>>| match limit {
            Some(Limit::Times(percent)) => Some(percent),
            Some(Limit::Is(_)) | None => None,
        };
        Compare { equals: percent(self.equals), min: percent(self.min), max: percent(self.max) }
    }
}

/// What percentages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatioTo {
    /// The last value before the step began.
    Before,
}

/// A bound: an amount, or with `ratioTo` a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit<T> {
    /// This.
    Is(T),
    /// So many parts of a hundred.
    Times(Percent),
}

impl<T: Serialize> Serialize for Limit<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(amount) => amount.serialize(to),
            Self::Times(percent) => percent.serialize(to),
        }
    }
}

impl<'de, T: FromStr<Err = String>> Deserialize<'de> for Limit<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let read = if text.trim_end().ends_with('%') { text.parse().map(Self::Times) } else { text.parse().map(Self::Is) };
        read.map_err(de::Error::custom)
    }
}

impl<T: JsonSchema> JsonSchema for Limit<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Limit_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (amount, percent) = (generator.subschema_for::<T>(), generator.subschema_for::<Percent>());
        json_schema!({"description": "An amount; with ratioTo a percentage", "anyOf": [amount, percent]})
    }
}

/// What components of nodes may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Resources {
    /// All that runs in the node.
    pub node: Option<Amounts>,
    /// etcd.
    pub etcd: Option<Amounts>,
    /// The API server.
    pub kube_apiserver: Option<Amounts>,
    /// The kubelet.
    pub kubelet: Option<Amounts>,
    /// Only with these versions.
    pub when: Option<When>,
}

impl Resources {
    /// The components that something is demanded of, by name.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &Amounts)> {
        let all = [("node", &self.node), ("etcd", &self.etcd), ("kube-apiserver", &self.kube_apiserver), ("kubelet", &self.kubelet)];
        all.into_iter().filter_map(|(name, amounts)| Some((name, amounts.as_ref()?)))
    }
}

/// What one component may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Amounts {
    /// The most resident anonymous memory.
    pub rss: Option<Amount<Size>>,
    /// The most memory less idle page cache.
    pub working_set: Option<Amount<Size>>,
    /// The most memory that it was ever charged with, page cache included.
    pub peak: Option<Amount<Size>>,
    /// CPU time.
    pub cpu_seconds: Option<Amount<Span>>,
    /// etcd: bytes sent to and received from peers.
    pub peer_bytes: Option<Amount<Size>>,
    /// etcd: the largest size of the store.
    pub db_size: Option<Amount<Size>>,
    /// etcd: below which time 99 % of the fsyncs of its log since its start were.
    #[serde(rename = "fsyncP99")]
    pub fsync_p99: Option<Amount<Span>>,
}

/// A stretch of a node's way into the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpanName {
    /// kubeadm's preflight checks.
    Preflight,
    /// Finding the cluster and trusting it.
    Discovery,
    /// Certificates, kubeconfigs, manifests, a look at etcd's health.
    Prepare,
    /// Waiting for the learner slot.
    SlotWait,
    /// From the member's announcement to its start.
    EtcdStart,
    /// From its vote until it serves.
    EtcdPublish,
    /// From its start to its vote.
    Promotion,
    /// The API server starts anew while the kubelet waits for it.
    ApiServerRestarts,
    /// Until the kubelet has its certificate and its Node object.
    KubeletCertificate,
    /// From then to the Node object's Ready.
    ReadinessFloor,
    /// What has no name.
    Rest,
}

/// How long things took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Time {
    /// The step.
    pub step: Option<Compare<Span>>,
    /// Each node that joined in it, from kubeadm's start to its Node object's Ready.
    pub node: Option<Compare<Span>>,
    /// Parts of that, by name, for each node.
    #[serde(default)]
    pub span: BTreeMap<SpanName, Compare<Span>>,
    /// Only with these versions.
    pub when: Option<When>,
}

/// etcd's leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leader {
    /// How often another one, or the same one in another term, began to lead.
    pub changes: Compare<usize>,
    /// The time that it is looked at over; `step` when not said.
    #[serde(default)]
    pub over: Over,
    /// Only with these versions.
    pub when: Option<When>,
}

/// How the joins of a step end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joins {
    /// All succeed.
    Ok(AllOk),
    /// As the oracle predicts.
    Oracle,
    /// These fail, and all others succeed.
    These(Vec<(Pick, JoinEnd)>),
}

/// The word `ok`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllOk {
    /// All succeed.
    Ok,
}

/// How one join ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JoinEnd {
    /// kubeadm fails, and its own error holds this text; `it was killed` when a fault did that.
    pub fails: String,
    /// What it has left in etcd.
    pub residue: Option<Residue>,
}

impl Serialize for Joins {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ok(ok) => ok.serialize(to),
            Self::Oracle => to.serialize_str("oracle"),
            Self::These(these) => to.collect_map(these.iter().map(|(pick, end)| (pick.to_string(), end))),
        }
    }
}

impl<'de> Deserialize<'de> for Joins {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Word {
            Ok,
            Oracle,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Joins;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("ok, oracle, or a map from nodes to how they fail")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Joins, E> {
                let word = Word::deserialize(de::value::StrDeserializer::<E>::new(text))?;
                Ok(match word {
                    Word::Ok => Joins::Ok(AllOk::Ok),
                    Word::Oracle => Joins::Oracle,
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Joins, A::Error> {
                let mut these = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    these.push(entry);
                }
                Ok(Joins::These(these))
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for Joins {
    fn schema_name() -> Cow<'static, str> {
        "Joins".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let end = generator.subschema_for::<JoinEnd>();
        json_schema!({
            "description": "ok, as the oracle predicts, or which nodes fail and how; all others succeed",
            "anyOf": [
                {"type": "string", "enum": ["ok", "oracle"]},
                {"type": "object", "minProperties": 1, "additionalProperties": end},
            ],
        })
    }
}

/// A moment of a node, by the word that a person writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentName {
    /// kubeadm began.
    KubeadmStarted,
    /// Its member is in a list.
    Announced,
    /// Its member has a name.
    Started,
    /// Each voter holds a connection to it.
    PeerActive,
    /// Its member has come to 90 % of the leader's log.
    CaughtUp,
    /// Its member has a vote.
    Promoted,
    /// It no longer holds the next one up.
    GatePassed,
    /// Its member is gone.
    Removed,
    /// Its kubelet has its certificate.
    KubeletCertificate,
    /// There is a Node object.
    Registered,
    /// kubeadm ended.
    KubeadmFinished,
    /// The Node object is Ready.
    Ready,
}

impl MomentName {
    /// All, each with its word.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::KubeadmStarted, "kubeadm-started"),
        (Self::Announced, "announced"),
        (Self::Started, "started"),
        (Self::PeerActive, "peer-active"),
        (Self::CaughtUp, "caught-up"),
        (Self::Promoted, "promoted"),
        (Self::GatePassed, "gate-passed"),
        (Self::Removed, "removed"),
        (Self::KubeletCertificate, "kubelet-certificate"),
        (Self::Registered, "registered"),
        (Self::KubeadmFinished, "kubeadm-finished"),
        (Self::Ready, "ready"),
    ];
}

/// `cp2 promoted`: a moment of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The node.
    pub node: Pick,
    /// The moment.
    pub moment: MomentName,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = MomentName::ALL.iter().find(|(moment, _)| *moment == self.moment).map_or("", |(_, word)| word);
        write!(f, "{} {word}", self.node)
    }
}

impl FromStr for Point {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (node, word) = text.trim().split_once(' ').ok_or_else(|| format!("{text:?} is no moment: write it as in `cp2 promoted`"))?;
        let words = || MomentName::ALL.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ");
        let moment = MomentName::ALL.iter().find(|(_, known)| *known == word.trim());
        let (moment, _) = moment.ok_or_else(|| format!("{word:?} is no moment of a node: there are {}", words()))?;
        Ok(Self { node: node.parse()?, moment: *moment })
    }
}

as_text!(
    Point,
    r"^\S+ (kubeadm-started|announced|started|peer-active|caught-up|promoted|gate-passed|removed|kubelet-certificate|registered|kubeadm-finished|ready)$",
    "A moment of one node: `cp2 promoted`"
);

/// Texts that logs hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Logs {
    /// etcd's.
    pub etcd: Option<Texts>,
    /// The API server's.
    pub kube_apiserver: Option<Texts>,
    /// The kubelet's journal.
    pub kubelet: Option<Texts>,
    /// What kubeadm wrote.
    pub kubeadm: Option<Texts>,
    /// Only with these versions.
    pub when: Option<When>,
}

impl Logs {
    /// The components that something is demanded of, by name.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &Texts)> {
        let all = [("etcd", &self.etcd), ("kube-apiserver", &self.kube_apiserver), ("kubelet", &self.kubelet), ("kubeadm", &self.kubeadm)];
        all.into_iter().filter_map(|(name, texts)| Some((name, texts.as_ref()?)))
    }
}

/// What a component's logs of all nodes together hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Texts {
    /// Each of these in some line of some node.
    #[serde(default)]
    pub some: Vec<String>,
    /// None of these in any line of any node.
    #[serde(default)]
    pub none: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_node_and_a_word() {
        let point: Point = "cp2 promoted".parse().expect("a moment");
        assert_eq!((point.node.clone(), point.moment), (Pick::ControlPlane(2), MomentName::Promoted));
        assert_eq!(point.to_string(), "cp2 promoted");
        for (text, why) in
            [("cp2", "as in `cp2 promoted`"), ("cp2 elected", "there are kubeadm-started"), ("x promoted", "selects no node")]
        {
            let said = text.parse::<Point>().expect_err(text);
            assert!(said.contains(why), "{said}");
        }
    }
}
