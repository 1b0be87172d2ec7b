//! One engine, its nodes, and runs on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use joinder::cluster::{CreateLimits, Images};
use joinder::event::{Bus, Event, Outcome};
use joinder::fault::Faults;
use joinder::kubeadm::wishes::Wishes;
use joinder::node::Overrides;
use joinder::runner::{self, CaseResult};
use joinder::runtime::deadline::{Deadline, Limits};
use joinder::runtime::fake::FakeEngine;
use joinder::runtime::label::{self, Labels, Lifetime};
use joinder::spec::Expectations;
use joinder::step::World;
use joinder::sys::stop::Stop;
use joinder::workflow::{self, Plan, PlannedTask, Request, Step};
use tokio::time::Instant;

use super::Nodes;

/// What kubeadm would have written; the load balancer's address.
const ADMIN: &str = "server: https://10.213.0.2:6443\n";
/// No run may take longer, in virtual time.
const MOST: Duration = Duration::from_hours(1);
/// After a run, for what the engine may still carry out.
const AFTER: Duration = Duration::from_mins(10);

/// A plan from a workflow's text.
pub(crate) fn plan(text: &str) -> Plan {
    let loaded = workflow::plans_of_text("test.yaml".as_ref(), text, &Request::default());
    let mut plan = loaded.unwrap_or_else(|problems| panic!("{problems}")).plans.remove(0);
    // hours of virtual time are made of calls otherwise
    plan.load.off |= !text.contains("load:");
    plan
}

/// Create, init, join in this order, delete, with expectations.
pub(crate) fn workflow(name: &str, order: &str) -> Plan {
    plan(&format!(
        "{{version: 2, cluster: {{name: {name}, controlPlanes: 3, workers: 1}}, tasks: [
           {{name: create, timeout: 5m, create: {{}}}},
           {{name: init, timeout: 5m, init: {{}}, expect: {{members: {{voters: 1}}}}}},
           {{name: join, timeout: 5m, join: {{order: {order}}},
             expect: {{members: {{voters: 3, learners: 0}}, promotion: {{max: 30s}}, nodes: {{ready: 4, within: 10s}}}}}},
           {{name: delete, force: true, delete: {{}}}}]}}"
    ))
}

/// A task with nothing but a step; [`with`] counts it.
pub(crate) fn task(name: &str, step: Step) -> PlannedTask {
    PlannedTask {
        index: 0,
        name: name.to_owned(),
        step,
        limit: Duration::from_mins(5),
        force: false,
        ignore_error: false,
        description: String::new(),
        when: None,
        faults: Vec::new(),
        expect: Expectations::default(),
    }
}

/// A cluster `one` of three control planes and a worker that has joined, then these tasks.
pub(crate) fn with(tasks: Vec<PlannedTask>) -> Plan {
    with_size(3, 1, tasks)
}

/// The same of another size.
pub(crate) fn with_size(control_planes: u8, workers: u8, tasks: Vec<PlannedTask>) -> Plan {
    let join = if control_planes + workers > 1 { ", {name: join, join: {}}" } else { "" };
    let mut plan = plan(&format!(
        "{{version: 2, cluster: {{name: one, controlPlanes: {control_planes}, workers: {workers}, loadBalancer: true}},
          tasks: [{{name: init, init: {{}}}}{join}]}}"
    ));
    plan.tasks.extend(tasks);
    numbered(plan)
}

/// Without the making of a cluster: for steps that need none.
pub(crate) fn alone(tasks: Vec<PlannedTask>) -> Plan {
    let mut plan = with_size(1, 0, tasks);
    plan.tasks.remove(0);
    numbered(plan)
}

/// The same tasks, counted as a plan counts them.
pub(crate) fn numbered(mut plan: Plan) -> Plan {
    let mut index = 0;
    for task in &mut plan.tasks {
        index += 1;
        task.index = index;
        if let Step::Group { tasks, .. } = &mut task.step {
            for inner in tasks {
                index += 1;
                inner.index = index;
            }
        }
    }
    plan
}

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) result: CaseResult,
    pub(crate) events: Vec<Event>,
    /// How long it took, in virtual time.
    pub(crate) took: Duration,
    /// What still carries the run's label some time later.
    pub(crate) left: Vec<String>,
    /// The kubeconfig beside the artifacts, where it is there at the end.
    pub(crate) kubeconfig: Option<String>,
}

