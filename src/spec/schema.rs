//! The JSON Schema of workflows, from the types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::workflow::Workflow;

/// Keys of a task that are steps.
const STEPS: [&str; 19] = [
    "cmd", "create", "init", "join", "exec", "copy", "wait", "group", "export", "restart", "reset", "repair", "scale", "advise", "member",
    "fault", "heal", "delete", "import",
];

/// The schema as a file: JSON with a line feed at its end.
pub fn schema_text() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Workflow>();
    let mut schema = schema.to_value();
    for part in ["properties", "$defs"] {
        if let Some(Value::Object(all)) = schema.get_mut(part) {
            all.values_mut().for_each(allow_templates);
        }
    }
    schema["title"] = json!("joinder workflow, version 2");
    schema["properties"]["version"] = json!({"description": "The language's version: 2.", "const": 2});
    schema["properties"]["tasks"]["minItems"] = json!(1);
    schema["$defs"]["Template"] =
        json!({"description": "Written out first, then read as what stands here", "type": "string", "pattern": "\\{\\{"});
    one_step(&mut schema["$defs"]["Task"]);
    format!("{schema:#}\n")
}

/// A task has one step, or expectations alone.
fn one_step(task: &mut Value) {
    let alone = json!({"required": ["expect"], "not": {"anyOf": STEPS.map(|step| json!({"required": [step]}))}});
    let mut ways: Vec<Value> = STEPS.iter().map(|step| json!({"required": [step]})).collect();
    ways.push(alone);
    task["oneOf"] = Value::Array(ways);
    task["anyOf"] = json!([{"required": ["name"]}, {"required": ["import"]}]);
}

/// Wherever a value is typed, a text with a template may stand.
fn allow_templates(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // a template would be valid as each of an enum's words
            if let Some(ways) = object.remove("oneOf") {
                object.insert("anyOf".into(), ways);
            }
            no_null(object);
            object.values_mut().for_each(allow_templates);
            if is_typed(object) {
                let description = object.remove("description");
                let default = object.remove("default");
                let typed = Value::Object(std::mem::take(object));
                object.insert("anyOf".into(), json!([typed, {"$ref": "#/$defs/Template"}]));
                object.extend(description.map(|d| ("description".to_owned(), d)));
                object.extend(default.map(|d| ("default".to_owned(), d)));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(allow_templates),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A key that may be left out is no key that may be null.
fn no_null(object: &mut Map<String, Value>) {
    let null = json!("null");
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| *kind != null);
        if let [kind] = &kinds[..] {
            let kind = kind.clone();
            object.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(ways)) = object.get_mut("anyOf") {
        ways.retain(|way| way.get("type") != Some(&null));
    }
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
}

fn is_typed(schema: &Map<String, Value>) -> bool {
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let number = kinds.iter().any(|kind| matches!(*kind, "integer" | "boolean"));
    let word = kinds.contains(&"string") && ["enum", "pattern", "const"].iter().any(|key| schema.contains_key(*key));
    // a Scalar takes every text
    let scalar = kinds.contains(&"string") && number;
    (number || word) && !scalar
}
