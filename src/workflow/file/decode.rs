//! The tree as a serde source: the types say what they want, the error knows the place.

use std::fmt;

use serde::de::{self, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor, value::StrDeserializer};
use serde::forward_to_deserialize_any;

use super::place::Place;
use super::problem::{Problem, suggestion};
use super::tree::{Entry, Node, Style, Text, Value};

/// Steps that are planned and that this version does not have, so that nobody looks for a misspelling.
const LATER_STEPS: [&str; 10] = ["fault", "heal", "replace", "upgrade", "downgrade", "snapshot", "restore", "certs", "member", "repair"];

/// Keys that stand one level too high where their own key is not indented, with where they belong.
const BELOW: [(&str, &str); 22] = [
    ("nodes", "join, exec, wait, restart or reset"),
    ("order", "join or scale"),
    ("inFlight", "join"),
    ("jitter", "join"),
    ("command", "exec"),
    ("script", "exec"),
    ("output", "exec"),
    ("exitCode", "exec"),
    ("from", "copy"),
    ("to", "copy"),
    ("time", "wait"),
    ("until", "wait"),
    ("within", "wait"),
    ("tasks", "group"),
    ("keepGoing", "group"),
    ("controlPlanes", "cluster, or scale in a task"),
    ("workers", "cluster, or scale in a task"),
    ("members", "expect"),
    ("promotion", "expect"),
    ("voters", "members"),
    ("learners", "members"),
    ("ready", "nodes in expect"),
];

/// What an error of a type says behind its words, so that it is shown as help: `no unit\nhelp: write it as in 20s`.
const HELP: &str = "\nhelp: ";

/// Why a value does not fit.
#[derive(Debug)]
pub(super) struct Misfit {
    /// Where; unset until the error passes the node that it is about.
    place: Option<Place>,
    /// The value to leave out so that the rest can be read: by the id of its node.
    pub(super) leave_out: Option<usize>,
    /// A key that is not there.
    pub(super) missing: Option<&'static str>,
    /// Told already, by whom the value came from.
    told: bool,
    what: String,
    help: Option<String>,
}

impl Misfit {
    fn new(what: String) -> Self {
        Self { place: None, leave_out: None, missing: None, told: false, what, help: None }
    }

    /// The first node that it passes is the one that it is about.
    fn about(mut self, node: &Node, place: Place) -> Self {
        if self.place.is_none() {
            (self.place, self.leave_out) = (Some(place), Some(node.id));
        }
        self
    }

    /// What is to be told of it.
    pub(super) fn problem(self) -> Option<Problem> {
        (!self.told).then_some(Problem { place: self.place, what: self.what, help: self.help })
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(what: T) -> Self {
        let text = what.to_string();
        match text.split_once(HELP) {
            Some((what, help)) => Self { help: Some(help.to_owned()), ..Self::new(what.to_owned()) },
            None => Self::new(text),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "serde's list, of which the tree has these four")]
    fn invalid_type(seen: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        let seen = match seen {
            Unexpected::Map => "a map".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Str(text) => format!("{text:?}"),
            Unexpected::Unit => "nothing".to_owned(),
            _ => "something else".to_owned(),
        };
        Self::new(format!("this is {seen}, wanted is {}", plain_words(&wanted.to_string())))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let mut misfit = Self::new(format!("unknown key `{field}`"));
        let later = known.contains(&"cmd") && LATER_STEPS.contains(&field);
        misfit.help = Some(match suggestion(field, known.iter().copied()) {
            _ if later => "it is planned, this version does not have it yet".into(),
            _ if field == "<<" => "merge keys are not understood: write the keys out, or let an alias stand for a whole value".into(),
            _ if field.contains("{{") => "a key cannot be a template, only a value can".into(),
            Some(meant) => format!("is `{meant}` meant?"),
            None => match BELOW.iter().find(|(key, _)| *key == field) {
                Some((_, above)) => format!("`{field}` is a key of {above}: indent it below that"),
                None => format!("keys here are: {}", known.join(", ")),
            },
        });
        misfit
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        let mut misfit = Self::new(format!("{variant:?} is none of the words that can stand here"));
        let all = format!("it can be: {}", known.join(", "));
        misfit.help = Some(match suggestion(variant, known.iter().copied()) {
            Some(meant) => format!("is {meant:?} meant? {all}"),
            None => all,
        });
        misfit
    }

    fn missing_field(field: &'static str) -> Self {
        let mut misfit = Self::new(format!("the key `{field}` is missing"));
        misfit.missing = Some(field);
        misfit
    }
}

/// serde's words for somebody who does not know Rust.
fn plain_words(wanted: &str) -> String {
    if wanted.starts_with("struct ") {
        return "a map".into();
    }
    match wanted {
        "a sequence" => "a list".into(),
        "a string" => "a text".into(),
        other => other.to_owned(),
    }
}

/// Reads from a node.
pub(super) struct De<'a>(pub(super) &'a Node);

