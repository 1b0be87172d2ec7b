//! The tree of one file to its values, as kinder's strict decoder takes them: keys in any case, texts made of numbers, nothing unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::expand::Raw;
use super::super::file::{Entry, Node, Place, Plain, Problem, Style, Text, Value, plain, suggestion, yaml11_text};
use super::duration;

/// A task without a limit of its own.
const TASK_LIMIT: Duration = Duration::from_mins(5);

const TOP: [&str; 5] = ["version", "summary", "vars", "env", "tasks"];
const TASK: [&str; 9] = ["name", "description", "dir", "cmd", "args", "import", "force", "ignoreError", "timeout"];

/// One file.
pub(super) struct File {
    pub(super) summary: String,
    pub(super) vars: BTreeMap<String, Raw>,
    pub(super) env: BTreeMap<String, Raw>,
    pub(super) tasks: Vec<Task>,
}

/// A text with its place.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// `None` where nothing is written.
    pub(super) place: Option<Place>,
}

/// One task as it is written.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) place: Place,
    pub(super) name: Word,
    pub(super) description: String,
    pub(super) dir: String,
    pub(super) cmd: Word,
    pub(super) args: Vec<Word>,
    pub(super) import: Word,
    pub(super) force: bool,
    pub(super) ignore_error: bool,
    pub(super) limit: Duration,
}

/// The value of the key `version`, in any case.
pub(super) fn version(root: &Node) -> Option<&Node> {
    match &root.value {
        Value::Map(entries) => entries.iter().find(|entry| entry.key.eq_ignore_ascii_case("version")).map(|entry| &entry.node),
        Value::Scalar(_) | Value::List(_) => None,
    }
}

/// Reads a file's tree; what does not fit goes to `problems`.
pub(super) fn file(root: &Node, problems: &mut Vec<Problem>) -> File {
    let mut read = Reader { problems };
    let entries = read.map(root, &TOP);
    let get = |key: &str| entries.iter().find(|(name, _)| *name == key).map(|(_, entry)| &entry.node);
    read.version(root, get("version"));
    let tasks = read.list(get("tasks")).iter().filter_map(|task| read.task(task)).collect();
    if read.list_is_empty(get("tasks")) {
        let place = get("tasks").map_or(root.place, |node| node.place);
        read.problems.push(Problem::at(place, "there is no task: a workflow has at least one"));
    }
    File { summary: read.text(get("summary")).text, vars: read.texts(get("vars")), env: read.texts(get("env")), tasks }
}

