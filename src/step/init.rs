//! `init`: `kubeadm init` on the first control plane, or the founding members of an etcd alone.

use std::time::Duration;

use super::create::create;
use super::error::StepError;
use super::member::found;
use super::world::{Commands, World};
use crate::agent::Call;
use crate::cluster::Cluster;
use crate::event::{Event, Work};
use crate::kubeadm::wishes::CopyCerts;
use crate::kubeadm::{KubeadmError, config, phases};
use crate::observe::Pace;
use crate::sys::clock::{Stamp, human};
use crate::sys::stop::Stop;
use crate::sys::wait::{FOREVER, Patience};

/// The largest store takes two minutes on a slow disk.
const PRELOAD: Duration = Duration::from_mins(5);

/// Makes the nodes if need be, starts watching, and runs `kubeadm init --upload-certs`, or founds an etcd alone.
///
/// # Errors
/// [`StepError::Kubeadm`] with kubeadm's own error line.
pub async fn init(world: &mut World, stop: &Stop) -> Result<(), StepError> {
    let cluster = create(world, stop).await?;
    world.watch(&cluster);
    if cluster.is_etcd_alone() {
        found(world, &cluster, stop).await?;
        return load(world, &cluster, stop).await;
    }
    // Either of the two ends the other when it fails.
    let both = stop.part();
    let commands = Commands::of(&cluster, &world.wishes, &world.events, &both)?;
    let first = cluster.first();
    let document = config::init(&commands.shared, commands.policy(first), &first.name, first.address)
        .map_err(|why| KubeadmError::Config { node: first.name.clone(), why })?;
    let began = Stamp::now();
    let kubeadm = commands.kubeadm();
    // kubeadm speaks to its own API server through the load balancer, so it must be let in while kubeadm still runs.
    let upload = world.wishes.copy_certs == CopyCerts::Auto;
    let run = async {
        for (command, args) in phases::init(world.wishes.phases, upload, cluster.external_etcd.is_none()) {
            if command == phases::WANTS_API_SERVER {
                cluster.admit(first, &commands.patience()).await?;
            }
            kubeadm.run(first, command, &document, args).await?;
        }
        Ok::<_, StepError>(())
    };
    let run = async { run.await.inspect_err(|_| both.soft.cancel()) };
    let patience = Patience { limit: FOREVER, ..commands.patience() };
    let admit = async { cluster.admit(first, &patience).await.inspect_err(|_| both.soft.cancel()) };
    match tokio::join!(run, admit) {
        // kubeadm would only have waited for what the load balancer could not be told
        (Err(StepError::Kubeadm(KubeadmError::Stopped { .. })), Err(why)) if !stop.soft.is_cancelled() => return Err(why.into()),
        (ran, admitted) => {
            ran?;
            admitted?;
        }
    }
    if let Some(file) = &world.kubeconfig {
        cluster.keep_kubeconfig(&world.run, file).await?;
    }
    world.events.tell(Event::Worked { work: Work::Init, on: first.name.clone(), began, took: Stamp::now().since(began) });
    load(world, &cluster, stop).await
}

/// Puts data into the store where it is wanted, and has joinder's own clients call from now on.
async fn load(world: &mut World, cluster: &Cluster, stop: &Stop) -> Result<(), StepError> {
    let Some(load) = world.load else { return Ok(()) };
    let prefix = Pace::prefix(&world.run);
    if let Some(size) = load.preload {
        let began = Stamp::now();
        let first = cluster.first();
        let agent = first.agent();
        let call = Call::Preload { etcd: Pace::access(first), prefix: format!("{prefix}preload/"), bytes: size.0 };
        let put = tokio::select! {
            () = stop.soft.cancelled() => return Err(StepError::Stopped),
            put = agent.ask(call, PRELOAD) => put,
        };
        put.map_err(|e| StepError::Preload { size: size.to_string(), why: e.to_string() })?;
        world.events.tell(Event::Note { text: format!("put {size} into etcd's store in {}", human(Stamp::now().since(began))) });
    }
    let value_size = usize::try_from(load.value().0).unwrap_or(usize::MAX);
    if let Some(observer) = &mut world.observer {
        observer.load(Pace { writes: load.writes(), reads: load.reads(), value_size, run: world.run.clone() });
    }
    Ok(())
}
