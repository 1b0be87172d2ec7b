//! What a scalar without quotes is in YAML 1.1, as kinder's Go library reads it, and which text a field for texts makes of it.

use std::num::IntErrorKind;

/// A scalar without quotes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::workflow) enum Plain {
    Null,
    Bool(bool),
    /// All that fits into 64 bits, with or without a sign.
    Int(i128),
    Float(f64),
    Text,
}

/// The type of a scalar without quotes.
pub(in crate::workflow) fn plain(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Plain::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Plain::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Plain::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Plain::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Plain::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-') => number(&text.replace('_', "")),
        // behind a point `_` stands between digits only
        Some(b'.') if divides_digits(text) => float(&text.replace('_', "")).map_or(Plain::Text, Plain::Float),
        Some(_) | None => Plain::Text,
    }
}

fn divides_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).filter(|at| bytes[*at] == b'_').all(|at| digit(at.checked_sub(1)) && digit(Some(at + 1)))
}

fn number(text: &str) -> Plain {
    match integer(text) {
        Some(n) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&n) && !(text.starts_with('+') && n > i128::from(i64::MAX)) => {
            Plain::Int(n)
        }
        Some(_) | None => float(text).map_or(Plain::Text, Plain::Float),
    }
}

/// An integer with the prefixes of Go: `0x`, `0o`, `0b`, and `0` for octal numbers.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', rest @ ..] if !rest.is_empty() => (16, &lower[2..]),
        [b'0', b'o', rest @ ..] if !rest.is_empty() => (8, &lower[2..]),
        [b'0', b'b', rest @ ..] if !rest.is_empty() => (2, &lower[2..]),
        [b'0', rest @ ..] if !rest.is_empty() => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    if !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    match i128::from_str_radix(digits, radix) {
        Ok(n) => Some(if negative { -n } else { n }),
        // far beyond 64 bits: a float where it looks like one
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => None,
        Err(_) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`; what is too large for a float is a text.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.find(['e', 'E']).map_or((unsigned, None), |at| (&unsigned[..at], Some(&unsigned[at + 1..])));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let whole = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    let scaled = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    let value: f64 = if whole && scaled { text.parse().ok()? } else { return None };
    value.is_finite().then_some(value)
}

/// What a field for texts holds: numbers are written anew, as Go writes them.
pub(in crate::workflow) fn text(text: &str) -> String {
    match plain(text) {
        Plain::Null => String::new(),
        Plain::Bool(value) => value.to_string(),
        Plain::Int(value) => value.to_string(),
        Plain::Float(value) => go_float(value),
        Plain::Text => text.to_owned(),
    }
}

/// What a key is; `None` where it is what no key can be: null, or a number of 64 bits.
pub(in crate::workflow) fn key(written: &str) -> Option<String> {
    match plain(written) {
        // beyond 63 bits the library knows no keys
        Plain::Int(value) if value > i128::from(i64::MAX) => None,
        Plain::Null => None,
        Plain::Float(value) if value.is_nan() => Some(".nan".into()),
        #[expect(clippy::cast_possible_truncation, reason = "as the library does")]
        Plain::Float(value) if (value as f32).is_infinite() => Some(if value > 0.0 { ".inf" } else { "-.inf" }.into()),
        Plain::Float(_) | Plain::Bool(_) | Plain::Int(_) | Plain::Text => Some(text(written)),
    }
}

/// Go's shortest form of a float of 32 bits: with an exponent below 1e-4 and from 1e6 on.
#[expect(clippy::cast_possible_truncation, reason = "as the library does")]
fn go_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() || (value as f32).is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    shortest(&format!("{:e}", value as f32))
}

/// `1.2345e-5`, all digits that are needed and the exponent, as Go writes it.
fn shortest(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return scientific.parse::<f64>().map_or_else(|_| scientific.to_owned(), |value| value.to_string());
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is a scalar as it is written, what a var of that value holds, and what a var of that name is called; made with the
    /// library that kinder reads YAML with.
    const TABLE: &str = include_str!("../../../tests/data/kinder/scalars.tsv");

    #[test]
    fn scalars_are_what_kinders_library_makes_of_them() {
        let mut lines = 0;
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let [written, value, name] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line:?}") };
            assert_eq!(text(written), value, "value {written:?}");
            assert_eq!(key(written).as_deref(), (name != "(refused)").then_some(name), "key {written:?}");
            lines += 1;
        }
        assert!(lines > 100, "{lines}");
    }
}
