//! YAML as a tree in which everything has its place. 1.2 and 1.1 differ in what scalars without quotes are; here only in keys.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::place::Place;
use super::problem::Problem;
use super::yaml11;

/// Nodes of one file with all its aliases written out. A workflow has some hundred.
const MOST_NODES: usize = 100_000;
/// Lists and maps in each other. A workflow needs a dozen.
const MOST_DEPTH: usize = 64;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workflow) enum Dialect {
    /// Version 2: one document, keys as they are written.
    Yaml12,
    /// kinder's: only the first document counts, a key without quotes is what it means (`yes` is `true`), `!!str` makes a text.
    Yaml11,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Node {
    /// Unique in what was loaded, but for copies made by aliases and imports.
    pub(in crate::workflow) id: usize,
    /// Of a map or a list: its first line.
    pub(in crate::workflow) place: Place,
    pub(in crate::workflow) value: Value,
}

#[derive(Clone, Debug)]
pub(in crate::workflow) enum Value {
    Scalar(Text),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A scalar. Its type is what the reader wants it to be.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Text {
    pub(in crate::workflow) text: String,
    pub(in crate::workflow) style: Style,
}

/// How a scalar came to be, which says what it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workflow) enum Style {
    /// Without quotes: also a number, a boolean or null.
    Plain,
    /// With quotes: a text.
    Quoted,
    /// By a template: whatever the reader wants, but never null.
    Written,
    /// By a template that failed; that is told already.
    Broken,
}

impl Text {
    /// Is no value given?
    pub(in crate::workflow) fn is_null(&self) -> bool {
        self.style == Style::Plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

#[derive(Clone, Debug)]
pub(in crate::workflow) struct Entry {
    pub(in crate::workflow) key: String,
    pub(in crate::workflow) at: Place,
    pub(in crate::workflow) node: Node,
}

/// A step on the way from the root to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workflow) enum Seg {
    Key(&'static str),
    Index(usize),
}

/// The way from the root to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Path(pub(in crate::workflow) Vec<Seg>);

impl Path {
    /// One step further, to a key.
    pub(in crate::workflow) fn key(&self, key: &'static str) -> Self {
        self.with(Seg::Key(key))
    }

    /// One step further, to an item.
    pub(in crate::workflow) fn index(&self, index: usize) -> Self {
        self.with(Seg::Index(index))
    }

    fn with(&self, seg: Seg) -> Self {
        Self(self.0.iter().copied().chain([seg]).collect())
    }
}

impl Node {
    /// The value of a key.
    pub(in crate::workflow) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            Value::Scalar(_) | Value::List(_) => None,
        }
    }

    /// The place of what a path leads to, or of the last thing on the way that is there.
    pub(in crate::workflow) fn find(&self, path: &Path) -> Place {
        let (mut node, mut place) = (self, self.place);
        for seg in &path.0 {
            let next = match (seg, &node.value) {
                (Seg::Key(key), Value::Map(_)) => node.entry(key).map(|entry| match &entry.node.value {
                    Value::Scalar(text) if !text.is_null() => (&entry.node, entry.node.place),
                    Value::Scalar(_) | Value::List(_) | Value::Map(_) => (&entry.node, entry.at),
                }),
                (Seg::Index(index), Value::List(items)) => items.get(*index).map(|item| (item, item.place)),
                (Seg::Key(_) | Seg::Index(_), _) => None,
            };
            match next {
                Some((found, at)) => (node, place) = (found, at),
                None => break,
            }
        }
        place
    }

    /// Nodes in it, itself included.
    fn count(&self) -> usize {
        match &self.value {
            Value::Scalar(_) => 1,
            Value::List(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Value::Map(entries) => 1 + entries.iter().map(|entry| entry.node.count()).sum::<usize>(),
        }
    }
}

/// Reads one document. What is wrong but can be read over goes to `problems`.
///
/// # Errors
/// What cannot be read over.
pub(super) fn parse(file: usize, text: &str, dialect: Dialect, first_id: usize, problems: &mut Vec<Problem>) -> Result<Node, Problem> {
    let mut builder =
        Builder { file, text, dialect, next_id: first_id, nodes: 0, open: Vec::new(), anchors: HashMap::new(), root: None, problems };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| {
            let at = e.marker().byte_offset().unwrap_or(0).min(text.len());
            teach(&e.info(), Place { file, start: at, end: at }, text)
        })?;
        if let Event::DocumentStart(..) = event {
            documents += 1;
            if documents == 2 && dialect == Dialect::Yaml11 {
                break;
            }
            if documents == 2 {
                let place = builder.place(&span);
                builder.problems.push(
                    Problem::at(place, "a second document begins here")
                        .help("a workflow file holds one: put the other one into a file of its own"),
                );
                break;
            }
        }
        builder.event(event, &span)?;
    }
    builder.root.ok_or_else(|| Problem::at(Place { file, start: 0, end: 0 }, "the file holds no value"))
}

