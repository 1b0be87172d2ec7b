//! Go templates in a text, as kinder's files use them: `{{ .vars.X }}`, `{{ .env.X }}`, `{{ if … }}…{{ end }}`, and Go's own functions.
//!
//! Names are checked before anything is written out, since the engine writes `<no value>` for one that it does not know.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use gtmpl_ng::{Context, FuncError, Function, Limits, Template, Value};

use super::super::file::{Place, Problem, Sources, suggestion};
use super::labels::Labels;

/// A text written out may have this many bytes. A script has some thousand.
const MOST_BYTES: usize = 1024 * 1024;

/// Parentheses in each other, and branches of one `if`: the engine calls itself for each, and its stack is not ours to see.
const MOST_NESTED: usize = 100;

/// What the engine writes for a value that is not there.
const NO_VALUE: &str = "<no value>";

/// What the error of a name says that is not known and is asked for.
const UNKNOWN: &str = "joinder:unknown-name";

/// What names stand for.
#[derive(Clone, Debug, Default)]
pub(in crate::workflow) struct Values {
    pub(in crate::workflow) vars: BTreeMap<String, String>,
    pub(in crate::workflow) env: BTreeMap<String, String>,
    /// Looks up versions for `resolve`.
    pub(in crate::workflow) labels: Labels,
    /// When is a name wrong that is not known?
    pub(in crate::workflow) unknown: Unknown,
}

/// When a name is wrong that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) enum Unknown {
    /// Wherever it stands.
    #[default]
    Everywhere,
    /// Where it is asked for, as Go's `missingkey=error` has it: behind an `if` that does not hold it may stand.
    WhereAsked,
}

thread_local! {
    // The engine's functions are plain ones, which carry nothing with them.
    static LABELS: RefCell<Labels> = RefCell::default();
}

/// `resolve "ci/latest"`: a label's version.
fn resolve(args: &[Value]) -> Result<Value, FuncError> {
    let [Value::String(label)] = args else { return Err(FuncError::Generic("resolve takes one text, the label".into())) };
    let labels = LABELS.with_borrow(Clone::clone);
    labels.resolve(label).map(Value::String).map_err(FuncError::Generic)
}

/// Go's `index`, which gives an empty text for a key that a map of texts does not have.
fn index(args: &[Value]) -> Result<Value, FuncError> {
    let found = gtmpl_ng::funcs::index(args)?;
    Ok(if found == Value::NoValue { Value::String(String::new()) } else { found })
}

/// Stands for a name that is not known.
fn unknown_name(_: &[Value]) -> Result<Value, FuncError> {
    Err(FuncError::Generic(UNKNOWN.into()))
}

/// A name that a template asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// `vars`, `env`, or [`OTHER`].
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Its first byte in the text.
    pub(super) at: usize,
}

/// The kind of a root that stands for nothing.
const OTHER: &str = "";

/// Does a text hold a template?
pub(in crate::workflow) fn is_one(text: &str) -> bool {
    text.contains("{{")
}

/// The names `.vars.X` and `.env.X` of all actions, in order, and other roots, `.X`, which stand for nothing. What stands in quotes is
/// no name; within `range` and `with` the point stands for something else.
pub(in crate::workflow) fn names(text: &str) -> Vec<Asked> {
    let mut names = Vec::new();
    let (mut rest, mut inner) = (0, 0_usize);
    let mut blocks: Vec<bool> = Vec::new();
    while let Some(open) = text[rest..].find("{{") {
        let start = rest + open + 2;
        let end = action_end(text, start);
        names.extend(names_of_action(text, start, end).into_iter().filter(|asked| asked.kind != OTHER || inner == 0));
        match text[start..end].trim_start_matches(['-', ' ']).split([' ', '}', '-']).next() {
            Some("range" | "with") => blocks.push(true),
            Some("if" | "block" | "define") => blocks.push(false),
            Some("end") => drop(blocks.pop()),
            _ => {}
        }
        inner = blocks.iter().filter(|changes_the_point| **changes_the_point).count();
        rest = end;
    }
    names
}

