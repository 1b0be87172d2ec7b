//! Values with units. A number alone is refused: `20` could be anything.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::sys::clock::human;

/// A length of time with its unit: `500ms`, `20s`, `5m`, `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&human(self.0))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        parse(&text).map(Self).map_err(de::Error::custom)
    }
}

fn parse(text: &str) -> Result<Duration, String> {
    let example = "write it with its unit, as in 500ms, 20s, 5m or 1h30m";
    if text.parse::<f64>().is_ok() {
        return Err(format!("the duration {text:?} has no unit: {example}"));
    }
    let span: jiff::SignedDuration = text.parse().map_err(|_| format!("{text:?} is no duration: {example}"))?;
    Duration::try_from(span).map_err(|_| format!("the duration {text:?} is negative"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_demanded() {
        for (text, ms) in [("500ms", 500), ("20s", 20_000), ("5m", 300_000), ("1h30m", 5_400_000), ("1m30s", 90_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["20", "1.5", "", "soon", "-5s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
