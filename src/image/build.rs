//! A plan becomes images in the engine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::balancer;
use super::cache::{Cache, remove};
use super::default_versions::{LOAD_BALANCER, NODE};
use super::engine::{self, Litter, with_left};
use super::error::ImageError;
use super::find;
use super::host::{self, Need};
use super::node;
use super::parts::components::Parts;
use super::parts::rootfs;
use super::plan::{ImagePlan, Stage};
use super::source::golang;
use super::source::gomod::Component;
use super::version::Version;
use crate::runtime::label::{IMAGE, PLAN};
use crate::runtime::{Image, Runtime};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Room that a stage takes in the cache folder, in bytes, with what it needs meanwhile.
const ROOTFS_BYTES: u64 = 1500 << 20;
const KUBERNETES_BYTES: u64 = 800 << 20;
pub(super) const TOOL_BYTES: u64 = 120 << 20;
const NODE_BYTES: u64 = 3500 << 20;

/// What a build says while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another build makes this stage; this one waits for it.
    Waiting {
        /// The stage.
        stage: &'static str,
    },
    /// A stage was there already.
    Reused {
        /// The stage.
        stage: &'static str,
    },
    /// A stage is being made.
    Started {
        /// The stage.
        stage: &'static str,
    },
    /// A stage was made.
    Finished {
        /// The stage.
        stage: &'static str,
        /// How long it took.
        took: Duration,
    },
}

/// Who listens to [`Progress`].
pub type Say<'a> = dyn Fn(Progress) + Send + Sync + 'a;

/// What a build gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The node image's name.
    pub node: String,
    /// The load balancer image's name.
    pub load_balancer: String,
    /// Were both there before?
    pub reused: bool,
    /// What could not be removed afterwards, each with the command that removes it.
    pub left: Vec<String>,
}

/// Everything that a part of the build needs to know.
pub(crate) struct Job<'a> {
    /// What is built.
    pub(crate) plan: &'a ImagePlan,
    /// The engine.
    pub(crate) runtime: &'a dyn Runtime,
    /// When to end.
    pub(crate) stop: &'a Stop,
}

impl Job<'_> {
    /// An error when a stop was asked for.
    pub(crate) fn check(&self, stage: &str) -> Result<(), ImageError> {
        if self.stop.soft.is_cancelled() { Err(ImageError::Stopped { stage: stage.to_owned() }) } else { Ok(()) }
    }
}

/// Makes the node image and the load balancer image of a plan, or finds them in the engine.
///
/// Finished stages are kept below `cache`. Several builds at once share what they have in common. On a soft stop, and on
/// any failure, what was begun is removed from the cache and from the engine.
///
/// # Errors
/// Any [`ImageError`]; what could not be removed is in it.
pub async fn build(plan: &ImagePlan, runtime: &dyn Runtime, cache: &Path, stop: &Stop, say: &Say<'_>) -> Result<Built, ImageError> {
    if let Some(built) = there(plan, runtime).await? {
        return Ok(built);
    }
    let cache = Cache::open(&cache.join("image"))?;
    engine::sweep(runtime).await?;
    check_host(plan, &cache)?;
    let parts = parts(plan, &cache, stop, say).await?;
    let held = cache.lock(NODE, &plan.digest, stop, say).await?;
    if let Some(built) = there(plan, runtime).await? {
        return Ok(built);
    }
    let job = Job { plan, runtime, stop };
    let dir = cache.fresh(NODE, &plan.digest, &held)?;
    let mut litter = Litter::default();
    let made = tokio::select! {
        made = images(&job, &parts, &dir, say, &mut litter) => made,
        // a soft stop is looked for between engine calls: one that is cut off may still be carried out
        () = stop.hard.cancelled() => Err(ImageError::Stopped { stage: "put the node image together".into() }),
    };
    let mut left = litter.clear(runtime, stop).await;
    if remove(&dir).is_err() {
        left.push(dir.display().to_string());
    }
    let (load_balancer, left) = with_left(made, left)?;
    Ok(Built { node: plan.tag.clone(), load_balancer, reused: false, left })
}

