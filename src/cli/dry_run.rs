//! `--dry-run`: the plan in words.

use std::fmt::Write;

use crate::expect;
use crate::image::default_versions;
use crate::spec::Discovery;
use crate::sys::clock::human;
use crate::workflow::{self, Plan};

/// One workflow with its cluster, its tasks and their expectations.
pub(super) fn describe(plan: &Plan) -> String {
    let mut text = plan.file.clone();
    if !plan.summary.is_empty() {
        let _ = write!(text, ": {}", plan.summary);
    }
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
    let _ = write!(text, "\n  Kubernetes {kubernetes}{etcd}{image}, discovery by {discovery}\n  nodes: {}{balancer}\n", nodes.join(" "));
    for warning in &topology.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    for (at, task) in plan.tasks.iter().enumerate() {
        let force = if task.force { ", also after a failure" } else { "" };
        let ignored = if task.ignore_error { ", its failure ignored" } else { "" };
        let _ = writeln!(
            text,
            "  {}. {}: {} (at most {}{force}{ignored})",
            at + 1,
            task.name,
            workflow::describe(&task.step),
            human(task.limit)
        );
        for wanted in expect::wanted(&task.expect) {
            let _ = writeln!(text, "     expect {wanted}");
        }
    }
    text
}
