//! `init`: `kubeadm init` on the first control plane.

use super::create::create;
use super::error::StepError;
use super::world::{Commands, World};
use crate::event::{Event, Work};
use crate::kubeadm::{KubeadmError, config};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Makes the nodes if need be, starts watching, and runs `kubeadm init --upload-certs`.
///
/// # Errors
/// [`StepError::Kubeadm`] with kubeadm's own error line.
pub async fn init(world: &mut World, stop: &Stop) -> Result<(), StepError> {
    let cluster = create(world, stop).await?;
    world.watch(&cluster);
    let commands = Commands::of(&cluster, &world.events, stop)?;
    let first = cluster.first();
    let document = config::init(&commands.shared, &commands.policy, &first.name, first.address)
        .map_err(|why| KubeadmError::Config { node: first.name.clone(), why })?;
    let began = Stamp::now();
    let kubeadm = commands.kubeadm();
    // kubeadm speaks to its own API server through the load balancer, so it must be let in while kubeadm still runs.
    let ended = tokio_util::sync::CancellationToken::new();
    let run = async {
        let ran = kubeadm.run(first, "init", &document, &["--upload-certs"]).await;
        if ran.is_err() {
            ended.cancel();
        }
        ran
    };
    let patience = crate::sys::wait::Patience { limit: crate::sys::wait::FOREVER, stop: ended.clone(), ..commands.patience() };
    let (ran, admitted) = tokio::join!(run, cluster.admit(first, &patience));
    ran?;
    admitted?;
    world.events.tell(Event::Worked { work: Work::Init, on: first.name.clone(), began, took: Stamp::now().since(began) });
    Ok(())
}