impl Ran {
    /// How each task ended, in order. Exactly one end for each is checked by [`Rig::run`].
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let end = |e: &Event| if let Event::TaskFinished { outcome, .. } = e { Some(outcome.clone()) } else { None };
        self.events.iter().filter_map(end).collect()
    }

    /// How the task of this name ended.
    pub(crate) fn outcome(&self, task: &str) -> Outcome {
        let end =
            |e: &Event| if let Event::TaskFinished { name, outcome, .. } = e { (name == task).then(|| outcome.clone()) } else { None };
        self.events.iter().find_map(end).expect("a task of that name")
    }

    /// Notes and warnings.
    pub(crate) fn told(&self) -> String {
        let text = |e: &Event| if let Event::Note { text } | Event::Warning { text } = e { Some(text.clone()) } else { None };
        self.events.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// Lines of commands: `node: line`, standard error with an exclamation mark.
    pub(crate) fn output(&self) -> Vec<String> {
        let line = |e: &Event| {
            let Event::Output { node, error, line, .. } = e else { return None };
            Some(format!("{node}{} {line}", if *error { "!" } else { ":" }))
        };
        self.events.iter().filter_map(line).collect()
    }

    /// Why the first task failed that did.
    pub(crate) fn reason(&self) -> String {
        let reason = |o: Outcome| if let Outcome::Failed { reason } = o { Some(reason) } else { None };
        self.outcomes().into_iter().find_map(reason).unwrap_or_default()
    }

    /// What the last cleaning could not remove.
    pub(crate) fn told_left(&self) -> Vec<String> {
        let left = |e: &Event| if let Event::Cleaned { left, .. } = e { Some(left.clone()) } else { None };
        self.events.iter().rev().find_map(left).unwrap_or_default()
    }
}

/// An engine with nodes that work.
pub(crate) struct Rig {
    pub(crate) engine: FakeEngine,
    pub(crate) nodes: Nodes,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with_kubernetes("v1.36.3")
    }

    /// With nodes of this version.
    pub(crate) fn with_kubernetes(version: &str) -> Self {
        let nodes = Nodes::default();
        let engine = FakeEngine::new(Arc::new(nodes.clone()));
        engine.add_image("node", Labels::new(), files(version));
        engine.add_image("balancer", Labels::new(), []);
        Self { engine, nodes }
    }

    /// With one more file in each node.
    pub(crate) fn add_to_image(&self, path: &str, text: &str) {
        self.engine.add_image("node", Labels::new(), files("v1.36.3").into_iter().chain([(path.to_owned(), text.as_bytes().to_vec())]));
    }

    /// Runs a plan as the run `id`.
    pub(crate) async fn run(&self, plan: &Plan, id: &str, stop: &Stop) -> Ran {
        self.run_and(plan, id, stop, false).await
    }

    /// Runs a plan and keeps the cluster where `retain`.
    pub(crate) async fn run_and(&self, plan: &Plan, id: &str, stop: &Stop, retain: bool) -> Ran {
        self.run_timed(plan, id, stop, retain, AFTER).await
    }

    /// Looks for what is left some time after the run; a real clock has none to spare.
    pub(crate) async fn run_timed(&self, plan: &Plan, id: &str, stop: &Stop, retain: bool, after: Duration) -> Ran {
        let events = Bus::new();
        let mut heard = events.subscribe();
        let logs = tempfile::tempdir().expect("a folder");
        let kubeconfig = logs.path().join("kubeconfig");
        let mut world = World {
            topology: plan.topology.clone(),
            images: Images {
                node: "node".into(),
                kubernetes: None,
                etcd: Some("3.6.16".into()),
                load_balancer: Some("balancer".into()),
                others: plan
                    .topology
                    .nodes
                    .iter()
                    .filter_map(|node| node.version.clone())
                    .map(|v| (v.clone(), format!("node-{v}")))
                    .collect(),
                more_etcd: BTreeMap::new(),
            },
            // any small file: nobody starts it
            overrides: Overrides { joinder: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into()), ..Overrides::default() },
            run: id.to_owned(),
            seed: 7,
            lifetime: Lifetime::Process,
            limits: CreateLimits::default(),
            removal: Duration::from_mins(2),
            logs: Some(logs.path().join("nodes")),
            kubeconfig: Some(kubeconfig.clone()),
            load: (!plan.load.off).then_some(plan.load),
            runtime: Arc::new(Deadline::new(Arc::new(self.engine.clone()), Limits::default())),
            events: events.clone(),
            cluster: None,
            observer: None,
            faults: Faults::default(),
            wishes: Wishes::default(),
        };
        let began = Instant::now();
        let run = tokio::time::timeout(MOST, runner::run(plan, &mut world, stop, retain));
        let result = run.await.expect("a run ends, whatever the engine does");
        let took = began.elapsed();
        assert!(world.observer.is_none(), "nobody watches after the end");
        drop(world);
        tokio::time::sleep(after).await;
        events.close();
        let mut told = Vec::new();
        while let Some(next) = heard.recv().await {
            told.push(next.event);
        }
        let mut finished: Vec<usize> =
            told.iter().filter_map(|e| if let Event::TaskFinished { index, .. } = e { Some(*index) } else { None }).collect();
        finished.sort_unstable();
        let inner = |task: &PlannedTask| if let Step::Group { tasks, .. } = &task.step { tasks.len() } else { 0 };
        let all = plan.tasks.iter().map(|task| 1 + inner(task)).sum::<usize>();
        assert_eq!(finished, (1..=all).collect::<Vec<_>>(), "each task is told to be finished exactly once");
        let left = self.engine.holds(&[format!("{}={id}", label::RUN)]);
        Ran { result, events: told, took, left, kubeconfig: std::fs::read_to_string(kubeconfig).ok() }
    }
}

/// What a node image has.
fn files(version: &str) -> Vec<(String, Vec<u8>)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
    vec![
        file("/kind/version", &format!("{version}\n")),
        file("/etc/kubernetes/pki/ca.crt", "CA"),
        file("/etc/kubernetes/admin.conf", ADMIN),
    ]
}
