//! The pieces of a file and of what it imports, put together as one file of version 2.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::super::expand::{Artifacts, Labels, Request, plans_of_text};
use super::super::file::{Dialect, Node, Problem, Problems, Sources, Style, Value, read, yaml11_text};
use super::super::plan::ARTIFACTS;
use super::super::v1;
use super::change::{Kind, text_of};
use super::emit::{quote_braces, quoted};
use super::pieces::{self, Item, Layout, Piece};
use super::same::same;
use super::steps::{self, Command, Steps};

/// What version 1 gives a task, which version 2 gives twice as long.
const LIMIT: &str = "timeout: 5m\n";

/// What a file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Migrated {
    /// It is of version 2 as it is.
    Already,
    /// Its text in version 2.
    Text {
        /// The text.
        text: String,
        /// What is otherwise than in the file: commands that stayed, what steps do in their own way, lines that are lost.
        notes: Vec<String>,
    },
}

/// Writes a file of version 1 in version 2. `request` is what its result is planned with, to know that it can be.
///
/// # Errors
/// What is wrong with the file, or with the text that was made of it.
pub fn migrate(path: &Path, request: &Request) -> Result<Migrated, Problems> {
    let alone = |problem| Problems::new(Sources::default(), vec![problem], false);
    let text = read(path).map_err(alone)?;
    // what labels stand for changes nothing of the text, and where artifacts go is told when it runs
    let labels = Labels::new(|_| Ok("v1.0.0".into()));
    let request = Request { labels, artifacts: Artifacts::Here(ARTIFACTS.into()), ..request.clone() };
    if !v1::is_it(&text) {
        return plans_of_text(path, &text, &request).map(|_| Migrated::Already);
    }
    // all that is wrong with it is wrong before
    let old = plans_of_text(path, &text, &request)?;
    let (mut sources, mut problems) = (Sources::default(), Vec::new());
    let mut files = Vec::new();
    load(path, text, &mut sources, &mut problems, &mut files);
    if !problems.is_empty() {
        return Err(Problems::new(sources, problems, false));
    }
    let (mut anew, mut first) = (None, None);
    // as much as can be: its own lines with joinder's steps, without the steps, without the lines
    for layout in [Layout::Kept, Layout::Anew] {
        let stay = |why: String| format!("kinder's commands stay commands: {}", why.replace('\n', " "));
        let (mut steps, mut notes) = match recognised(&files) {
            Ok(steps) => (Some(steps.clone()), steps.notes),
            Err(why) => (None, why.map(stay).into_iter().collect()),
        };
        loop {
            let with_steps = steps.is_some();
            let text = Writer::of(steps.take(), layout).write(&files, &notes);
            let Err(problems) = same(&old, &text, path, &request) else {
                notes.extend(anew);
                return Ok(Migrated::Text { text, notes });
            };
            let why = problems.first();
            first.get_or_insert(problems);
            if !with_steps {
                anew.get_or_insert_with(|| format!("its lines could not stay, so all but the comments at its top are lost: {why}"));
                break;
            }
            notes = vec![stay(why)];
        }
    }
    Err(first.unwrap_or_else(|| alone(Problem::of("nothing was tried: please report it"))))
}

/// A file that is put in place of an import, or the first one.
struct File {
    path: PathBuf,
    text: String,
    root: Node,
    /// For each task that is an import the file of its tasks.
    imports: Vec<Option<usize>>,
}

fn load(path: &Path, text: String, sources: &mut Sources, problems: &mut Vec<Problem>, files: &mut Vec<File>) -> Option<usize> {
    let root = sources.add(path, text.clone(), Dialect::Yaml11, problems).map_err(|problem| problems.push(problem)).ok()?;
    let own = files.len();
    refuse_merges(&root, problems);
    let imports: Vec<Option<String>> = tasks(&root).map_or(Vec::new(), |node| match &node.value {
        Value::List(items) => items.iter().map(|task| value(task, "import").filter(|file| !file.is_empty())).collect(),
        Value::Scalar(_) | Value::Map(_) => Vec::new(),
    });
    files.push(File { path: path.to_owned(), text, root, imports: Vec::new() });
    let mut places = Vec::new();
    for import in imports {
        let target = import.map(|name| path.parent().unwrap_or(Path::new("")).join(name));
        places.push(target.and_then(|target| match read(&target) {
            Ok(text) => load(&target, text, sources, problems, files),
            Err(problem) => {
                problems.push(problem);
                None
            }
        }));
    }
    files[own].imports = places;
    Some(own)
}

fn refuse_merges(node: &Node, problems: &mut Vec<Problem>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::List(items) => items.iter().for_each(|item| refuse_merges(item, problems)),
        Value::Map(entries) => {
            for entry in entries {
                if entry.key == "<<" {
                    let problem = Problem::at(entry.at, "version 2 has no merge keys");
                    problems.push(problem.help("write the keys out that it brings in, and migrate the file then"));
                }
                refuse_merges(&entry.node, problems);
            }
        }
    }
}

