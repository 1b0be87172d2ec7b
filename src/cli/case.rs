//! One planned workflow to a world that it can run in.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};

use super::args::NodeArgs;
use super::rounds::Turn;
use crate::cluster::{self, CreateLimits, Images, Topology};
use crate::event::{Bus, Event};
use crate::fault::Faults;
use crate::image::find;
use crate::kubeadm::wishes::Wishes;
use crate::node::Overrides;
use crate::runner::CaseResult;
use crate::runtime::Runtime;
use crate::runtime::label::{self, Lifetime};
use crate::step::World;
use crate::sys::clock::Stamp;
use crate::workflow::{self, Plan, Step};

/// A step of `create cluster`.
pub(super) const STEP_LIMIT: Duration = Duration::from_mins(15);

/// Of a plan that makes no nodes.
pub(super) const NO_IMAGES: Images =
    Images { node: String::new(), kubernetes: None, etcd: None, load_balancer: None, others: BTreeMap::new(), more_etcd: BTreeMap::new() };

/// How long removing may take.
pub(super) const REMOVAL: Duration = Duration::from_mins(2);

/// Chooses images, where nodes are made at all, and checks the user's own binaries.
pub(super) async fn world(
    plan: &Plan,
    args: &NodeArgs,
    (run, seed): (&str, u64),
    lifetime: Lifetime,
    runtime: &Arc<dyn Runtime>,
    events: &Bus,
) -> anyhow::Result<World> {
    let topology = &plan.topology;
    let mut chosen = NO_IMAGES;
    if plan.makes_nodes() {
        cluster::refuse_taken(topology, runtime.as_ref()).await?;
        chosen = images(plan, topology, args, runtime.as_ref()).await?;
    }
    if topology.etcd.is_some() && (args.kubeadm.is_some() || args.kubelet.is_some()) {
        return Err(anyhow!("{} is etcd alone: --kubeadm and --kubelet would be ignored", plan.file));
    }
    for path in [&args.kubeadm, &args.kubelet, &args.etcd].into_iter().flatten() {
        check_binary(path)?;
    }
    Ok(World {
        topology: topology.clone(),
        images: chosen,
        overrides: Overrides { joinder: None, kubeadm: args.kubeadm.clone(), kubelet: args.kubelet.clone(), etcd: args.etcd.clone() },
        run: run.to_owned(),
        seed,
        lifetime,
        limits: CreateLimits::default(),
        removal: REMOVAL,
        logs: None,
        kubeconfig: None,
        load: (!plan.load.off).then_some(plan.load),
        runtime: runtime.clone(),
        events: events.clone(),
        cluster: None,
        observer: None,
        faults: Faults::default(),
        wishes: Wishes::default(),
    })
}

/// Tells what may be wrong with the choice of images.
pub(super) fn doubts(world: &World) {
    let (is_told, what) = match world.topology.etcd {
        Some(_) => (world.images.etcd.is_some(), "an image of etcd"),
        None => (world.images.kubernetes.is_some(), "a node image"),
    };
    if !world.images.node.is_empty() && !is_told {
        let text = format!("image {} carries no label of joinder's: is it {what}?", world.images.node);
        world.events.tell(Event::Warning { text });
    }
}

/// The first event of a case.
pub(super) fn started(
    turn: &Turn,
    vars: &[(String, String)],
    images: &Images,
    (index, of): (usize, usize),
    folder: &str,
    repeat: String,
) -> Event {
    let plan = &turn.plan;
    Event::CaseStarted {
        index,
        of,
        round: turn.round,
        rounds: turn.rounds,
        seed: turn.seed,
        vars: vars.to_vec(),
        case: turn.name(),
        language: plan.language.version(),
        choice: plan.choice.clone(),
        repeat,
        folder: folder.to_owned(),
        file: plan.file.clone(),
        summary: plan.summary.clone(),
        tasks: workflow::outline(plan),
        image: images.node.clone(),
        kubernetes: images.kubernetes.clone().unwrap_or_default(),
        etcd: images.etcd.clone().unwrap_or_default(),
    }
}

/// The last event of a case.
pub(super) fn finished(index: usize, result: &CaseResult, began: Stamp) -> Event {
    let CaseResult { failed, undecided, left } = result.clone();
    Event::CaseFinished { index, failed, undecided, left, took: Stamp::now().since(began) }
}

/// The image by name where one is named, else the newest with the versions asked for, the default ones where none are.
async fn images(plan: &Plan, topology: &Topology, args: &NodeArgs, runtime: &dyn Runtime) -> anyhow::Result<Images> {
    let spec = &plan.cluster;
    let image = match args.image.as_ref().or(spec.image.as_ref()) {
        Some(name) => find::named(runtime, name).await?,
        None if topology.etcd.is_some() => find::etcd_image(runtime, spec.etcd.version.as_deref()).await?,
        None => find::node_image(runtime, spec.kubernetes.as_deref(), spec.etcd.version.as_deref()).await?,
    };
    let of = |key: &str| image.labels.get(key).cloned();
    let mut load_balancer = None;
    if topology.load_balancer {
        load_balancer = Some(find::reference(&find::load_balancer(runtime).await?).to_owned());
    }
    let mut others = BTreeMap::new();
    for version in topology.nodes.iter().filter_map(|node| node.version.as_deref()) {
        if !others.contains_key(version) {
            others.insert(version.to_owned(), find::reference(&find::node_image(runtime, Some(version), None).await?).to_owned());
        }
    }
    let mut more_etcd = BTreeMap::new();
    for version in etcd_versions(plan) {
        more_etcd.insert(version.to_owned(), find::reference(&find::etcd_image(runtime, Some(version)).await?).to_owned());
    }
    Ok(Images {
        node: find::reference(&image).to_owned(),
        kubernetes: of(label::KUBERNETES).or_else(|| spec.kubernetes.clone()),
        etcd: of(label::ETCD).or_else(|| spec.etcd.version.clone()),
        load_balancer,
        others,
        more_etcd,
    })
}

/// Versions of etcd that members are started with later.
fn etcd_versions(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.all_tasks().filter_map(|task| {
        let Step::Member(step) = &task.step else { return None };
        step.start.as_ref()?.version.as_deref()
    })
}

fn check_binary(path: &Path) -> anyhow::Result<()> {
    let start = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if start.get(..4) != Some(b"\x7fELF") {
        return Err(anyhow!("{} is no Linux program", path.display()));
    }
    Ok(())
}