/// The parser's words for somebody who does not know the parser.
fn teach(info: &str, place: Place, text: &str) -> Problem {
    let problem = Problem::at(place, info);
    let rest = &text[place.start..];
    if info.contains("tab") {
        problem.help("YAML is indented with spaces, never with tabs")
    } else if rest.starts_with(['@', '`']) {
        problem.help("a word that begins with this sign needs quotes, as in \"@cp*\"")
    } else if info.contains("unknown anchor") {
        problem.help("in YAML a word that begins with * stands for what &WORD named before: if it is a text, put it into quotes")
    } else if info.contains("mapping values are not allowed") {
        problem.help("a text with `: ` in it needs quotes; else this line is indented too far, or the one above is not done")
    } else if info.contains("did not find expected") {
        problem.help("a text with `: `, `, ` or a bracket in it needs quotes here; else a bracket is open or a line is indented wrongly")
    } else {
        problem
    }
}

struct Builder<'a> {
    file: usize,
    text: &'a str,
    dialect: Dialect,
    next_id: usize,
    nodes: usize,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    problems: &'a mut Vec<Problem>,
}

/// A list or map whose end has not come yet.
struct Open {
    node: Node,
    anchor: usize,
    /// In a map: the key whose value comes next.
    key: Option<(String, Place)>,
}

impl Builder<'_> {
    fn place(&self, span: &Span) -> Place {
        let offset = |at: Option<usize>| at.unwrap_or(0).min(self.text.len());
        let (start, mut end) = (offset(span.start.byte_offset()), offset(span.end.byte_offset()));
        // A collection's own span may be empty or whole pages: its first line says enough.
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        end = end.clamp(start, line_end);
        if end == start {
            end = start + self.text[start..line_end].trim_end().len();
        }
        Place { file: self.file, start, end }
    }

    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Problem> {
        let place = self.place(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = self.dialect == Dialect::Yaml11 && tag.as_ref().is_some_and(|tag| tag.suffix() == "str");
                if tag.is_some() && !is_text {
                    self.problems.push(
                        Problem::at(place, "tags are not understood").help("leave the !tag out: what a value is follows from its key"),
                    );
                }
                let value = Value::Scalar(Text {
                    text: text.into_owned(),
                    style: if style == ScalarStyle::Plain && !is_text { Style::Plain } else { Style::Quoted },
                });
                let node = self.node(place, value)?;
                self.value(node, anchor, place)
            }
            Event::Alias(id) => match self.anchors.get(&id).cloned() {
                Some(mut node) => {
                    self.nodes += node.count();
                    self.check_size(place)?;
                    node.place = place;
                    self.value(node, 0, place)
                }
                None => Err(Problem::at(place, "an alias inside of what it stands for never ends")),
            },
            Event::SequenceStart(_, anchor, _) => self.begin(place, Value::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => self.begin(place, Value::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().ok_or_else(|| Problem::at(place, "an end without a beginning"))?;
                let at = open.node.place;
                self.value(open.node, open.anchor, at)
            }
            // Marks of the stream; the parser is not asked for comments, anchors and aliases of nothing.
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd | _ => Ok(()),
        }
    }

    fn node(&mut self, place: Place, value: Value) -> Result<Node, Problem> {
        self.next_id += 1;
        self.nodes += 1;
        self.check_size(place)?;
        Ok(Node { id: self.next_id, place, value })
    }

    fn check_size(&self, place: Place) -> Result<(), Problem> {
        if self.nodes <= MOST_NODES {
            return Ok(());
        }
        Err(Problem::at(place, format!("with its aliases written out the file has more than {MOST_NODES} values")))
    }

    fn begin(&mut self, place: Place, value: Value, anchor: usize) -> Result<(), Problem> {
        if self.open.len() >= MOST_DEPTH {
            return Err(Problem::at(place, format!("lists and maps are nested more than {MOST_DEPTH} deep")));
        }
        let node = self.node(place, value)?;
        self.open.push(Open { node, anchor, key: None });
        Ok(())
    }

    /// A value is whole: it goes into what is open, as a key or as a value.
    fn value(&mut self, node: Node, anchor: usize, place: Place) -> Result<(), Problem> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            Value::List(items) => items.push(node),
            Value::Map(entries) => match open.key.take() {
                Some((key, at)) => match entries.iter().find(|entry| entry.key == key) {
                    Some(first) => {
                        let line = 1 + self.text[..first.at.start].matches('\n').count();
                        let problem = Problem::at(at, format!("the key `{key}` is there already, in line {line}"));
                        self.problems.push(problem.help("a second one would hide the first: leave one out"));
                    }
                    None => entries.push(Entry { key, at, node }),
                },
                None => match node.value {
                    Value::Scalar(text) if self.dialect == Dialect::Yaml11 && text.style == Style::Plain => {
                        let refused = || Problem::at(place, "this cannot be a key").help("put it into quotes if it is a name");
                        open.key = Some((yaml11::key(&text.text).ok_or_else(refused)?, place));
                    }
                    Value::Scalar(text) => open.key = Some((text.text, place)),
                    Value::List(_) | Value::Map(_)
                        if self.text[..place.start].ends_with('{') || self.text[place.start..].starts_with("{{") =>
                    {
                        let problem = Problem::at(place, "this reads as a map in a map");
                        return Err(problem.help("a template needs quotes: \"{{ .vars.NAME }}\""));
                    }
                    Value::List(_) | Value::Map(_) => return Err(Problem::at(place, "a key must be a word, this is a list or a map")),
                },
            },
            Value::Scalar(_) => {}
        }
        Ok(())
    }
}