/// The value of a key in any case.
fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.value {
        Value::Map(entries) => entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(key)).map(|entry| &entry.node),
        Value::Scalar(_) | Value::List(_) => None,
    }
}

fn tasks(root: &Node) -> Option<&Node> {
    get(root, "tasks")
}

fn text(node: &Node) -> String {
    match &node.value {
        Value::Scalar(text) if text.style == Style::Plain => yaml11_text(&text.text),
        Value::Scalar(text) => text.text.clone(),
        Value::List(_) | Value::Map(_) => String::new(),
    }
}

fn value(node: &Node, key: &str) -> Option<String> {
    get(node, key).map(text)
}

fn command(task: &Node) -> Command {
    let args = match get(task, "args").map(|node| &node.value) {
        Some(Value::List(items)) => items.iter().map(text).collect(),
        Some(Value::Scalar(_) | Value::Map(_)) | None => Vec::new(),
    };
    let elsewhere = value(task, "dir").is_some_and(|dir| !dir.is_empty());
    Command { program: value(task, "cmd").unwrap_or_default(), args, elsewhere }
}

/// All tasks in the order in which they run.
fn commands(files: &[File], at: usize) -> Vec<Command> {
    let Some(Value::List(items)) = tasks(&files[at].root).map(|node| &node.value) else { return Vec::new() };
    let of = |(task, import): (&Node, &Option<usize>)| match import {
        Some(file) => commands(files, *file),
        None => vec![command(task)],
    };
    items.iter().zip(&files[at].imports).flat_map(of).collect()
}

/// The steps that take the place of kinder's commands; why none do, where there are such commands.
fn recognised(files: &[File]) -> Result<Steps, Option<String>> {
    let all = commands(files, 0);
    steps::recognise(&all).map_err(|why| {
        let calls = all.iter().any(|command| command.program.rsplit('/').next() == Some("kinder"));
        calls.then_some(why)
    })
}

struct Writer {
    steps: Steps,
    layout: Layout,
    /// Counts tasks, over all files.
    task: usize,
    names: BTreeSet<String>,
    /// Vars and variables that are there already: who imports wins.
    vars: BTreeSet<String>,
    env: BTreeSet<String>,
}

impl Writer {
    fn of(steps: Option<Steps>, layout: Layout) -> Self {
        let (names, vars, env) = Default::default();
        Self { steps: steps.unwrap_or_default(), layout, task: 0, names, vars, env }
    }

    /// All of it, with the notes at its top.
    fn write(mut self, files: &[File], notes: &[String]) -> String {
        let first = &files[0];
        let mut out = joined(&pieces::head(&first.text, &first.root));
        for note in notes {
            let _ = writeln!(out, "# {note}.");
        }
        for piece in pieces::of_map(&first.text, &first.root, first_key(&first.root), first.text.len(), self.layout) {
            let key = piece.entry.key.to_ascii_lowercase();
            match key.as_str() {
                "version" => out += &led(&piece, &text_of(&first.text, &piece, "version", Kind::Version)),
                "summary" => out += &led(&piece, &text_of(&first.text, &piece, "summary", Kind::Literal)),
                _ => {}
            }
        }
        let (vars, env) = self.values(files, 0);
        for (key, lines) in [("vars", vars), ("env", env)] {
            if !lines.is_empty() {
                let _ = write!(out, "{key}:\n{}", indented(&lines));
            }
        }
        if !self.steps.cluster.is_empty() {
            out += "cluster:\n";
            out += &indented(&(self.steps.cluster.join("\n") + "\n"));
        }
        out += "tasks:\n";
        out += &self.tasks(files, 0);
        out
    }

    /// Vars and variables of a file, and those of its imports that it does not have.
    fn values(&mut self, files: &[File], at: usize) -> (String, String) {
        let file = &files[at];
        let (mut vars, mut env) = (String::new(), String::new());
        for piece in pieces::of_map(&file.text, &file.root, first_key(&file.root), file.text.len(), self.layout) {
            let key = piece.entry.key.to_ascii_lowercase();
            let (out, known) = match key.as_str() {
                "vars" => (&mut vars, &mut self.vars),
                "env" => (&mut env, &mut self.env),
                _ => continue,
            };
            out.push_str(&joined(&piece.lead));
            out.push_str(&joined(&piece.beside(&file.text)));
            for value in pieces::of_map(&file.text, &piece.entry.node, piece.start, piece.end, self.layout) {
                let new = known.insert(value.entry.key.clone());
                let lines = if new { text_of(&file.text, &value, &value.entry.key, Kind::Expanded) } else { String::new() };
                out.push_str(&led(&value, &lines));
            }
        }
        for import in file.imports.iter().flatten() {
            let (more_vars, more_env) = self.values(files, *import);
            for (out, more) in [(&mut vars, more_vars), (&mut env, more_env)] {
                if !more.is_empty() {
                    let _ = write!(out, "# of {}\n{more}", name(&files[*import].path));
                }
            }
        }
        (vars, env)
    }

