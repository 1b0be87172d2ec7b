//! Which nodes a step is about, by role, number, name, or what etcd says of them when the step begins.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

/// Nodes by what they are. A list is the union, each node once, in the order of their indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(pub Vec<Pick>);

/// One word of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Every node.
    All,
    /// The first control plane, or node of an etcd alone.
    First,
    /// All control planes.
    ControlPlanes,
    /// All control planes, or nodes of an etcd alone, but the first.
    Secondaries,
    /// All workers.
    Workers,
    /// The control plane by its number, from 1.
    ControlPlane(u8),
    /// The worker by its number, from 1.
    Worker(u8),
    /// The node of an etcd alone by its number, from 1.
    Etcd(u8),
    /// The control plane whose member leads etcd when the step begins.
    Leader,
    /// The control planes whose members are voters and do not lead when the step begins.
    Followers,
    /// The control planes whose members are learners when the step begins.
    Learner,
    /// The node of this container name.
    Name(String),
}

impl Pick {
    /// The words with which a selector may be written, for errors and suggestions.
    pub const WORDS: [&'static str; 8] = ["all", "first", "secondaries", "control-planes", "workers", "leader", "followers", "learner"];

    /// Is it known only when the step begins?
    pub fn depends_on_etcd(&self) -> bool {
        matches!(self, Self::Leader | Self::Followers | Self::Learner)
    }
}

impl FromStr for Pick {
    type Err = String;

    /// Also kinder's forms: `@all`, `@cp*`, `@cp1`, `@cpN` (all but the first), `@w*`, `@w1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |prefix: &str| text.strip_prefix(prefix).and_then(|n| n.parse::<u8>().ok()).filter(|n| *n > 0);
        Ok(match text {
            "all" | "@all" => Self::All,
            "first" => Self::First,
            "secondaries" | "@cpN" | "@cpn" => Self::Secondaries,
            "control-planes" | "@cp*" => Self::ControlPlanes,
            "workers" | "@w*" => Self::Workers,
            "leader" => Self::Leader,
            "followers" => Self::Followers,
            "learner" => Self::Learner,
            _ => {
                if let Some(n) = number("cp").or_else(|| number("@cp")) {
                    Self::ControlPlane(n)
                } else if let Some(n) = number("worker").or_else(|| number("@w")) {
                    Self::Worker(n)
                } else if let Some(n) = number("etcd") {
                    Self::Etcd(n)
                } else if ["-control-plane-", "-worker-", "-etcd-"].iter().any(|part| text.contains(part)) {
                    Self::Name(text.to_owned())
                } else {
                    return Err(format!(
                        "{text:?} selects no node\nhelp: use {}, cp2, worker1, etcd2, kinder's @all, @cp*, @cpN, @cp1, @w*, @w1, a node's whole name, or a list of them",
                        Self::WORDS.join(", ")
                    ));
                }
            }
        })
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::First => f.write_str("first"),
            Self::ControlPlanes => f.write_str("control-planes"),
            Self::Secondaries => f.write_str("secondaries"),
            Self::Workers => f.write_str("workers"),
            Self::ControlPlane(n) => write!(f, "cp{n}"),
            Self::Worker(n) => write!(f, "worker{n}"),
            Self::Etcd(n) => write!(f, "etcd{n}"),
            Self::Leader => f.write_str("leader"),
            Self::Followers => f.write_str("followers"),
            Self::Learner => f.write_str("learner"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl Selector {
    /// Every node.
    pub fn all() -> Self {
        Self(vec![Pick::All])
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.len()))?;
        for pick in &self.0 {
            list.serialize_element(&pick.to_string())?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Pick {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Selector;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a selector such as secondaries or cp2, or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Selector, E> {
                Pick::deserialize(de::value::StrDeserializer::<E>::new(text)).map(|pick| Selector(vec![pick]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Selector, A::Error> {
                let mut picks = Vec::new();
                while let Some(pick) = list.next_element()? {
                    picks.push(pick);
                }
                Ok(Selector(picks))
            }
        }
        from.deserialize_any(OneOrMany)
    }
}

impl JsonSchema for Selector {
    fn schema_name() -> Cow<'static, str> {
        "Selector".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pick = json_schema!({"anyOf": [
            {"type": "string", "enum": Pick::WORDS},
            {"type": "string", "pattern": "^(@?cp[1-9][0-9]*|worker[1-9][0-9]*|etcd[1-9][0-9]*|@w[1-9][0-9]*|@all|@cp\\*|@cp[Nn]|@w\\*|.*-(control-plane|worker|etcd)-[0-9]+)$"},
        ]});
        json_schema!({
            "description": "Which nodes: all, first, secondaries, control-planes, workers, leader, followers, learner, cp2, worker1, etcd2, kinder's @cp*, a node's name; or a list of them",
            "anyOf": [pick, {"type": "array", "items": pick, "minItems": 1}],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_names_and_kinders_forms() {
        for (text, pick) in [
            ("all", Pick::All),
            ("@all", Pick::All),
            ("@cp*", Pick::ControlPlanes),
            ("@cpN", Pick::Secondaries),
            ("@cp1", Pick::ControlPlane(1)),
            ("cp12", Pick::ControlPlane(12)),
            ("worker2", Pick::Worker(2)),
            ("etcd3", Pick::Etcd(3)),
            ("x-etcd-2", Pick::Name("x-etcd-2".into())),
            ("@w2", Pick::Worker(2)),
            ("x-control-plane-2", Pick::Name("x-control-plane-2".into())),
        ] {
            assert_eq!(text.parse(), Ok(pick), "{text}");
        }
        for text in ["", "cp0", "cp", "everyone", "@lb", "cp-1", "etcd", "etcd0"] {
            assert!(text.parse::<Pick>().is_err(), "{text}");
        }
    }
}
