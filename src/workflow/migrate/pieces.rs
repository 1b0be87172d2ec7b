//! A file in pieces: each key with its own lines and the comments above it, so that they can be put together anew.

use super::super::file::{Entry, Node, Value};

/// What of a file's own text stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Its lines and comments.
    Kept,
    /// Nothing: all is written anew from the tree. For what does not stand where it counts, as behind an alias or in braces.
    Anew,
}

/// One key of a map with all its lines, as they stand.
pub(super) struct Piece<'n> {
    pub(super) entry: &'n Entry,
    /// Comment lines above it, without their indentation.
    pub(super) lead: Vec<String>,
    /// From its first byte; where it ends.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Does its map stand in braces? Then its lines are not its own.
    pub(super) flow: bool,
}

impl Piece<'_> {
    /// The comment beside its key, where its value begins on another line.
    pub(super) fn beside(&self, text: &str) -> Vec<String> {
        let line = text[self.entry.at.end..self.end.max(self.entry.at.end)].lines().next().unwrap_or_default();
        let comment = line.trim_start_matches([':', ' ', '\t']);
        if self.flow || !comment.starts_with('#') { Vec::new() } else { vec![comment.trim_end().to_owned()] }
    }
}

/// One item of a list.
pub(super) struct Item<'n> {
    pub(super) node: &'n Node,
    pub(super) lead: Vec<String>,
    pub(super) pieces: Vec<Piece<'n>>,
}

/// Where the line begins that a byte is in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The keys of a map between two bytes.
pub(super) fn of_map<'n>(text: &str, node: &'n Node, from: usize, end: usize, layout: Layout) -> Vec<Piece<'n>> {
    let Value::Map(entries) = &node.value else { return Vec::new() };
    if layout == Layout::Anew {
        let piece = |entry: &'n Entry| Piece { entry, lead: Vec::new(), start: entry.at.start, end: entry.at.start, flow: true };
        return entries.iter().map(piece).collect();
    }
    let flow = text[node.place.start..].starts_with('{');
    // Copies of what an alias names or a merge brought in stand elsewhere.
    let mut own: Vec<&Entry> = entries.iter().filter(|entry| entry.at.start < end).collect();
    own.sort_by_key(|entry| entry.at.start);
    let mut pieces: Vec<Piece<'n>> = Vec::new();
    let mut lead = if flow { Vec::new() } else { comments(text, from, first(node)) };
    for (at, entry) in own.iter().enumerate() {
        let column = entry.at.start - line_start(text, entry.at.start);
        let next = own.get(at + 1).map(|next| line_start(text, next.at.start).max(entry.at.start));
        let mut piece = Piece { entry, lead: std::mem::take(&mut lead), start: entry.at.start, end: next.unwrap_or(end), flow };
        if next.is_some() && !flow {
            (piece.end, lead) = without_comments(text, piece.start, piece.end, column);
        }
        pieces.push(piece);
    }
    pieces
}

/// The items of a list between two bytes, each a map, and what comments stand behind the last one.
pub(super) fn of_list<'n>(text: &str, node: &'n Node, from: usize, end: usize, layout: Layout) -> (Vec<Item<'n>>, Vec<String>) {
    let Value::List(nodes) = &node.value else { return (Vec::new(), Vec::new()) };
    if layout == Layout::Anew {
        let item = |node: &'n Node| Item { node, lead: Vec::new(), pieces: of_map(text, node, 0, 0, layout) };
        return (nodes.iter().map(item).collect(), Vec::new());
    }
    let flow = text[node.place.start..].starts_with('[');
    let starts: Vec<usize> = nodes.iter().map(|node| text[..first(node)].rfind('-').unwrap_or(first(node))).collect();
    let mut lead = match nodes.first() {
        Some(node) if !flow => comments(text, from, first(node)),
        Some(_) | None => Vec::new(),
    };
    let mut items = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let column = starts[at] - line_start(text, starts[at]);
        let end = starts.get(at + 1).map_or(end, |next| line_start(text, *next));
        let (kept, comments) = if flow { (end, Vec::new()) } else { without_comments(text, first(node), end, column) };
        if !flow {
            lead.extend(behind_dash(text, starts[at], first(node), at > 0));
        }
        let pieces = of_map(text, node, first(node), kept, layout);
        items.push(Item { node, lead: std::mem::replace(&mut lead, comments), pieces });
    }
    (items, lead)
}

/// Comments between the dash of an item and its first key; those on lines of their own only where nobody else has them.
fn behind_dash(text: &str, dash: usize, first: usize, own_lines: bool) -> Vec<String> {
    let lines = text.get(dash + 1..first).unwrap_or_default().lines().enumerate();
    let here = lines.filter(|(at, _)| *at == 0 || own_lines).map(|(_, line)| line.trim());
    here.filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

/// Comment lines from one byte to the line of another.
fn comments(text: &str, from: usize, to: usize) -> Vec<String> {
    let lines = text[from.min(line_start(text, to))..line_start(text, to)].lines().map(str::trim);
    lines.filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

/// The first byte of a value: of a map, of its first key.
fn first(node: &Node) -> usize {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| entry.at.start).min().unwrap_or(node.place.start),
        Value::Scalar(_) | Value::List(_) => node.place.start,
    }
}

/// Where a stretch ends without the comments at its end that stand at `column` or further left, and those.
fn without_comments(text: &str, start: usize, end: usize, column: usize) -> (usize, Vec<String>) {
    let mut kept = end;
    let mut comments = Vec::new();
    while kept > start {
        let line = line_start(text, kept - 1);
        let whole = &text[line..kept];
        let indent = whole.len() - whole.trim_start().len();
        let comment = whole.trim_start().starts_with('#') && indent <= column;
        if line <= start || !(comment || whole.trim().is_empty()) {
            break;
        }
        if comment {
            comments.insert(0, whole.trim().to_owned());
        }
        kept = line;
    }
    (kept, comments)
}

/// Comment lines above the first key.
pub(super) fn head(text: &str, root: &Node) -> Vec<String> {
    comments(text, 0, first(root))
}