struct Reader<'a> {
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, place: Place, what: impl Into<String>, help: &str) {
        let problem = Problem::at(place, what);
        self.problems.push(if help.is_empty() { problem } else { problem.help(help) });
    }

    /// The entries of a map by the names that are known; others are told of.
    fn map<'n>(&mut self, node: &'n Node, known: &'static [&'static str]) -> Vec<(&'static str, &'n Entry)> {
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            Value::Scalar(text) if is_null(text) => &[],
            Value::Scalar(_) | Value::List(_) => {
                self.wrong(node.place, format!("this is {}, wanted is a map of {}", what(node), known.join(", ")), "");
                &[]
            }
        };
        let mut found: Vec<(&'static str, &Entry)> = Vec::new();
        for entry in entries {
            // as Go's decoder does
            let Some(name) = known.iter().find(|name| name.eq_ignore_ascii_case(&entry.key)) else {
                let help = match suggestion(&entry.key, known.iter().copied()) {
                    Some(meant) => format!("is `{meant}` meant?"),
                    None => format!("keys here are: {}", known.join(", ")),
                };
                self.wrong(entry.at, format!("unknown key `{}`", entry.key), &help);
                continue;
            };
            match found.iter().find(|(other, _)| other == name) {
                Some((_, first)) => {
                    let what = format!("the key `{name}` is there already, as `{}`: case does not count", first.key);
                    self.wrong(entry.at, what, "a second one would hide the first: leave one out");
                }
                None => found.push((name, entry)),
            }
        }
        found
    }

    fn version(&mut self, root: &Node, node: Option<&Node>) {
        let Some(node) = node else {
            self.wrong(root.place, "the key `version` is missing", "write `version: 1`");
            return;
        };
        match &node.value {
            Value::Scalar(text) if is_one(text) => {}
            Value::Scalar(text) if text.style != Style::Plain => {
                self.wrong(node.place, format!("this is the text {:?}, wanted is the number 1", text.text), "leave the quotes out");
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.wrong(node.place, format!("this is {}, wanted is the number 1", what(node)), "");
            }
        }
    }

    /// A text; a number, a boolean and nothing become one.
    fn text(&mut self, node: Option<&Node>) -> Word {
        let Some(node) = node else { return Word::default() };
        match &node.value {
            Value::Scalar(text) => Word { text: as_text(text), place: Some(node.place) },
            Value::List(_) | Value::Map(_) => {
                self.wrong(node.place, format!("this is {}, wanted is a text", what(node)), "");
                Word { text: String::new(), place: Some(node.place) }
            }
        }
    }

    /// A map of texts.
    fn texts(&mut self, node: Option<&Node>) -> BTreeMap<String, Raw> {
        let Some(node) = node else { return BTreeMap::new() };
        match &node.value {
            Value::Map(entries) => entries
                .iter()
                .map(|entry| {
                    let word = self.text(Some(&entry.node));
                    (entry.key.clone(), Raw { text: word.text, place: word.place })
                })
                .collect(),
            Value::Scalar(text) if is_null(text) => BTreeMap::new(),
            Value::Scalar(_) | Value::List(_) => {
                self.wrong(node.place, format!("this is {}, wanted is a map of texts", what(node)), "");
                BTreeMap::new()
            }
        }
    }

    fn list<'n>(&mut self, node: Option<&'n Node>) -> &'n [Node] {
        match node.map(|node| (&node.value, node)) {
            Some((Value::List(items), _)) => items,
            None => &[],
            Some((Value::Scalar(text), _)) if is_null(text) => &[],
            Some((Value::Scalar(_) | Value::Map(_), node)) => {
                self.wrong(node.place, format!("this is {}, wanted is a list", what(node)), "");
                &[]
            }
        }
    }

    /// Is it surely empty? What is no list is told of already.
    #[expect(clippy::unused_self, reason = "beside the other looks at a list")]
    fn list_is_empty(&self, node: Option<&Node>) -> bool {
        match node.map(|node| &node.value) {
            None => true,
            Some(Value::Scalar(text)) => is_null(text),
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::Map(_)) => false,
        }
    }

    fn boolean(&mut self, node: Option<&Node>) -> bool {
        let Some(node) = node else { return false };
        let Value::Scalar(text) = &node.value else {
            self.wrong(node.place, format!("this is {}, wanted is true or false", what(node)), "");
            return false;
        };
        let help = if text.style == Style::Plain { "" } else { "leave the quotes out" };
        match (text.style == Style::Plain, plain(&text.text)) {
            (true, Plain::Bool(value)) => value,
            (true, Plain::Null) => false,
            (_, Plain::Null | Plain::Bool(_) | Plain::Int(_) | Plain::Float(_) | Plain::Text) => {
                self.wrong(node.place, format!("this is {:?}, wanted is true or false", text.text), help);
                false
            }
        }
    }

    fn limit(&mut self, node: Option<&Node>) -> Duration {
        let Some(node) = node else { return TASK_LIMIT };
        let example = "write it with its unit, as in 30s, 5m or 1h30m; a number alone is nanoseconds";
        let Value::Scalar(text) = &node.value else {
            self.wrong(node.place, format!("this is {}, wanted is a length of time", what(node)), example);
            return TASK_LIMIT;
        };
        limit(text).unwrap_or_else(|why| {
            self.wrong(node.place, why, example);
            TASK_LIMIT
        })
    }

    fn task(&mut self, node: &Node) -> Option<Task> {
        let before = self.problems.len();
        let entries = self.map(node, &TASK);
        let is_map = matches!(node.value, Value::Map(_));
        let get = |key: &str| entries.iter().find(|(name, _)| *name == key).map(|(_, entry)| &entry.node);
        let args = self.list(get("args")).iter().map(|arg| self.text(Some(arg))).collect();
        let task = Task {
            place: node.place,
            name: self.text(get("name")),
            description: self.text(get("description")).text,
            dir: self.text(get("dir")).text,
            cmd: self.text(get("cmd")),
            args,
            import: self.text(get("import")),
            force: self.boolean(get("force")),
            ignore_error: self.boolean(get("ignoreError")),
            limit: self.limit(get("timeout")),
        };
        if task.import.text.is_empty() {
            // what a broken task lacks may be just what is broken
            if task.cmd.text.is_empty() && self.problems.len() == before {
                let place = task.cmd.place.unwrap_or(node.place);
                self.wrong(
                    place,
                    "this task has neither `cmd` nor `import`",
                    "say which program it runs, or which file's tasks take its place",
                );
            }
            return is_map.then_some(task);
        }
        for key in ["dir", "cmd", "args", "force", "timeout", "ignoreError"] {
            if let Some((_, entry)) = entries.iter().find(|(name, entry)| *name == key && is_set(&entry.node)) {
                self.wrong(entry.at, format!("a task with `import` cannot have `{key}`"), "set it in the tasks of the imported file");
            }
        }
        Some(task)
    }
}

