//! What the documentation shows is true: each YAML block is planned, each console block is run, and every key of the language is
//! described.
//!
//! A ```` ```yaml ```` block of `docs/workflows.md` and `README.md` is, by its first line:
//!
//! | begins with | is | what the test adds |
//! |---|---|---|
//! | `version:` or a comment | a whole file | nothing |
//! | `- ` | some tasks | `version: 2`, a cluster of 3 control planes and 2 workers, and a task `init` where the block has neither `init:` nor `create:` |
//! | another key | the head of a file | `version: 2`, and tasks `init`, `join` and `delete` where it has none |
//!
//! A comment `# parts/say.yaml` among the first lines names the file that the block is; others can import it. What is below
//! `parts/` is planned only where it is imported.
//! A ```` ```console ```` block is commands behind `$ ` with what they print; they run in the folder of the named files.
//! A ```` ```text ```` block that begins with `error:` is a piece of a snapshot of `tests/bad`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use joinder::workflow::{Request, plans, plans_of_text};
use serde_json::Value;

/// The reference, below the root.
const REFERENCE: &str = "docs/workflows.md";

/// A fenced block.
#[derive(Debug)]
struct Block {
    /// The file that it stands in.
    doc: &'static str,
    /// Line of its first line, from 1.
    line: usize,
    kind: String,
    text: String,
}

impl Block {
    /// The name that a comment among its first lines gives it.
    fn name(&self) -> Option<&str> {
        let comments = self.text.lines().map_while(|line| line.strip_prefix("# "));
        comments.map(str::trim).find(|word| Path::new(word).extension().is_some_and(|e| e == "yaml") && !word.contains(' '))
    }

    fn is_part(&self) -> bool {
        self.name().is_some_and(|name| name.starts_with("parts/"))
    }

