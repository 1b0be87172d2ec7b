//! A workflow file, `version: 2`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::cluster::ClusterSpec;
use super::expect::Expectations;
use super::fault::Fault;
use super::invariant::Invariants;
use super::known::KnownBad;
use super::load::Load;
use super::step::{Advise, Copy, Exec, Export, Group, Init, Join, MemberStep, Nothing, Repair, Reset, Restart, Scale, Wait};
use super::unit::Span;
use super::version::When;

/// A workflow of joinder: what cluster is made, what is done to it, and what is expected.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workflow {
    /// The language's version: 2.
    pub version: u32,
    /// One line on what it shows.
    #[serde(default)]
    pub summary: String,
    /// Values for `{{ .vars.NAME }}`. `--var` and the matrix win over them, they win over those of imported files.
    #[serde(default)]
    pub vars: Named<Scalar>,
    /// Environment of `cmd` tasks, beside joinder's own; `{{ .env.NAME }}` reads it.
    #[serde(default)]
    pub env: Named<Scalar>,
    /// Each combination of its values is one case; `{{ .vars.NAME }}` reads the choice.
    #[serde(default)]
    pub matrix: Named<Vec<Scalar>>,
    /// The cluster.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// The load of joinder's own clients; on when not said.
    #[serde(default)]
    pub load: Load,
    /// Versions that are known to fail, and how.
    #[serde(default)]
    pub known_bad: Vec<KnownBad>,
    /// What must hold at every sample; all of it when not said.
    #[serde(default)]
    pub invariants: Invariants,
    /// What is done, in order.
    pub tasks: Vec<Task>,
}

/// One task: a name, exactly one step, and what is expected after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Task {
    /// Its name. Logs and JUnit call it `task-NN-NAME`.
    #[serde(default)]
    pub name: String,
    /// More words on it, for readers.
    pub description: Option<String>,
    /// The tasks of this file, relative to the one that names it, in this one's place.
    pub import: Option<String>,
    /// Its limit; 10m when not said.
    pub timeout: Option<Span>,
    /// Run it even after a failure or a stop.
    #[serde(default)]
    pub force: bool,
    /// Its failure does not make the run fail.
    #[serde(default)]
    pub ignore_error: bool,
    /// Run it only with these versions.
    pub when: Option<When>,
    /// What is broken on purpose while the step runs.
    #[serde(default)]
    pub faults: Vec<Fault>,

    /// Step: a process on this machine: a program's name or path.
    pub cmd: Option<String>,
    /// With `cmd`: its arguments.
    pub args: Option<Vec<String>>,
    /// With `cmd`: its folder; the one that joinder was started in when not said.
    pub dir: Option<String>,
    /// Step: make the nodes.
    pub create: Option<Nothing>,
    /// Step: `kubeadm init` on the first control plane, or the founding members of an etcd alone; makes the nodes if no step did.
    pub init: Option<Init>,
    /// Step: `kubeadm join`.
    pub join: Option<Join>,
    /// Step: a command in nodes.
    pub exec: Option<Exec>,
    /// Step: a file or folder into nodes, or out of one.
    pub copy: Option<Copy>,
    /// Step: wait for a time or a state.
    pub wait: Option<Wait>,
    /// Step: tasks side by side.
    pub group: Option<Group>,
    /// Step: the nodes' logs into the artifacts.
    pub export: Option<Export>,
    /// Step: restart nodes or something in them.
    pub restart: Option<Restart>,
    /// Step: `kubeadm reset`.
    pub reset: Option<Reset>,
    /// Step: take away what failed joins have left.
    pub repair: Option<Repair>,
    /// Step: grow or shrink the cluster to a number of nodes.
    pub scale: Option<Scale>,
    /// Step: ask whether the next control plane may join now.
    pub advise: Option<Advise>,
    /// Step: a change to an etcd alone.
    pub member: Option<MemberStep>,
    /// Step: something is broken from here on, until a task with `heal` names it, or everything is removed.
    pub fault: Option<Fault>,
    /// Step: ends the fault of this id, and judges it.
    pub heal: Option<String>,
    /// Step: remove everything.
    pub delete: Option<Nothing>,
    /// What is expected after the step; a step of its own when there is no other.
    pub expect: Option<Expectations>,
}

/// A text, number or boolean, kept as it is written: `1.30` stays `1.30`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Scalar(pub String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, or true or false")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
        }
        from.deserialize_any(Any)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

/// A map in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Named(all))
            }
        }
        from.deserialize_map(InOrder(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({"type": "object", "additionalProperties": value})
    }
}