/// Where an action ends: at the first `}}` that is in no quotes.
fn action_end(text: &str, start: usize) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text[start..].char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"' | '\'') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '`' | '\'') => quote = Some(c),
            None if text[start + at..].starts_with("}}") => return start + at,
            Some(_) | None => {}
        }
    }
    text.len()
}

fn names_of_action(text: &str, start: usize, end: usize) -> Vec<Asked> {
    let mut names = Vec::new();
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in text[start..end].char_indices() {
        match quote {
            Some(open) if c == open && before != '\\' => quote = None,
            None if matches!(c, '"' | '`' | '\'') => quote = Some(c),
            None if c == '.' && !(before.is_alphanumeric() || before == '_' || before == ')') => {
                let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
                let root = word(&text[start + at + 1..end]);
                let behind = text[start + at + 1 + root.len()..end].strip_prefix('.');
                match (root.as_str(), behind) {
                    ("vars", Some(name)) => names.push(Asked { kind: "vars", name: word(name), at: start + at }),
                    ("env", Some(name)) => names.push(Asked { kind: "env", name: word(name), at: start + at }),
                    // `.` alone is the whole, and `.vars` can be ranged over
                    ("vars" | "env" | "", _) => {}
                    _ => names.push(Asked { kind: OTHER, name: root, at: start + at }),
                }
            }
            Some(_) | None => {}
        }
        before = c;
    }
    names
}

/// A text written out.
///
/// # Errors
/// Names that are not known, each with its own place where it can be told, and the engine's own errors.
pub(in crate::workflow) fn expand(text: &str, place: Place, values: &Values, sources: &Sources) -> Result<String, Vec<Problem>> {
    let asked = names(text);
    let unknown = || asked.iter().filter_map(|name| unknown(name, text, place, values, sources)).collect::<Vec<_>>();
    if values.unknown == Unknown::Everywhere {
        let all = unknown();
        if !all.is_empty() {
            return Err(all);
        }
    }
    if is_too_deep(text) {
        return Err(vec![Problem::at(place, format!("this template nests more than {MOST_NESTED} deep"))]);
    }
    let mut template = Template::with_limits(Limits::default().with_output_bytes(MOST_BYTES));
    template.add_func("resolve", resolve);
    template.add_func("index", index);
    let wrong = |why: String| vec![Problem::at(place, format!("this template cannot be written out: {}", teach(&why)))];
    template.parse(text).map_err(|e| wrong(e.to_string()))?;
    LABELS.set(values.labels.clone());
    let written = template.render(&Context::from(whole(values, &asked)));
    LABELS.take();
    let written = written.map_err(|e| match e.to_string() {
        why if why.contains(UNKNOWN) => unknown(),
        why => wrong(why),
    })?;
    // What the engine writes for `{{ .nothing }}`: a run must not go on with it.
    if written.contains(NO_VALUE) && !text.contains(NO_VALUE) {
        return Err(wrong("it asks for a value that is not there; there are `.vars.NAME` and `.env.NAME`".into()));
    }
    Ok(written)
}

/// All that names stand for. Those that are not known are errors once somebody asks for them: the engine's own answer would be nothing.
fn whole(values: &Values, asked: &[Asked]) -> Value {
    let map = |of: &BTreeMap<String, String>| of.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
    let (mut vars, mut env): (HashMap<String, Value>, HashMap<String, Value>) = (map(&values.vars), map(&values.env));
    let mut all = HashMap::new();
    for name in asked {
        let of = match name.kind {
            "vars" => &mut vars,
            "env" => &mut env,
            _ => &mut all,
        };
        of.entry(name.name.clone()).or_insert(Value::Function(Function { f: unknown_name }));
    }
    all.insert("vars".to_owned(), Value::Map(vars));
    all.insert("env".to_owned(), Value::Map(env));
    Value::Map(all)
}

