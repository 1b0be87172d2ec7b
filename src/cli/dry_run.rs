//! `--dry-run`: the plan in words.

use std::fmt::Write;

use crate::cluster::EtcdAlone;
use crate::expect;
use crate::image::default_versions;
use crate::spec::{Discovery, Load};
use crate::sys::clock::human;
use crate::workflow::{self, Language, Plan, PlannedTask, Step};

/// One workflow with its cluster, its tasks and their expectations.
pub(super) fn describe(plan: &Plan) -> String {
    let choice: Vec<String> = plan.choice.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut text = if choice.is_empty() { plan.file.clone() } else { format!("{} [{}]", plan.file, choice.join(" ")) };
    if !plan.summary.trim().is_empty() {
        let _ = write!(text, ": {}", plan.summary.trim_end());
    }
    match &plan.language {
        Language::V2 => describe_cluster(plan, &mut text),
        Language::V1 { artifacts } => drop(writeln!(text, "\n  artifacts: {}", artifacts.display())),
    }
    for warning in &plan.topology.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    for known in &plan.known_bad {
        let _ = writeln!(text, "  known bad: task {:?} fails, {}", known.fails.step, known.issue);
    }
    for task in &plan.tasks {
        describe_task(task, plan.topology.etcd.as_ref(), "  ", &mut text);
    }
    text
}

fn describe_cluster(plan: &Plan, text: &mut String) {
    let (spec, topology) = (&plan.cluster, &plan.topology);
    let kubernetes = spec.kubernetes.as_deref().unwrap_or(default_versions::KUBERNETES);
    let etcd = spec.etcd.version.as_deref().map(|v| format!(", etcd {v}")).unwrap_or_default();
    let image = spec.image.as_deref().map(|i| format!(", image {i}")).unwrap_or_default();
    let nodes: Vec<&str> = topology.nodes.iter().map(|n| n.name.as_str()).collect();
    let balancer = if topology.load_balancer { format!(" {}", topology.load_balancer_name()) } else { String::new() };
    let discovery = match topology.discovery {
        Discovery::File => "file",
        Discovery::Token => "token",
    };
    let what = match &topology.etcd {
        Some(_) => format!("etcd {} alone{image}", spec.etcd.version.as_deref().unwrap_or(default_versions::ETCD)),
        None => format!("Kubernetes {kubernetes}{etcd}{image}, discovery by {discovery}"),
    };
    let _ = write!(text, "\n  {what}\n  nodes: {}{balancer}\n", nodes.join(" "));
    for (name, value) in topology.etcd.iter().flat_map(|etcd| &etcd.args) {
        let _ = writeln!(text, "  etcd --{name}={value}");
    }
    text.push_str(&load(&plan.load));
    if !plan.invariants.off.is_empty() {
        let off: Vec<&str> = plan.invariants.off.iter().map(|one| one.title()).collect();
        let _ = writeln!(text, "  not judged: {}", off.join(", "));
    }
}

/// What joinder's own clients do, where the file says so.
fn load(load: &Load) -> String {
    if load.off {
        return "  load: off\n".into();
    }
    if *load == Load::default() {
        return String::new();
    }
    let preload = load.preload.map(|size| format!(", {size} put into the store before")).unwrap_or_default();
    format!("  load: {} writes a second by each writer, values of {}{preload}\n", load.writes(), load.value())
}

/// A task, and those of a group below it.
fn describe_task(task: &PlannedTask, etcd: Option<&EtcdAlone>, indent: &str, text: &mut String) {
    let force = if task.force { ", also after a failure" } else { "" };
    let ignored = if task.ignore_error { ", its failure ignored" } else { "" };
    let when = task.when.as_ref().map(|when| format!(", only with {when}")).unwrap_or_default();
    let (index, name, what) = (task.index, &task.name, workflow::describe(&task.step, etcd));
    let _ = writeln!(text, "{indent}{index}. {name}: {what} (at most {}{force}{ignored}{when})", human(task.limit));
    for fault in &task.faults {
        let _ = writeln!(text, "{indent}   fault {}", workflow::describe_fault(fault));
    }
    for wanted in expect::wanted(&task.expect) {
        let _ = writeln!(text, "{indent}   expect {wanted}");
    }
    if let Step::Group { tasks, .. } = &task.step {
        for inner in tasks {
            describe_task(inner, etcd, &format!("{indent}   "), text);
        }
    }
}