/// Both images, if the engine has them.
async fn there(plan: &ImagePlan, runtime: &dyn Runtime) -> Result<Option<Built>, ImageError> {
    let node = with_plan(runtime, NODE, &plan.digest).await?.contains(&plan.tag);
    let load_balancer = with_plan(runtime, LOAD_BALANCER, &plan.load_balancer_digest).await?.into_iter().next();
    Ok(load_balancer.filter(|_| node).map(|load_balancer| Built { node: plan.tag.clone(), load_balancer, reused: true, left: Vec::new() }))
}

fn check_host(plan: &ImagePlan, cache: &Cache) -> Result<(), ImageError> {
    let mut need = Need { bytes: NODE_BYTES, ..Need::default() };
    for stage in plan.stages.iter().filter(|s| s.taken.is_none() && cache.finished(s.name, &s.key).is_none()) {
        match stage.name {
            "rootfs" => {
                need.rootfs = true;
                need.bytes += ROOTFS_BYTES;
            }
            "kubernetes" => {
                need.go = true;
                need.bytes += KUBERNETES_BYTES;
            }
            _ => {
                need.go = true;
                need.bytes += TOOL_BYTES;
            }
        }
    }
    host::check(need, cache.root(), plan.mirror.as_deref())
}

/// All stages. The root file system waits for the network and packages, Go for the processors: side by side.
async fn parts(plan: &ImagePlan, cache: &Cache, stop: &Stop, say: &Say<'_>) -> Result<Parts, ImageError> {
    let wanted = [
        (Component::Kubernetes, &plan.kubernetes),
        (Component::Etcd, &plan.etcd),
        (Component::CoreDns, &plan.coredns),
        (Component::Crictl, &plan.crictl),
    ];
    // a version that is not served shows within seconds, not after the others were built
    for (component, version) in wanted {
        if to_make(plan, cache, component).is_some() {
            golang::fetch(component, version, cache.root(), stop).await?;
        }
    }
    // the failure of one side ends the other
    let part = stop.part();
    let base = async {
        let made = rootfs_stage(plan, cache, &part, say).await;
        made.inspect_err(|_| part.soft.cancel())
    };
    let tools = async {
        let mut folders = Vec::new();
        for (component, version) in wanted {
            let made = go_stage(known(plan, component.name())?, cache, (component, version), &part, say).await;
            folders.push(made.inspect_err(|_| part.soft.cancel())?);
        }
        let pause = pause_stage(plan, cache, &part, say).await;
        folders.push(pause.inspect_err(|_| part.soft.cancel())?);
        Ok(folders)
    };
    match tokio::join!(base, tools) {
        (Ok(rootfs), Ok(folders)) => {
            let [kubernetes, etcd, coredns, crictl, pause] = <[PathBuf; 5]>::try_from(folders)
                .map_err(|f| ImageError::Unexpected { op: "collect the binaries", why: format!("{} folders of 5", f.len()) })?;
            Ok(Parts { rootfs, kubernetes, etcd, coredns, crictl, pause })
        }
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
        // what failed first counts, not the stop that it caused on the other side
        (Err(a), Err(b)) => Err(if a.is_stop() { b } else { a }),
    }
}

/// The stage of a component, if it has still to be made.
fn to_make<'p>(plan: &'p ImagePlan, cache: &Cache, component: Component) -> Option<&'p Stage> {
    plan.stage(component.name()).filter(|s| s.taken.is_none() && cache.finished(s.name, &s.key).is_none())
}