/// Would the engine go deeper than anybody writes?
fn is_too_deep(text: &str) -> bool {
    let (mut open, mut most) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    let count = |word: &str| text.matches(word).count();
    let blocks = ["if", "range", "with", "else", "block", "define"]
        .iter()
        .map(|word| count(&format!("{{{{ {word}")) + count(&format!("{{{{{word}")) + count(&format!("{{{{- {word}")))
        .sum::<usize>();
    is_one(text) && (most > MOST_NESTED || blocks > MOST_NESTED)
}

fn unknown(name: &Asked, text: &str, place: Place, values: &Values, sources: &Sources) -> Option<Problem> {
    if name.kind == OTHER {
        let whole = format!(".{}", name.name);
        let problem = Problem::at(narrow(&whole, name.at, text, place, sources), format!("there is no `{whole}`"));
        return Some(problem.help(if values.vars.contains_key(&name.name) {
            format!("write `.vars.{}`", name.name)
        } else {
            "there are `.vars.NAME` and `.env.NAME`; braces that another program shall read go into backquotes: {{ `{{ .items }}` }}".into()
        }));
    }
    let known = if name.kind == "vars" { &values.vars } else { &values.env };
    if known.contains_key(&name.name) {
        return None;
    }
    let what = if name.kind == "vars" { "var" } else { "environment variable" };
    let whole = format!(".{}.{}", name.kind, name.name);
    let problem = Problem::at(narrow(&whole, name.at, text, place, sources), format!("there is no {what} `{}`", name.name));
    if text[name.at + whole.len()..].starts_with('-') {
        return Some(problem.help("a name ends at `-`: read such a var with {{ index .vars \"NAME\" }}, or name it without"));
    }
    Some(match (suggestion(&name.name, known.keys().map(String::as_str)), name.kind) {
        (Some(meant), _) => problem.help(format!("is `{meant}` meant?")),
        (None, "vars") if known.is_empty() => problem.help("the file has no vars: add `vars: {NAME: VALUE}`, or a matrix"),
        (None, "vars") => problem.help(format!("vars are: {}", known.keys().cloned().collect::<Vec<_>>().join(", "))),
        (None, _) if name.name == "ARTIFACTS" => {
            problem.help("`cmd`, `args` and `dir` know it: where artifacts go is chosen when the run begins")
        }
        (None, _) => problem.help("set it, or give it a value under `env:`"),
    })
}

/// The place of a part of a text, where the file holds the text as it is.
fn narrow(part: &str, at: usize, text: &str, place: Place, sources: &Sources) -> Place {
    let (_, file) = sources.get(place.file);
    let Some(from) = file.get(place.start..) else { return place };
    // The how many-th time the part stands in the text, it stands in the file, unless escapes are between.
    let nth = text[..at].matches(part).count();
    let reach = from.len().min(text.len() * 2 + 200);
    let reach = (reach..=from.len()).find(|end| from.is_char_boundary(*end)).unwrap_or(from.len());
    match from[..reach].match_indices(part).nth(nth) {
        Some((start, _)) => Place { file: place.file, start: place.start + start, end: place.start + start + part.len() },
        None => place,
    }
}