    fn tasks(&mut self, files: &[File], at: usize) -> String {
        let file = &files[at];
        let top = pieces::of_map(&file.text, &file.root, first_key(&file.root), file.text.len(), self.layout);
        let Some(list) = top.iter().find(|piece| piece.entry.key.eq_ignore_ascii_case("tasks")) else { return String::new() };
        let mut out = joined(&list.lead) + &joined(&list.beside(&file.text));
        let (items, tail) = pieces::of_list(&file.text, &list.entry.node, list.start, list.end, self.layout);
        for (item, import) in items.iter().zip(&file.imports) {
            out.push_str(&joined(&item.lead));
            match import {
                Some(imported) => {
                    for piece in item.pieces.iter().filter(|piece| !piece.flow) {
                        let behind = &file.text[piece.entry.node.place.end..piece.end];
                        out.push_str(&joined(&piece.lead));
                        let beside = Some(remark(behind)).filter(|beside| !beside.is_empty()).map(|beside| beside.trim().to_owned());
                        out.push_str(&joined(&beside.into_iter().chain(comments(behind)).collect::<Vec<_>>()));
                    }
                    let _ = writeln!(out, "# tasks of {}", name(&files[*imported].path));
                    out.push_str(&joined(&pieces::head(&files[*imported].text, &files[*imported].root)));
                    out += &self.tasks(files, *imported);
                }
                None => out += &self.task(&file.text, item),
            }
        }
        out + &joined(&tail)
    }

    fn task(&mut self, file: &str, item: &Item<'_>) -> String {
        let step = self.steps.of.get(self.task).cloned().flatten();
        self.task += 1;
        let written = value(item.node, "name").unwrap_or_default();
        let own = self.own_name(&written);
        // comments of a key, and its lines
        let mut keys: Vec<(Vec<String>, String)> = Vec::new();
        if written.is_empty() {
            keys.push((Vec::new(), format!("name: {own}\n")));
        }
        for piece in &item.pieces {
            let key = piece.entry.key.to_ascii_lowercase();
            let (key, kind) = match key.as_str() {
                "name" if written.is_empty() => continue,
                "name" if own != written => {
                    // in braces the line is not its own
                    let behind = if piece.flow { String::new() } else { remark(&file[piece.entry.node.place.end..piece.end]) };
                    keys.push((piece.lead.clone(), format!("name: {}{behind}\n", quoted(&quote_braces(&own)))));
                    continue;
                }
                "cmd" | "args" => {
                    let Some(step) = &step else {
                        keys.push((piece.lead.clone(), text_of(file, piece, &key, Kind::Expanded)));
                        continue;
                    };
                    let inner = comments(&file[piece.start..piece.end]);
                    let lead = piece.lead.iter().cloned().chain(inner).collect();
                    keys.push((lead, if key == "cmd" { format!("{step}\n") } else { String::new() }));
                    continue;
                }
                "force" => ("force", Kind::Boolean),
                "ignoreerror" => ("ignoreError", Kind::Boolean),
                "timeout" => ("timeout", Kind::Limit),
                "name" => ("name", Kind::Literal),
                "description" => ("description", Kind::Literal),
                "dir" if step.is_some() => continue,
                "dir" => ("dir", Kind::Literal),
                // an empty one
                _ => continue,
            };
            keys.push((piece.lead.clone(), text_of(file, piece, key, kind)));
        }
        if get(item.node, "timeout").is_none() {
            keys.push((Vec::new(), LIMIT.to_owned()));
        }
        let (mut out, mut first) = (String::new(), true);
        for (lead, lines) in keys {
            let lead = joined(&lead);
            out.push_str(&if first { lead } else { indented(&lead) });
            if lines.is_empty() {
                continue;
            }
            let lines = indented(&lines);
            if std::mem::take(&mut first) {
                let _ = write!(out, "-{}", &lines[1..]);
            } else {
                out.push_str(&lines);
            }
        }
        out
    }

    /// A name that no other task has.
    fn own_name(&mut self, written: &str) -> String {
        let clean: String = written.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let base = if clean.is_empty() { format!("step {}", self.task) } else { clean };
        let numbered = (2..).map(|n| format!("{base} ({n})"));
        let own = std::iter::once(base.clone()).chain(numbered).find(|name| !self.names.contains(name)).unwrap_or(base);
        self.names.insert(own.clone());
        own
    }
}

/// The comment at the end of a line, which is the first of a stretch.
fn remark(text: &str) -> String {
    let rest = text.lines().next().unwrap_or_default().trim();
    if rest.starts_with('#') { format!("   {rest}") } else { String::new() }
}

/// Where the first key of a map stands.
fn first_key(node: &Node) -> usize {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| entry.at.start).min().unwrap_or(0),
        Value::Scalar(_) | Value::List(_) => 0,
    }
}

/// Comment lines within a stretch.
fn comments(text: &str) -> Vec<String> {
    text.lines().skip(1).map(str::trim).filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

/// Each line with its end.
fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn led(piece: &Piece<'_>, lines: &str) -> String {
    joined(&piece.lead) + lines
}

fn indented(lines: &str) -> String {
    lines.split_inclusive('\n').map(|line| if line.trim().is_empty() { "\n".to_owned() } else { format!("  {line}") }).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
