//! What steps work on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::StepError;
use crate::cluster::{Cluster, CreateLimits, Images, Topology};
use crate::event::Bus;
use crate::fault::Faults;
use crate::kubeadm::config::Shared;
use crate::kubeadm::policy::Policy;
use crate::kubeadm::wishes::Wishes;
use crate::kubeadm::{Kubeadm, KubeadmError};
use crate::node::{Node, Overrides};
use crate::observe::Observer;
use crate::runtime::Runtime;
use crate::runtime::label::Lifetime;
use crate::spec::Load;
use crate::sys::redact::Redactor;
use crate::sys::stop::Stop;
use crate::sys::wait::Patience;

/// A run's settings and the cluster it has made so far.
pub struct World {
    /// What was decided.
    pub topology: Topology,
    /// From which images.
    pub images: Images,
    /// With which binaries of the user's own.
    pub overrides: Overrides,
    /// The run's id.
    pub run: String,
    /// What is random, and has no seed of its own, is drawn from this.
    pub seed: u64,
    /// Does what is made end with this process?
    pub lifetime: Lifetime,
    /// Limits of making nodes.
    pub limits: CreateLimits,
    /// How long removing may take.
    pub removal: Duration,
    /// Where the nodes' logs go when a task fails: the folder `nodes` of the case's artifacts.
    pub logs: Option<PathBuf>,
    /// Where the cluster's kubeconfig is kept while there is a cluster.
    pub kubeconfig: Option<PathBuf>,
    /// What joinder's own clients do once there is an etcd; nothing where it is off.
    pub load: Option<Load>,
    /// The engine.
    pub runtime: Arc<dyn Runtime>,
    /// Hears of everything.
    pub events: Bus,
    /// The cluster, once it is made.
    pub cluster: Option<Arc<Cluster>>,
    /// The samplers, once kubeadm init begins.
    pub observer: Option<Observer>,
    /// What is broken beyond one step, and the proxies that see kubeadm's calls to etcd.
    pub faults: Faults,
    /// What kubeadm is to do otherwise.
    pub wishes: Wishes,
}

impl World {
    /// The cluster.
    ///
    /// # Errors
    /// [`StepError::NoCluster`].
    pub fn cluster(&self) -> Result<Arc<Cluster>, StepError> {
        self.cluster.clone().ok_or(StepError::NoCluster)
    }

    /// The folder of the case's artifacts.
    pub fn artifacts(&self) -> Option<&Path> {
        self.logs.as_deref().and_then(Path::parent)
    }

    /// Removes the cluster's secrets from what is told.
    pub fn redactor(&self) -> Redactor {
        self.cluster.as_deref().map(redactor).unwrap_or_default()
    }

    /// Kubernetes in the nodes, as far as that is known before they are made.
    pub fn kubernetes(&self) -> Option<&str> {
        let made = self.cluster.as_ref().map(|cluster| cluster.kubernetes.as_str()).or(self.images.kubernetes.as_deref());
        // beside etcd alone there is none
        made.filter(|version| !version.is_empty())
    }

    /// Starts watching the nodes, once.
    pub fn watch(&mut self, cluster: &Cluster) {
        if self.observer.is_none() {
            self.observer = Some(Observer::start(&cluster.nodes, &self.events));
        }
    }
}

fn redactor(cluster: &Cluster) -> Redactor {
    let secrets = &cluster.secrets;
    Redactor::new([secrets.token.clone(), secrets.certificate_key.clone()])
}

/// What kubeadm commands on one cluster have in common.
pub(super) struct Commands {
    pub(super) shared: Shared,
    policy: Policy,
    /// On nodes whose kubeadm is another.
    others: BTreeMap<String, Policy>,
    pub(super) redact: Redactor,
    pub(super) events: Bus,
    pub(super) stop: Stop,
}

impl Commands {
    pub(super) fn of(cluster: &Cluster, wishes: &Wishes, events: &Bus, stop: &Stop) -> Result<Self, StepError> {
        let why = |why| KubeadmError::Config { node: cluster.first().name.clone(), why };
        let policy = wishes.policy(&cluster.kubernetes).map_err(why)?;
        let own = |(node, version): (&String, &String)| {
            let why = |why| KubeadmError::Config { node: node.clone(), why };
            Ok((node.clone(), wishes.policy(version).map_err(why)?))
        };
        let others = cluster.skew.iter().map(own).collect::<Result<_, KubeadmError>>()?;
        let secrets = &cluster.secrets;
        Ok(Self {
            shared: Shared {
                kubernetes: cluster.kubernetes.clone(),
                etcd_tag: cluster.etcd_tag.clone(),
                settings: cluster.kubeadm.clone(),
                name: cluster.name.clone(),
                endpoint: cluster.endpoint.clone(),
                token: secrets.token.clone(),
                certificate_key: secrets.certificate_key.clone(),
                sans: vec!["localhost".into(), "127.0.0.1".into()],
                external_etcd: cluster.external_etcd.clone(),
                wishes: wishes.clone(),
            },
            policy,
            others,
            redact: redactor(cluster),
            events: events.clone(),
            stop: stop.clone(),
        })
    }

    /// The rules for the kubeadm on a node.
    pub(super) fn policy(&self, node: &Node) -> &Policy {
        self.others.get(&node.name).unwrap_or(&self.policy)
    }

    pub(super) fn kubeadm(&self) -> Kubeadm<'_> {
        Kubeadm { events: &self.events, redact: &self.redact, stop: &self.stop, level: self.shared.wishes.level() }
    }

    /// For API servers: they take some seconds after kubeadm has ended.
    pub(super) fn patience(&self) -> Patience {
        Patience { limit: Duration::from_mins(2), every: Duration::from_millis(200), stop: self.stop.soft.clone() }
    }
}