impl<'a> De<'a> {
    /// The scalar, or why there is none.
    fn scalar(&self, wanted: &dyn Expected) -> Result<&'a Text, Misfit> {
        let wrong = match &self.0.value {
            Value::Scalar(text) if text.is_null() => {
                Misfit::new(format!("the value is missing, wanted is {}", plain_words(&wanted.to_string())))
            }
            Value::Scalar(text) if text.style == Style::Broken => Misfit { told: true, ..Misfit::new(String::new()) },
            Value::Scalar(text) => return Ok(text),
            Value::List(_) => de::Error::invalid_type(Unexpected::Seq, wanted),
            Value::Map(_) => de::Error::invalid_type(Unexpected::Map, wanted),
        };
        Err(wrong)
    }

    /// A whole number in the range of its type.
    fn number(&self, wanted: &'static str, most: u64) -> Result<u64, Misfit> {
        let text = self.scalar(&wanted)?;
        if text.style == Style::Quoted {
            let mut misfit = Misfit::new(format!("this is the text {:?}, wanted is {wanted}", text.text));
            misfit.help = Some("leave the quotes out".into());
            return Err(misfit);
        }
        let read = if text.text.bytes().all(|b| b.is_ascii_digit()) { text.text.parse().ok().filter(|n| *n <= most) } else { None };
        read.ok_or_else(|| Misfit::new(format!("this is {:?}, wanted is {wanted}", text.text)))
    }

    fn near(&self, result: Result<u64, Misfit>) -> Result<u64, Misfit> {
        result.map_err(|misfit| misfit.about(self.0, self.0.place))
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty, $wanted:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            let number = self.near(self.number($wanted, u64::from(<$type>::MAX)))?;
            let place = self.0.place;
            visitor.$visit(<$type>::try_from(number).unwrap_or(<$type>::MAX)).map_err(|misfit: Misfit| misfit.about(self.0, place))
        }
    )*};
}

impl<'de> de::Deserializer<'de> for De<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let node = self.0;
        let read = match &node.value {
            Value::Scalar(_) => self.scalar(&visitor).and_then(|text| visitor.visit_str(&text.text)),
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Map(entries) => visitor.visit_map(Entries { entries: entries.iter(), next: None }),
        };
        read.map_err(|misfit| misfit.about(node, node.place))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let read = self.scalar(&"true or false").and_then(|text| match (text.style != Style::Quoted, text.text.as_str()) {
            (true, "true" | "True" | "TRUE") => Ok(true),
            (true, "false" | "False" | "FALSE") => Ok(false),
            (plain, word) => {
                let mut misfit = Misfit::new(format!("this is {word:?}, wanted is true or false"));
                misfit.help = (!plain).then(|| "leave the quotes out".into());
                Err(misfit)
            }
        });
        let value = read.map_err(|misfit| misfit.about(self.0, self.0.place))?;
        visitor.visit_bool(value)
    }

    numbers! {
        deserialize_u8 visit_u8 u8, "a whole number from 0 to 255";
        deserialize_u16 visit_u16 u16, "a whole number from 0 to 65535";
        deserialize_u32 visit_u32 u32, "a whole number from 0 to 4294967295";
        deserialize_u64 visit_u64 u64, "a whole number from 0 to 18446744073709551615";
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let read = self.scalar(&"a whole number").and_then(|text| {
            let number = if text.style == Style::Quoted { None } else { text.text.parse().ok() };
            number.ok_or_else(|| Misfit::new(format!("this is {:?}, wanted is a whole number", text.text)))
        });
        let number = read.map_err(|misfit| misfit.about(self.0, self.0.place))?;
        visitor.visit_i32(number)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let read = self.scalar(&visitor).and_then(|text| visitor.visit_str(&text.text));
        read.map_err(|misfit| misfit.about(self.0, self.0.place))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    /// A key that is there has a value: what stands for none is an error of the type that is wanted.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Misfit> {
        let node = self.0;
        let wanted = if fields.is_empty() { "a map".to_owned() } else { format!("a map of {}", fields.join(", ")) };
        let read = match &node.value {
            // `init:` is `init: {}`
            Value::Scalar(text) if text.is_null() => visitor.visit_map(Entries { entries: [].iter(), next: None }),
            Value::Scalar(_) => {
                self.scalar(&visitor).and_then(|text| Err(de::Error::invalid_type(Unexpected::Str(&text.text), &wanted.as_str())))
            }
            Value::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &wanted.as_str())),
            Value::Map(entries) => visitor.visit_map(Entries { entries: entries.iter(), next: None }),
        };
        read.map_err(|misfit| misfit.about(node, node.place))
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Misfit> {
        let read = self.scalar(&"a word").and_then(|text| visitor.visit_enum(StrDeserializer::<Misfit>::new(&text.text)));
        read.map_err(|misfit| misfit.about(self.0, self.0.place))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let node = self.0;
        let read = match &node.value {
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Map(_) => Err(de::Error::invalid_type(Unexpected::Map, &visitor)),
            Value::Scalar(_) => self.scalar(&visitor).and_then(|text| Err(de::Error::invalid_type(Unexpected::Str(&text.text), &visitor))),
        };
        read.map_err(|misfit| misfit.about(node, node.place))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    // usize is read as u64; no type of a workflow asks for the others
    forward_to_deserialize_any! {
        i8 i16 i64 i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Items<'a>(std::slice::Iter<'a, Node>);

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        self.0.next().map(|node| seed.deserialize(De(node)).map_err(|misfit| misfit.about(node, node.place))).transpose()
    }
}

struct Entries<'a> {
    entries: std::slice::Iter<'a, Entry>,
    next: Option<&'a Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        self.next = self.entries.next();
        let read = self.next.map(|entry| {
            let key: StrDeserializer<'_, Misfit> = entry.key.as_str().into_deserializer();
            seed.deserialize(key).map_err(|misfit| misfit.about(&entry.node, entry.at))
        });
        read.transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        match self.next.take() {
            // a value that is read and then refused, as a duration without its unit, has not met its own place yet
            Some(entry) => seed.deserialize(De(&entry.node)).map_err(|misfit| misfit.about(&entry.node, entry.node.place)),
            None => Err(de::Error::custom("a value without a key")),
        }
    }
}