async fn rootfs_stage(plan: &ImagePlan, cache: &Cache, stop: &Stop, say: &Say<'_>) -> Result<PathBuf, ImageError> {
    let stage = known(plan, "rootfs")?;
    let mirror = plan.mirror.clone().unwrap_or_default();
    let make = |dir: PathBuf| async move { rootfs::make(plan.debian, &plan.arch, &mirror, &dir, stop).await };
    cache.stage(stage.name, &stage.key, stop, say, make).await
}

/// The folder with the program of the pause image.
async fn pause_stage(plan: &ImagePlan, cache: &Cache, stop: &Stop, say: &Say<'_>) -> Result<PathBuf, ImageError> {
    let stage = known(plan, "pause")?;
    let make = |dir: PathBuf| async move { golang::pause(&dir, stop).await };
    Ok(cache.stage(stage.name, &stage.key, stop, say, make).await?.join("bin"))
}

/// The folder with a component's binaries.
pub(super) async fn go_stage(
    stage: &Stage,
    cache: &Cache,
    (component, version): (Component, &Version),
    stop: &Stop,
    say: &Say<'_>,
) -> Result<PathBuf, ImageError> {
    if let Some(taken) = &stage.taken {
        return Ok(taken.clone());
    }
    let make = |dir: PathBuf| async move { golang::make(component, version, &dir, stop).await };
    Ok(cache.stage(stage.name, &stage.key, stop, say, make).await?.join("bin"))
}

fn known<'p>(plan: &'p ImagePlan, name: &str) -> Result<&'p Stage, ImageError> {
    plan.stage(name).ok_or_else(|| ImageError::Unexpected { op: "build the image", why: format!("the plan has no stage {name}") })
}

/// The images themselves; returns the load balancer's name.
async fn images(job: &Job<'_>, parts: &Parts, dir: &Path, say: &Say<'_>, litter: &mut Litter) -> Result<String, ImageError> {
    let there = with_plan(job.runtime, LOAD_BALANCER, &job.plan.load_balancer_digest).await?.into_iter().next();
    let load_balancer = if let Some(name) = there {
        say(Progress::Reused { stage: LOAD_BALANCER });
        name
    } else {
        let replaced = named(job.runtime, &balancer::name(&parts.rootfs)).await?;
        let name = timed(LOAD_BALANCER, say, balancer::make(job, &parts.rootfs, dir)).await?;
        forget(job.runtime, replaced).await;
        name
    };
    let replaced = named(job.runtime, &job.plan.tag).await?;
    timed(NODE, say, node::make(job, parts, dir, litter)).await?;
    forget(job.runtime, replaced).await;
    Ok(load_balancer)
}

pub(super) async fn timed<T>(
    stage: &'static str,
    say: &Say<'_>,
    work: impl Future<Output = Result<T, ImageError>>,
) -> Result<T, ImageError> {
    let began = Stamp::now();
    say(Progress::Started { stage });
    let made = work.await?;
    say(Progress::Finished { stage, took: Stamp::now().since(began) });
    Ok(made)
}

pub(super) async fn named(runtime: &dyn Runtime, name: &str) -> Result<Option<Image>, ImageError> {
    runtime.image(name).await.map_err(ImageError::engine("look for the image"))
}

/// Names of the images of this kind that were built from this plan.
pub(super) async fn with_plan(runtime: &dyn Runtime, kind: &str, digest: &str) -> Result<Vec<String>, ImageError> {
    let labels = [format!("{IMAGE}={kind}"), format!("{PLAN}={digest}")];
    Ok(find::all(runtime, &labels).await?.into_iter().flat_map(|image| image.tags).collect())
}

/// Removes the image that had the name before, unless a container still needs it.
pub(super) async fn forget(runtime: &dyn Runtime, replaced: Option<Image>) {
    let Some(old) = replaced.filter(|image| image.labels.contains_key(PLAN)) else { return };
    if let Ok(Some(image)) = runtime.image(&old.id).await
        && image.tags.is_empty()
    {
        // refused while a container is made of it; it is then left to the engine's own pruning
        let _ = runtime.remove_image(&old.id).await;
    }
}
