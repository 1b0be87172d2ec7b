//! `init`: `kubeadm init` on the first control plane, or the founding members of an etcd alone.

use super::create::create;
use super::error::StepError;
use super::member::found;
use super::world::{Commands, World};
use crate::event::{Event, Work};
use crate::kubeadm::{KubeadmError, config};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;
use crate::sys::wait::{FOREVER, Patience};

/// Makes the nodes if need be, starts watching, and runs `kubeadm init --upload-certs`, or founds an etcd alone.
///
/// # Errors
/// [`StepError::Kubeadm`] with kubeadm's own error line.
pub async fn init(world: &mut World, stop: &Stop) -> Result<(), StepError> {
    let cluster = create(world, stop).await?;
    world.watch(&cluster);
    if cluster.is_etcd_alone() {
        return found(world, &cluster, stop).await;
    }
    // Either of the two ends the other when it fails.
    let both = stop.part();
    let commands = Commands::of(&cluster, &world.events, &both)?;
    let first = cluster.first();
    let document = config::init(&commands.shared, &commands.policy, &first.name, first.address)
        .map_err(|why| KubeadmError::Config { node: first.name.clone(), why })?;
    let began = Stamp::now();
    let kubeadm = commands.kubeadm();
    // kubeadm speaks to its own API server through the load balancer, so it must be let in while kubeadm still runs.
    let run = async { kubeadm.run(first, "init", &document, &["--upload-certs"]).await.inspect_err(|_| both.soft.cancel()) };
    let patience = Patience { limit: FOREVER, ..commands.patience() };
    let admit = async { cluster.admit(first, &patience).await.inspect_err(|_| both.soft.cancel()) };
    match tokio::join!(run, admit) {
        // kubeadm would only have waited for what the load balancer could not be told
        (Err(KubeadmError::Stopped { .. }), Err(why)) if !stop.soft.is_cancelled() => return Err(why.into()),
        (ran, admitted) => {
            ran?;
            admitted?;
        }
    }
    if let Some(file) = &world.kubeconfig {
        cluster.keep_kubeconfig(&world.run, file).await?;
    }
    world.events.tell(Event::Worked { work: Work::Init, on: first.name.clone(), began, took: Stamp::now().since(began) });
    Ok(())
}
