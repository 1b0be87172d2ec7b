//! `joinder create cluster`: a cluster that stays until it is deleted.

use std::path::PathBuf;

use anyhow::anyhow;
use tokio::task::JoinSet;

use super::context::Signals;
use super::create_args::{CreateArgs, JoinOrder};
use super::exit::Exit;
use super::kinder::{self, Called};
use super::rounds::Turn;
use super::run::{artifacts_dir, begun};
use super::{case, diag};
use crate::cluster::{Extras, Topology};
use crate::event::{self, Bus, Event};
use crate::image::find;
use crate::report::{Artifacts, Reporter, Verbosity};
use crate::runner;
use crate::runtime::label::Lifetime;
use crate::spec::{ClusterSpec, Compare, EtcdSpec, Expectations, Invariants, Join, Load, NodesReady, Order};
use crate::sys::clock::Stamp;
use crate::sys::random;
use crate::workflow::{Language, Plan, PlannedTask, Step};

pub(super) async fn cluster(args: CreateArgs, called: Called) -> Exit {
    let spec = ClusterSpec {
        kubernetes: args.kubernetes.clone(),
        etcd: EtcdSpec { version: args.etcd_version.clone(), ..EtcdSpec::default() },
        control_planes: Some(args.control_plane_nodes),
        workers: args.worker_nodes,
        load_balancer: args.external_load_balancer.then_some(true),
        versions: args.node_version.clone(),
        ..ClusterSpec::default()
    };
    let mut topology = match Topology::of(&spec, args.nodes.name.as_deref()) {
        Ok(topology) => topology,
        Err(problems) => {
            diag::say(&problems.iter().map(|p| format!("error: {p}")).collect::<Vec<_>>().join("\n"));
            return Exit::BadCommandLine;
        }
    };
    topology.extras = Extras { compat: args.compat, external_etcd: None, binds: args.volume.clone() };
    if args.external_etcd && !args.nodes_only {
        return diag::fail(Exit::BadCommandLine, &anyhow!("--external-etcd needs --nodes-only: `joinder do kubeadm-init` comes then"));
    }
    let plan = Plan {
        language: Language::V2,
        case: String::new(),
        choice: Vec::new(),
        // whoever makes a cluster to work with wants nothing in it that he has not put there
        load: Load { off: true, ..Load::default() },
        known_bad: Vec::new(),
        // it makes a cluster, and judges none
        invariants: Invariants::none(),
        file: format!("cluster {}", topology.name),
        summary: String::new(),
        tasks: tasks(&args, &topology),
        cluster: spec,
        topology,
    };
    let signals = Signals::listen();
    match execute(&args, plan, called, &signals).await {
        Ok(exit) => exit,
        Err((exit, error)) => diag::fail(signals.or(exit), &error),
    }
}

/// The same steps that a workflow would name.
fn tasks(args: &CreateArgs, topology: &Topology) -> Vec<PlannedTask> {
    let task = |index: usize, name: &str, step: Step, expect: Expectations| PlannedTask {
        index,
        description: String::new(),
        when: None,
        faults: Vec::new(),
        name: name.to_owned(),
        step,
        limit: case::STEP_LIMIT,
        force: false,
        ignore_error: false,
        expect,
    };
    let mut tasks = vec![task(1, "create", Step::Create, Expectations::default())];
    if args.nodes_only {
        return tasks;
    }
    tasks.push(task(2, "init", Step::Init, Expectations::default()));
    if topology.nodes.len() > 1 {
        let order = match args.order {
            JoinOrder::Serial => Order::Serial,
            JoinOrder::Parallel => Order::Parallel,
        };
        let join = Join { order, ..Join::default() };
        tasks.push(task(3, "join", Step::Join(join), Expectations::default()));
    }
    let ready = Expectations {
        nodes: Some(NodesReady { ready: Compare::just(topology.nodes.len()), within: None, when: None }),
        ..Expectations::default()
    };
    tasks.push(task(if topology.nodes.len() > 1 { 4 } else { 3 }, "ready", Step::Expect, ready));
    tasks
}

async fn execute(args: &CreateArgs, mut plan: Plan, called: Called, signals: &Signals) -> Result<Exit, (Exit, anyhow::Error)> {
    let environment = |e: anyhow::Error| (Exit::BadEnvironment, e);
    let (runtime, about) = signals.engine().await.map_err(|e| environment(e.into()))?;
    let run = random::word(8).map_err(|e| environment(e.into()))?;
    let seed = random::seed().map_err(|e| environment(e.into()))?;
    let events = Bus::new();
    if args.external_etcd {
        let image = find::etcd_image(runtime.as_ref(), args.etcd_version.as_deref()).await.map_err(|e| environment(e.into()))?;
        plan.topology.extras.external_etcd = Some(find::reference(&image).to_owned());
    }
    let plan = &plan;
    let mut world = case::world(plan, &args.nodes, (&run, seed), Lifetime::Kept, &runtime, &events).await.map_err(environment)?;
    let (mut artifacts, mut file) = (None, kinder::kubeconfig_file(&plan.topology.name));
    // kinder writes nothing, and where it is a workflow's task, the folder is the workflow's
    if !called.is_kinder() {
        let dir = artifacts_dir(args.artifacts.as_deref(), &run).map_err(environment)?;
        artifacts = Some(Artifacts::create(&dir).map_err(|e| environment(e.into()))?);
        begun(&dir, &run);
        file = Some(dir.join("kubeconfig"));
        world.logs = Some(dir.join("nodes"));
    }
    world.kubeconfig.clone_from(&file);

    let verbosity = if args.verbose { Verbosity::Verbose } else { Verbosity::Normal };
    let began = Stamp::now();
    let mut reporter = JoinSet::new();
    reporter.spawn(Reporter::new(artifacts, verbosity).listen(events.subscribe()));
    let engine = about.describe();
    events.tell(Event::RunStarted { format: event::FORMAT, run, joinder: env!("CARGO_PKG_VERSION").into(), engine });
    let turn = Turn { plan: plan.clone(), round: 1, rounds: 1, seed };
    events.tell(case::started(&turn, &[], &world.images, (1, 1), "", String::new()));
    case::doubts(&world);
    // Kept while it goes well; what a failure leaves is removed unless --retain.
    let mut result = runner::run(plan, &mut world, &signals.stop, true).await;
    let failed = result.failed.is_some() || signals.caught().is_some();
    if failed && !args.nodes.retain {
        result.left = runner::clean_up(&mut world, &signals.stop).await.is_err();
    }
    let exit = Exit::of(&result, signals.caught());
    events.tell(Event::RunFinished { exit: exit.code(), took: Stamp::now().since(began) });
    events.close();
    reporter.join_all().await;
    if !failed {
        diag::say(&hint(&plan.topology.name, file.as_ref().filter(|_| !args.nodes_only), called));
    }
    Ok(exit)
}

fn hint(name: &str, kubeconfig: Option<&PathBuf>, called: Called) -> String {
    let (program, usual) = if called.is_kinder() { ("kinder", "kind") } else { ("joinder", crate::cluster::DEFAULT_NAME) };
    let option = if name == usual { String::new() } else { format!(" --name {name}") };
    let first = match kubeconfig {
        None => format!("{program} do kubeadm-init{option}"),
        Some(file) => format!("kubectl --kubeconfig {} get nodes", file.display()),
    };
    format!("\n{first}\n{program} delete cluster{option}")
}