/// A task's limit; 0 is as good as none.
///
/// # Errors
/// Why it is none, in words.
pub(in crate::workflow) fn limit(text: &Text) -> Result<Duration, String> {
    let value = if text.style == Style::Plain { plain(&text.text) } else { Plain::Text };
    let nanoseconds = match value {
        Plain::Null => 0,
        Plain::Int(n) => i64::try_from(n).map_err(|_| format!("{n} is no length of time"))?,
        #[expect(clippy::cast_possible_truncation, reason = "Go does the same")]
        Plain::Float(n) if n.is_finite() => n as i64,
        Plain::Float(_) | Plain::Bool(_) => return Err(format!("{:?} is no duration", text.text)),
        Plain::Text => duration::parse(&text.text)?,
    };
    match u64::try_from(nanoseconds) {
        Ok(0) => Ok(TASK_LIMIT),
        Ok(n) => Ok(Duration::from_nanos(n)),
        Err(_) => Err(format!("{:?} is negative: a task with no time can do nothing", text.text)),
    }
}

/// Is it more than Go's zero value?
fn is_set(node: &Node) -> bool {
    match &node.value {
        Value::Map(_) => true,
        Value::List(items) => !items.is_empty(),
        Value::Scalar(text) if text.style == Style::Plain => !matches!(plain(&text.text), Plain::Null | Plain::Bool(false) | Plain::Int(0)),
        Value::Scalar(text) => !text.text.is_empty(),
    }
}

/// Is it the number 1?
pub(super) fn is_one(text: &Text) -> bool {
    let value = if text.style == Style::Plain { plain(&text.text) } else { Plain::Text };
    value == Plain::Int(1) || value == Plain::Float(1.0)
}

fn is_null(text: &Text) -> bool {
    text.style == Style::Plain && plain(&text.text) == Plain::Null
}

fn as_text(text: &Text) -> String {
    if text.style == Style::Plain { yaml11_text(&text.text) } else { text.text.clone() }
}

/// A value in words.
fn what(node: &Node) -> String {
    match &node.value {
        Value::Map(_) => "a map".into(),
        Value::List(_) => "a list".into(),
        Value::Scalar(text) if is_null(text) => "nothing".into(),
        Value::Scalar(text) => format!("{:?}", start(&text.text)),
    }
}

/// So much of a text as an error can show: a file that is none of YAML is one long text.
fn start(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    if start.len() < text.len() { start + "…" } else { start }
}
