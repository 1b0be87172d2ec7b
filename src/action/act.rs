//! From an action's name to what it does.

use std::sync::Arc;

use super::error::ActionError;
use super::ground::{Ground, Options};
use super::{balance, certs, config, external_ca, info, init, join, reset, smoke, upgrade};
use crate::event::Bus;
use crate::runtime::Runtime;
use crate::sys::stop::Stop;

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Shows nodes, pods, images and etcd's members.
    ClusterInfo,
    /// Copies the first control plane's certificate authorities to the others.
    CopyCerts,
    /// Writes kubeadm's configuration into the nodes.
    KubeadmConfig,
    /// `kubeadm init`.
    KubeadmInit,
    /// `kubeadm join`.
    KubeadmJoin,
    /// `kubeadm reset`.
    KubeadmReset,
    /// `kubeadm upgrade`, then the kubelets.
    KubeadmUpgrade,
    /// Has the load balancer send to the control planes that are there.
    LoadBalancer,
    /// Signs all certificates and takes the authority's key away.
    SetupExternalCa,
    /// Runs a pod behind a service, and asks it and for it.
    SmokeTest,
}

/// Does it, on the cluster that is named.
///
/// # Errors
/// [`ActionError`].
pub async fn act(action: Action, options: Options, runtime: &Arc<dyn Runtime>, events: &Bus, stop: &Stop) -> Result<(), ActionError> {
    let mut options = options;
    // it may well be written before init has run
    options.wishes.is_early = action == Action::KubeadmConfig;
    let mut ground = Ground::of(options, runtime, events, stop).await?;
    match action {
        Action::ClusterInfo => info::info(&ground).await,
        Action::CopyCerts => certs::to_others(&ground).await,
        Action::KubeadmConfig => config::config(&ground).await,
        Action::KubeadmInit => init::init(&mut ground).await,
        Action::KubeadmJoin => join::join(&mut ground).await,
        Action::KubeadmReset => reset::reset(&ground).await,
        Action::KubeadmUpgrade => upgrade::upgrade(&ground).await,
        Action::LoadBalancer => balance::balance(&ground).await,
        Action::SetupExternalCa => external_ca::setup(&ground).await,
        Action::SmokeTest => smoke::test(&ground).await,
    }
}
