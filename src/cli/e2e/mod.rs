//! `joinder test e2e` and `test e2e-kubeadm`: the user's own suites, run by the user's own ginkgo.

mod args;
mod flags;
mod programs;
mod verb;

pub(super) use args::{E2eArgs, E2eKubeadmArgs};
pub(super) use verb::{kubeadm, kubernetes};
