//! Values of options that have a form of their own.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use crate::spec::{NodeVersion, Selector};

/// `2/6`: the second of six parts of all cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    part: usize,
    of: usize,
}

impl Partition {
    /// What falls to this part, dealt out in turns, so that neighbours go to different parts.
    pub(super) fn of_all<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().enumerate().filter(|(at, _)| at % self.of == self.part - 1).map(|(_, one)| one).collect()
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of => Ok(Self { part, of }),
            _ => Err("write it as PART/PARTS, as in 2/6".into()),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

/// How many rounds: 1 to ten thousand, each of which is planned before the first.
pub(super) fn rounds(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse().ok().filter(|n: &NonZeroU32| n.get() <= 10_000);
    number.ok_or_else(|| "write a number of rounds, from 1 to 10000".into())
}

/// What is drawn at random is drawn from this.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("write the seed that a run has printed, a whole number from 0 to {}", u64::MAX))
}

/// A path that may be empty, which clap's own may not.
#[expect(clippy::unnecessary_wraps, reason = "as clap wants it")]
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    Ok(text.into())
}

/// `NAME=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".into()),
    }
}

/// `workers=v1.35.4`.
pub(super) fn node_version(text: &str) -> Result<NodeVersion, String> {
    let (word, kubernetes) = pair(text).map_err(|_| "write it as NODES=VERSION, as in workers=v1.35.4")?;
    let pick = word.parse().map_err(|why: String| why.replace("\nhelp: ", ": "))?;
    Ok(NodeVersion { nodes: Selector(vec![pick]), kubernetes })
}
