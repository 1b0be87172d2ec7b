//! `joinder run --list`: the cases, one a line.

use serde_json::{Value, json};

use super::args::Output;
use super::exit::Exit;
use super::show;
use crate::workflow::Plan;

pub(super) fn list(plans: &[&Plan], output: Output) -> Exit {
    let choice = |plan: &Plan| plan.choice.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",");
    let rows = plans.iter().map(|plan| [plan.case.clone(), plan.file.clone(), choice(plan), plan.all_tasks().count().to_string()]);
    show::rows(output, ["CASE", "FILE", "CHOICE", "TASKS"], rows.collect(), &plans.iter().map(|plan| case(plan)).collect())
}

fn case(plan: &Plan) -> Value {
    let choice: serde_json::Map<String, Value> = plan.choice.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let tasks: Vec<Value> =
        plan.all_tasks().map(|task| json!({"index": task.index, "name": task.name, "step": task.step.word()})).collect();
    json!({"case": plan.case, "file": plan.file, "summary": plan.summary, "choice": choice, "tasks": tasks})
}