/// The engine's words without its own positions, which are not the file's: `template: :1:20:0:unexpected EOF`.
fn teach(why: &str) -> String {
    let words = why.trim_start_matches("template:").trim_start_matches(|c: char| c == ':' || c.is_ascii_digit() || c.is_whitespace());
    match words {
        "unexpected EOF" => "it ends in the middle: every `{{ if` has its `{{ end }}`, every `{{` its `}}`".into(),
        "function vars not defined" => "`vars` is no function: write `.vars.NAME`, with the point before it".into(),
        "function env not defined" => "`env` is no function: write `.env.NAME`, with the point before it".into(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Result<String, Vec<String>> {
        let vars = [("a", "1"), ("list", "x"), ("none", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let env = [("HOME".to_owned(), "/h".to_owned())].into();
        let place = Place { file: 0, start: 0, end: 0 };
        expand(text, place, &Values { vars, env, ..Values::default() }, &Sources::default())
            .map_err(|all| all.into_iter().map(|p| p.what).collect())
    }

    #[test]
    fn what_kinders_files_use_is_written_out() {
        for (text, want) in [
            ("{{ .vars.a }}", "1"),
            ("x{{.vars.a}}y{{- .env.HOME -}} z", "x1y/hz"),
            ("{{ if .vars.none }}full{{ else }}empty{{ end }}", "empty"),
            ("{{ if eq .vars.a \"1\" }}one{{ end }}", "one"),
            ("${x} '{print $2}' }}}} {% # %}", "${x} '{print $2}' }}}} {% # %}"),
            ("{{ printf \"%s-%s\" .vars.a .vars.list }}", "1-x"),
            ("{{ `.vars.nothing }}` }}", ".vars.nothing }}"),
        ] {
            assert_eq!(written(text), Ok(want.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_would_overflow_the_engines_stack_is_refused() {
        let deep = format!("{{{{ {}1{} }}}}", "(".repeat(600), ")".repeat(600));
        let long = format!("{{{{ if false }}}}{}{{{{ end }}}}", "{{ else if true }}x".repeat(20_000));
        for text in [deep, long] {
            assert!(written(&text).expect_err("too deep")[0].contains("nests more than"));
        }
    }

    #[test]
    fn every_unknown_name_is_named() {
        assert_eq!(
            written("{{ .vars.b }} {{ .env.NOPE }} {{ if .vars.c }}{{ end }}"),
            Err(vec!["there is no var `b`".into(), "there is no environment variable `NOPE`".into(), "there is no var `c`".into()])
        );
        assert_eq!(written("{{ .a }}"), Err(vec!["there is no `.a`".into()]));
        assert_eq!(written("{{range .items}}{{.metadata.name}}{{end}}"), Err(vec!["there is no `.items`".into()]));
        assert_eq!(written("{{ `{{range .items}}` }}"), Ok("{{range .items}}".into()));
        assert!(written("{{ range .vars }}{{ .x }}{{ end }}").is_err(), "a text has no fields");
        assert_eq!(written("{{ with .vars.a }}{{ . }}{{ end }}"), Ok("1".into()));
        assert!(written("{{ .vars.a").is_err() && written("{{ nosuch }}").is_err() && written("{{ if }}").is_err());
    }

    /// What Go's own engine makes of templates, with its errors in its own words, which need not be ours.
    #[test]
    fn templates_come_out_as_gos_engine_writes_them() {
        #[derive(serde::Deserialize)]
        struct Row {
            template: String,
            written: Option<String>,
        }
        // What gtmpl-ng does otherwise, as it says: two kinds are compared instead of refused.
        const OTHERWISE: [&str; 1] = ["{{ eq .vars.a 1 }}"];
        let rows: Vec<Row> = serde_json::from_str(include_str!("../../../tests/data/kinder/templates.json")).expect("JSON");
        assert!(rows.len() > 100);
        let map = |all: &[(&str, &str)]| all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let values = Values {
            vars: map(&[("a", "1"), ("b", "two"), ("empty", ""), ("list", "x,y"), ("n", "3")]),
            env: map(&[("HOME", "/h"), ("ARTIFACTS", "/art")]),
            labels: Labels::new(|label| {
                let known = label.starts_with("ci/").then(|| "v1.37.0-alpha.1+abc".to_owned());
                known.ok_or_else(|| format!("no label {label}"))
            }),
            unknown: Unknown::WhereAsked,
        };
        let place = Place { file: 0, start: 0, end: 0 };
        let differ: Vec<String> = rows
            .into_iter()
            .filter(|row| !OTHERWISE.contains(&row.template.as_str()))
            .filter_map(|row| {
                let ours = expand(&row.template, place, &values, &Sources::default()).ok();
                (ours != row.written).then(|| format!("{}: {ours:?}, Go: {:?}", row.template, row.written))
            })
            .collect();
        assert_eq!(differ, Vec::<String>::new());
    }
}
