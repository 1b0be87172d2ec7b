//! Values with units, and bounds on values. A number alone is refused where a unit is due: `20` could be anything.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::sys::clock::human;

/// A length of time with its unit: `500ms`, `20s`, `5m`, `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&human(self.0))
    }
}

impl FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write it with its unit, as in 500ms, 20s, 5m or 1h30m";
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(format!("the duration {text:?} has no unit\nhelp: {example}"));
        }
        let span: jiff::SignedDuration = text.parse().map_err(|_| format!("{text:?} is no duration\nhelp: {example}"))?;
        Duration::try_from(span).map(Self).map_err(|_| format!("the duration {text:?} is negative\nhelp: {example}"))
    }
}

/// A number of bytes with its unit: `512B`, `300MiB`, `2GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Units of sizes, the larger ones first.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = UNITS.into_iter().find(|(unit, factor)| unit.contains('i') && self.0 >= *factor).unwrap_or(("B", 1));
        if self.0.is_multiple_of(factor) {
            return write!(f, "{}{unit}", self.0 / factor);
        }
        // one digit after the point, without floating-point numbers
        let tenths = u128::from(self.0) * 10 / u128::from(factor);
        write!(f, "{}.{}{unit}", tenths / 10, tenths % 10)
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write it with its unit, as in 512B, 300MiB or 2GB";
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(format!("the size {text:?} has no unit\nhelp: {example}"));
        }
        let unit = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit));
        let read = unit.and_then(|(unit, factor)| Some((text.trim_end_matches(unit).trim().parse::<u64>().ok()?, factor)));
        let (number, factor) = read.ok_or_else(|| format!("{text:?} is no size\nhelp: {example}"))?;
        number.checked_mul(factor).map(Self).ok_or_else(|| format!("the size {text:?} is more than any machine has"))
    }
}

/// Text both ways, with a pattern in the schema.
macro_rules! as_text {
    ($type:ty, $pattern:literal, $about:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern, "description": $about})
            }
        }
    };
}
pub(super) use as_text;

as_text!(Span, r"^\s*([0-9.]+\s*[a-zµ]+\s*)+$", "A length of time with its unit: 500ms, 20s, 5m, 1h30m");
as_text!(Size, r"^[0-9]+\s*([KMGT]i|[kMGT])?B$", "A number of bytes with its unit: 512B, 300MiB, 2GB");

/// Parts of a hundred: `150%` is half as much again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl FromStr for Percent {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        number.map(Self).ok_or_else(|| format!("{text:?} is no percentage\nhelp: write it as in 150%"))
    }
}

as_text!(Percent, r"^\s*[0-9]+\s*%$", "Parts of a hundred: 150%");

impl Comparable for Percent {
    const WANTED: &str = "a percentage such as 150%";
}

/// What can be compared.
pub trait Comparable: FromStr + PartialOrd + Copy {
    /// What is wanted where a text is none, in words.
    const WANTED: &str;
}

impl Comparable for usize {
    const WANTED: &str = "a whole number";
}

impl Comparable for Span {
    const WANTED: &str = "a duration such as 20s";
}

impl Comparable for Size {
    const WANTED: &str = "a size such as 300MiB";
}

/// What a value must be: `3` for just that, or any of `equals`, `min` and `max`, all included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compare<T> {
    /// Just this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<T>,
    /// At least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<T>,
    /// At most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<T>,
}

impl<T> Compare<T> {
    /// Just this value.
    pub fn just(value: T) -> Self {
        Self { equals: Some(value), min: None, max: None }
    }
}

impl<T: Comparable> Compare<T> {
    /// Is `value` as demanded?
    pub fn holds(&self, value: T) -> bool {
        self.equals.is_none_or(|equals| value == equals)
            && self.min.is_none_or(|min| value >= min)
            && self.max.is_none_or(|max| value <= max)
    }

    /// Why no value could meet it, or why it demands nothing.
    pub fn wrong(&self) -> Option<&'static str> {
        match (self.equals, self.min, self.max) {
            (None, None, None) => Some("it demands nothing: say equals, min or max"),
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => Some("equals says all: leave min and max out"),
            (None, Some(min), Some(max)) if min > max => Some("min is larger than max"),
            _ => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Compare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.equals, &self.min, &self.max) {
            (Some(equals), ..) => write!(f, "{equals}"),
            (None, Some(min), Some(max)) => write!(f, "{min} to {max}"),
            (None, Some(min), None) => write!(f, "at least {min}"),
            (None, None, Some(max)) => write!(f, "at most {max}"),
            (None, None, None) => f.write_str("anything"),
        }
    }
}

impl<'de, T: Comparable + Deserialize<'de>> Deserialize<'de> for Compare<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);
        impl<'de, T: Comparable + Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Compare<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, or a map of equals, min and max")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let wanted = || E::custom(format!("this is {text:?}, wanted is {}", T::WANTED));
                let equals = text.parse().map_err(|_| wanted())?;
                Ok(Compare { equals: Some(equals), min: None, max: None })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut compare = Compare { equals: None, min: None, max: None };
                while let Some(key) = map.next_key::<Bound>()? {
                    match key {
                        Bound::Equals => compare.equals = Some(map.next_value()?),
                        Bound::Min => compare.min = Some(map.next_value()?),
                        Bound::Max => compare.max = Some(map.next_value()?),
                    }
                }
                Ok(compare)
            }
        }
        from.deserialize_any(Either(std::marker::PhantomData))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Bound {
    Equals,
    Min,
    Max,
}

impl<T: JsonSchema> JsonSchema for Compare<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Compare_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "description": "A value, or any of equals, min and max, all included",
            "anyOf": [
                value,
                {"type": "object", "additionalProperties": false, "minProperties": 1,
                 "properties": {"equals": value, "min": value, "max": value}},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_demanded() {
        for (text, ms) in [("500ms", 500), ("20s", 20_000), ("5m", 300_000), ("1h30m", 5_400_000), ("1m30s", 90_000)] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(ms))), "{text}");
        }
        for text in ["20", "1.5", "", "soon", "-5s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_and_shown_with_their_unit() {
        for (text, bytes, shown) in [
            ("0B", 0, "0B"),
            ("512B", 512, "512B"),
            ("300MiB", 300 << 20, "300MiB"),
            ("2GB", 2_000_000_000, "1.8GiB"),
            ("1 KiB", 1024, "1KiB"),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
            assert_eq!(Size(bytes).to_string(), shown);
        }
        for text in ["300", "", "MiB", "-1B", "3 bytes", "99999999999TiB", "1.5GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn bounds_are_included_and_nonsense_is_named() {
        let of = |equals, min, max| Compare::<usize> { equals, min, max };
        assert!(of(None, Some(1), Some(3)).holds(1) && of(None, Some(1), Some(3)).holds(3) && !of(None, Some(1), Some(3)).holds(4));
        assert!(of(Some(2), None, None).holds(2) && !of(Some(2), None, None).holds(3));
        assert!(of(None, None, None).wrong().is_some());
        assert!(of(Some(1), Some(1), None).wrong().is_some() && of(None, Some(4), Some(3)).wrong().is_some());
        assert!(of(None, Some(3), Some(3)).wrong().is_none());
    }
}
