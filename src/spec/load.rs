//! The load of joinder's own clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::Size;

/// Calls a second of a writer where the file does not say.
const RATE: u32 = 10;
/// Bytes of a value where the file does not say.
const VALUE: Size = Size(64);

/// What joinder's own clients do from the end of `init` on: one writer and one reader of etcd on each voter, and a pair through
/// the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Load {
    /// Calls a second of each writer, 1 to 1000; 10 when not said. Readers, and the pair through the API server, make a fifth.
    pub rate: Option<u32>,
    /// Bytes of a value; 64B when not said.
    pub value_size: Option<Size>,
    /// Data that is put into the store before anything joins, 10MiB to 1GiB; none when not said.
    pub preload: Option<Size>,
    /// No calls at all.
    #[serde(default)]
    pub off: bool,
}

impl Load {
    /// Calls a second of each writer.
    pub fn writes(&self) -> u32 {
        self.rate.unwrap_or(RATE)
    }

    /// Calls a second of each other client.
    pub fn reads(&self) -> u32 {
        (self.writes() / 5).max(1)
    }

    /// Bytes of a value.
    pub fn value(&self) -> Size {
        self.value_size.unwrap_or(VALUE)
    }
}
