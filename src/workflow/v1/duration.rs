//! Go's lengths of time: `1h30m`, `1.5s`, `-2us`.

/// Units with their nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
];

/// Nanoseconds.
///
/// # Errors
/// Why it is none, in words.
pub fn parse(text: &str) -> Result<i64, String> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let none = || format!("{text:?} is no duration");
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(none());
    }
    let (mut rest, mut sum) = (unsigned, 0_u64);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        if !number.bytes().any(|b| b.is_ascii_digit()) || number.matches('.').count() > 1 {
            return Err(none());
        }
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        if unit.is_empty() {
            return Err(format!("the duration {text:?} has no unit"));
        }
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("{text:?} is no duration: there is no unit {unit:?}"));
        };
        sum = part(number, *factor).and_then(|part| sum.checked_add(part)).ok_or_else(none)?;
        rest = behind;
    }
    let sum = i64::try_from(sum).map_err(|_| none())?;
    Ok(if text.starts_with('-') { -sum } else { sum })
}

/// `1.5` of a unit; digits that are below a nanosecond do not count.
fn part(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut sum = u128::from(whole) * u128::from(factor);
    let mut scale = u128::from(factor);
    for digit in fraction.bytes().take(18) {
        // exact as long as it matters: a nanosecond of an hour has thirteen digits
        sum += u128::from(digit - b'0') * scale / 10;
        scale = scale.div_ceil(10).max(1);
        if scale == 1 {
            break;
        }
    }
    u64::try_from(sum).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_what_go_reads() {
        for (text, nanoseconds) in [
            ("5m", 300_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("100ms", 100_000_000),
            ("2us", 2_000),
            ("2µs", 2_000),
            ("7ns", 7),
            ("0", 0),
            ("-0", 0),
            ("+5s", 5_000_000_000),
            ("-5s", -5_000_000_000),
            ("1m1m", 120_000_000_000),
        ] {
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
        for (text, says) in [
            ("", "is no duration"),
            ("5", "has no unit"),
            ("300", "has no unit"),
            ("5 m", "there is no unit"),
            ("5d", "there is no unit \"d\""),
            ("m", "is no duration"),
            (".s", "is no duration"),
            ("1.2.3s", "is no duration"),
            ("9999999999h", "is no duration"),
            ("five", "is no duration"),
            ("--5s", "is no duration"),
        ] {
            assert!(parse(text).expect_err(text).contains(says), "{text}: {:?}", parse(text));
        }
    }
}