    /// The block as a whole file. Its lines have the numbers that they have in the documentation, so that errors point there.
    fn whole(&self) -> String {
        let text = &self.text;
        let has = |key: &str| {
            text.lines().any(|line| line.trim_start_matches(['-', ' ', '{']).starts_with(key) || line.contains(&format!(", {key}")))
        };
        let (before, behind) = match text.lines().next().unwrap_or_default() {
            first if first.starts_with("version:") || first.starts_with('#') => (String::new(), ""),
            first if first.starts_with("- ") => {
                let init = if has("init:") || has("create:") { "" } else { "\n- {name: init, init: {}}" };
                (format!("version: 2\ncluster: {{controlPlanes: 3, workers: 2}}\ntasks:{init}\n"), "")
            }
            _ if has("tasks:") => ("version: 2\n".to_owned(), ""),
            _ => {
                let tasks = "tasks:\n- {name: init, init: {}}\n- {name: join, join: {allowEmpty: true}}\n- {name: delete, delete: {}}\n";
                ("version: 2\n".to_owned(), tasks)
            }
        };
        let lines = before.matches('\n').count();
        format!("{}{before}{text}{behind}", "\n".repeat((self.line - 1).saturating_sub(lines)))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn blocks(doc: &'static str) -> Vec<Block> {
    let (mut all, mut open) = (Vec::new(), None::<Block>);
    for (at, line) in read(doc).lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => open = Some(Block { doc, line: at + 2, kind: kind.trim().to_owned(), text: String::new() }),
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{doc}: a block does not end");
    all
}

fn yaml() -> Vec<Block> {
    let of = |doc| blocks(doc).into_iter().filter(|block| block.kind == "yaml");
    of(REFERENCE).chain(of("README.md")).collect()
}

/// A folder with all blocks that have a name.
fn folder(blocks: &[Block]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, block) in blocks.iter().filter_map(|block| Some((block.name()?, block))) {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        assert!(!path.exists(), "{}:{}: an earlier block is {name} too", block.doc, block.line);
        std::fs::write(path, &block.text).expect("written");
    }
    dir
}

#[test]
fn every_block_is_planned() {
    let blocks = yaml();
    assert!(blocks.len() > 25, "{} blocks", blocks.len());
    let dir = folder(&blocks);
    let request = Request { env: [("HOME".to_owned(), "/root".to_owned())].into(), ..Request::default() };
    let mut wrong = Vec::new();
    for block in blocks.iter().filter(|block| !block.is_part()) {
        // The path is the documentation's, in the folder of what can be imported.
        let path = dir.path().join(Path::new(block.doc).file_name().expect("a name"));
        if let Err(problems) = plans_of_text(&path, &block.whole(), &request) {
            wrong.push(problems.to_string().replace(&dir.path().display().to_string(), "…"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let imported: String = blocks.iter().map(|block| block.text.as_str()).collect();
    for part in blocks.iter().filter(|block| block.is_part()) {
        let name = part.name().expect("a name");
        assert!(imported.contains(&format!("import: {name}")), "{}:{}: nobody imports {name}", part.doc, part.line);
    }
    for name in blocks.iter().filter(|block| !block.is_part()).filter_map(Block::name) {
        plans(&dir.path().join(name), &request).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn every_block_is_valid_by_the_schema() {
    let schema: Value = serde_json::from_str(&joinder::spec::schema_text()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for block in yaml() {
        let at = format!("{}:{}", block.doc, block.line);
        let value: Value = serde_saphyr::from_str(&block.whole()).unwrap_or_else(|e| panic!("{at}: {e}"));
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{at}: {errors:#?}");
    }
}

#[test]
fn every_command_prints_what_is_shown() {
    let dir = folder(&yaml());
    let consoles: Vec<Block> = blocks(REFERENCE).into_iter().filter(|block| block.kind == "console").collect();
    assert!(!consoles.is_empty());
    for block in consoles {
        let at = format!("{}:{}", block.doc, block.line);
        for shown in format!("\n{}", block.text).split("\n$ ").skip(1) {
            let (command, wanted) = shown.split_once('\n').expect("a line");
            let args: Vec<&str> = command.strip_prefix("joinder ").expect("joinder").split(' ').collect();
            let harmless = matches!(args[0], "lint" | "schema") || args.iter().any(|arg| matches!(*arg, "--dry-run" | "--list"));
            assert!(harmless, "{at}: {command} would do something");
            let output = Command::new(env!("CARGO_BIN_EXE_joinder")).args(&args).current_dir(dir.path()).output().expect("joinder starts");
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert_eq!(said.trim_end(), wanted.trim_end(), "{at}: {command}");
        }
    }
}

#[test]
fn every_error_is_one_that_joinder_says() {
    let dir = root().join("tests/snapshots");
    let snapshots: Vec<String> = std::fs::read_dir(dir)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path: &PathBuf| path.display().to_string().contains("cli__bad__"))
        .map(|path| std::fs::read_to_string(path).expect("read").replace("tests/bad/", ""))
        .collect();
    let errors: Vec<Block> = blocks(REFERENCE).into_iter().filter(|block| block.text.starts_with("error:")).collect();
    assert!(!errors.is_empty());
    for block in errors {
        assert!(snapshots.iter().any(|said| said.contains(block.text.trim_end())), "{}:{}: nobody says so", block.doc, block.line);
    }
}

/// Words in the inline code of a text; what is fenced does not describe.
fn described(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let code = line.split('`').skip(1).step_by(2);
            words.extend(code.flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || c == '-'))).map(str::to_owned));
        }
    }
    words
}

/// What stands below the heading that begins so, up to the next one.
fn section(text: &str, heading: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !(line.starts_with('#') && line.contains(heading)));
    lines.next()?;
    let mut fenced = false;
    let inside = lines.take_while(|line| {
        fenced ^= line.starts_with("```");
        fenced || !line.starts_with('#')
    });
    Some(inside.flat_map(|line| [line, "\n"]).collect())
}

/// The first definition that a property refers to.
fn definition<'a>(schema: &'a Value, property: &Value) -> Option<&'a Value> {
    let name = match property {
        Value::Object(map) => match map.get("$ref") {
            Some(Value::String(name)) => name.strip_prefix("#/$defs/")?,
            _ => return map.values().find_map(|value| definition(schema, value)),
        },
        Value::Array(list) => return list.iter().find_map(|value| definition(schema, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    (name != "Template").then(|| &schema["$defs"][name])
}

fn properties(of: &Value) -> Vec<(&String, &Value)> {
    of["properties"].as_object().map(|map| map.iter().collect()).unwrap_or_default()
}

/// Names of properties, and words that can be values, wherever they stand.
fn words(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => found.extend(properties.keys().cloned()),
                    ("const", Value::String(word)) => drop(found.insert(word.clone())),
                    ("enum", Value::Array(all)) => found.extend(all.iter().filter_map(Value::as_str).map(str::to_owned)),
                    _ => {}
                }
                words(value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| words(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `scripts/verify-breaks` looks for just that.
#[test]
fn each_workflow_that_breaks_something_says_how_it_fails() {
    for entry in std::fs::read_dir(root().join("workflows/breaks")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file");
        let stated = text.lines().filter_map(|line| line.strip_prefix("# fails: ")?.split_once(": "));
        assert_eq!(stated.filter(|(judgement, text)| !judgement.is_empty() && !text.is_empty()).count(), 1, "{}", path.display());
    }
}

#[test]
fn every_key_and_word_of_the_language_is_described() {
    let schema: Value = serde_json::from_str(&joinder::spec::schema_text()).expect("JSON");
    let mut wanted = BTreeSet::new();
    words(&schema, &mut wanted);
    assert!(wanted.len() > 100, "{wanted:?}");
    let described = described(&read(REFERENCE));
    let missing: Vec<&String> = wanted.difference(&described).collect();
    assert!(missing.is_empty(), "{REFERENCE} does not describe {missing:?}");
}

#[test]
fn every_step_and_expectation_has_a_heading_with_its_keys() {
    let schema: Value = serde_json::from_str(&joinder::spec::schema_text()).expect("JSON");
    let text = read(REFERENCE);
    let of_every_task = ["name", "description", "timeout", "force", "ignoreError", "when", "faults", "args", "dir"];
    let steps = properties(&schema["$defs"]["Task"]).into_iter().filter(|(key, _)| !of_every_task.contains(&key.as_str()));
    let expectations = properties(&schema["$defs"]["Expectations"]);
    let mut count = 0;
    for (key, property) in steps.chain(expectations) {
        let section = section(&text, &format!("`{key}`")).unwrap_or_else(|| panic!("{REFERENCE} has no heading with `{key}`"));
        let described = described(&section);
        let Some(definition) = definition(&schema, property) else { continue };
        for (inner, _) in properties(definition) {
            assert!(described.contains(inner), "{REFERENCE}: the section of `{key}` does not describe `{inner}`");
            count += 1;
        }
    }
    assert!(count > 30, "{count} keys");
}
