//! What in a piece is read otherwise in version 2, and what is to stand there.

use super::super::file::{Node, Plain, Style, Text, Value, plain, yaml11_text};
use super::super::v1;
use super::emit::{quote_braces, quoted};
use super::pieces::Piece;
use crate::spec::Span;

/// A stretch of the file and what takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    start: usize,
    end: usize,
    text: String,
}

/// What a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text in which templates are written out, in both versions.
    Expanded,
    /// A text that version 1 takes as it is, and version 2 expands.
    Literal,
    Boolean,
    Limit,
    Version,
}

/// A piece's lines with its changes, indented as if its key stood at the beginning of a line.
pub(super) fn text_of(file: &str, piece: &Piece<'_>, key: &str, kind: Kind) -> String {
    let mut changes = Vec::new();
    let entry = piece.entry;
    let written = &file[entry.at.start..entry.at.end];
    if written.trim_matches(['"', '\'']) != key || key_differs(written, key) {
        changes.push(Change { start: entry.at.start, end: entry.at.end, text: quoted(key) });
    }
    // blank lines at its end are a value's own in no other way
    if piece.flow || matches!(&entry.node.value, Value::Scalar(text) if text.text.ends_with("\n\n")) {
        return format!("{key}: {}\n", whole(&entry.node, kind), key = quoted(key));
    }
    of_value(file, &entry.node, kind, entry.at.end, &mut changes);
    let column = piece.start - super::pieces::line_start(file, piece.start);
    dedented(&apply(file, piece.start, piece.end, changes), column)
}

/// Would a key without quotes be another one in YAML 1.2? Only as far as it is one in 1.1.
fn key_differs(written: &str, key: &str) -> bool {
    !written.starts_with(['"', '\'']) && written != key
}

fn of_value(file: &str, node: &Node, kind: Kind, behind: usize, changes: &mut Vec<Change>) {
    match &node.value {
        Value::List(items) => {
            for item in items {
                of_value(file, item, kind, item.place.start, changes);
            }
        }
        Value::Map(_) => {}
        Value::Scalar(text) => of_scalar(file, node, text, kind, behind, changes),
    }
}

fn of_scalar(file: &str, node: &Node, text: &Text, kind: Kind, behind: usize, changes: &mut Vec<Change>) {
    let place = node.place;
    let source = &file[place.start..place.end];
    if source.starts_with('*') {
        return;
    }
    let is_plain = text.style == Style::Plain;
    if is_plain && plain(&text.text) == Plain::Null && (text.text.is_empty() || !source.starts_with(&text.text)) {
        // nothing is written: behind the key's colon, or where the item would be
        let colon = file[behind..].find(':').filter(|at| file[behind..behind + at].trim().is_empty());
        let from = colon.map_or(behind, |at| behind + at + 1);
        changes.push(Change { start: from, end: from, text: format!(" {}", scalar(text, kind)) });
        return;
    }
    let new = scalar(text, kind);
    if is_plain && source.trim_end() == text.text {
        if !same(text, kind) {
            changes.push(Change { start: place.start, end: place.start + text.text.len(), text: new });
        }
    } else if let Some(start) = file[..place.start].trim_end().strip_suffix("!!str").map(str::len) {
        changes.push(Change { start, end: place.end, text: quoted(&text.text) });
    } else if kind == Kind::Limit && !same(text, kind) {
        changes.push(Change { start: place.start, end: place.end, text: new });
    } else if kind == Kind::Literal {
        braces(file, place.start, text, changes);
    }
}

/// Templates in a text that was none.
fn braces(file: &str, start: usize, text: &Text, changes: &mut Vec<Change>) {
    let mut from = start;
    for _ in text.text.matches("{{") {
        let Some(at) = file[from..].find("{{") else { return };
        changes.push(Change { start: from + at, end: from + at + 2, text: quote_braces("{{") });
        from += at + 2;
    }
}

/// Is it the same in version 2 as it stands?
fn same(text: &Text, kind: Kind) -> bool {
    let is_plain = text.style == Style::Plain;
    match kind {
        Kind::Expanded => !is_plain || (yaml11_text(&text.text) == text.text && plain(&text.text) != Plain::Null),
        Kind::Literal => !text.text.contains("{{") && same(text, Kind::Expanded),
        Kind::Boolean => matches!(text.text.as_str(), "true" | "True" | "TRUE" | "false" | "False" | "FALSE"),
        Kind::Limit => {
            let limit = v1::limit(text).ok();
            limit.is_some() && text.text.parse::<Span>().ok().map(|span| span.0) == limit
        }
        Kind::Version => false,
    }
}

/// A scalar as version 2 has it.
fn scalar(text: &Text, kind: Kind) -> String {
    let is_plain = text.style == Style::Plain;
    let value = if is_plain { yaml11_text(&text.text) } else { text.text.clone() };
    match kind {
        Kind::Expanded => quoted(&value),
        Kind::Literal => quoted(&quote_braces(&value)),
        Kind::Boolean => (is_plain && plain(&text.text) == Plain::Bool(true)).to_string(),
        Kind::Limit => v1::limit(text).map_or_else(|_| "5m".to_owned(), |limit| length(limit.as_nanos())),
        Kind::Version => "2".into(),
    }
}

/// A length of time in the largest unit that keeps it whole.
fn length(nanoseconds: u128) -> String {
    let units = [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let (unit, factor) = units.into_iter().find(|(_, factor)| nanoseconds.is_multiple_of(*factor)).unwrap_or(("ns", 1));
    format!("{}{unit}", nanoseconds / factor)
}

/// A value on one line, from the tree alone.
fn whole(node: &Node, kind: Kind) -> String {
    match &node.value {
        Value::Scalar(text) if same(text, kind) && text.style == Style::Plain => text.text.clone(),
        Value::Scalar(text) => scalar(text, kind),
        Value::List(items) => format!("[{}]", items.iter().map(|item| in_brackets(item, kind)).collect::<Vec<_>>().join(", ")),
        Value::Map(_) => "{}".into(),
    }
}

fn in_brackets(node: &Node, kind: Kind) -> String {
    match &node.value {
        Value::Scalar(text) => super::emit::flow(&if text.style == Style::Plain { yaml11_text(&text.text) } else { text.text.clone() }),
        Value::List(_) | Value::Map(_) => whole(node, kind),
    }
}

fn apply(file: &str, start: usize, end: usize, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|change| change.start);
    let mut text = String::new();
    let mut at = start;
    for change in changes {
        if change.start < at || change.end > end {
            continue;
        }
        text += &file[at..change.start];
        text += &change.text;
        at = change.end;
    }
    text + &file[at..end]
}

/// Lines moved to the left by `column`, the first one stands there already; one newline at the end.
fn dedented(text: &str, column: usize) -> String {
    let line = |line: &str| {
        let cut = line.len().min(column).min(line.len() - line.trim_start_matches(' ').len());
        line[cut..].trim_end_matches('\r').to_owned()
    };
    let mut lines = text.trim_end().split('\n');
    let first = lines.next().unwrap_or_default().trim_end_matches('\r').to_owned();
    std::iter::once(first).chain(lines.map(line)).collect::<Vec<_>>().join("\n") + "\n"
}
