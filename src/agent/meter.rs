//! One call for all that is seen in a node beside its member's answers: what is used once a second, and what comes to be.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::cgroup::Groups;
use super::etcd_log::EtcdLog;
use super::manifest::Manifest;
use super::proc::{Component, Proc};
use super::protocol::Said;
use super::serve::{Answers, METRICS};
use super::{kube, kubelet_log};
use crate::etcd;
use crate::event::{EtcdMetrics, Notice, Usage};
use crate::sys::clock::Stamp;

/// The components that are told apart.
const COMPONENTS: [&str; 3] = ["etcd", "kube-apiserver", "kubelet"];
/// Between two looks at files.
const GLANCE: Duration = Duration::from_millis(100);
/// Between two questions to the API server, while the node is not Ready yet.
const ASK: Duration = Duration::from_millis(250);
const KUBELET_CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
/// With whose rights the Node object is asked for, and where: a control plane has its own API server, whose certificate names this
/// address by kubeadm's documents; a worker has its kubelet's rights, which end at its own Node.
const ACCESS: [(&str, Option<&str>); 2] =
    [("/etc/kubernetes/admin.conf", Some("https://127.0.0.1:6443")), ("/etc/kubernetes/kubelet.conf", None)];

/// Tells of the node called `node` until stopped.
pub(super) async fn meter(node: &str, log: Option<String>, every: Duration, answers: &Answers, stop: &CancellationToken) {
    let all = async {
        tokio::join!(
            measure(every, answers),
            follow_log(log, answers),
            follow_manifest(answers),
            register(node, answers),
            kubelet_log::follow(answers)
        );
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = all => {}
    }
}

fn notice(answers: &Answers, seen: Stamp, notice: Notice) {
    answers.say(Said::Noticed { seen, notice });
}

/// Usage, metrics, and processes that start.
async fn measure(every: Duration, answers: &Answers) {
    let (groups, proc) = (Groups::of_node(), Proc::of_node());
    let mut starts = Starts::default();
    let mut told: Option<EtcdMetrics> = None;
    loop {
        let began = Instant::now();
        for (component, times) in starts.look(&proc) {
            let name = component.name.clone();
            notice(answers, component.started(), Notice::ProcessStarted { component: name, times });
        }
        let mut used: BTreeMap<String, Usage> = BTreeMap::new();
        used.extend(groups.node(&proc).ok().map(|usage| ("node".to_owned(), usage)));
        used.extend(starts.running.iter().map(|component| (component.name.clone(), groups.component(&proc, component))));
        let seen = Stamp::now();
        // 2381 answers also while the member serves no client
        let metrics = match kube::plain(METRICS, "/metrics").await {
            Ok((200, text)) => Some(etcd::metrics(&text)),
            Ok(_) | Err(_) => None,
        };
        let fresh = metrics.filter(|metrics| told.as_ref() != Some(metrics));
        told = fresh.clone().or(told);
        answers.say(Said::Metered { seen, used, metrics: fresh });
        sleep_until(began + every).await;
    }
}

/// Which processes run, and how often each has started.
#[derive(Default)]
struct Starts {
    running: Vec<Component>,
    times: BTreeMap<String, u32>,
}

impl Starts {
    /// Those that started since the last look. The search through all processes is only made where one is missing.
    fn look(&mut self, proc: &Proc) -> Vec<(Component, u32)> {
        self.running.retain(|component| proc.runs(component));
        let missing: Vec<&str> = COMPONENTS.into_iter().filter(|name| !self.running.iter().any(|c| c.name == *name)).collect();
        if missing.is_empty() {
            return Vec::new();
        }
        let fresh = proc.find(&missing);
        self.running.extend(fresh.iter().cloned());
        let counted = fresh.into_iter().map(|component| {
            let times = self.times.entry(component.name.clone()).or_default();
            *times += 1;
            (component, *times)
        });
        counted.collect()
    }
}

/// Which members etcd was told of.
async fn follow_manifest(answers: &Answers) {
    let mut manifest = Manifest::of_node();
    loop {
        if let Some(said) = manifest.look() {
            notice(answers, Stamp::now(), said);
        }
        sleep(GLANCE).await;
    }
}

/// What etcd's log says.
async fn follow_log(file: Option<String>, answers: &Answers) {
    let mut log = file.map_or_else(EtcdLog::of_node, EtcdLog::of_file);
    loop {
        for (at, said) in log.look() {
            notice(answers, at, said);
        }
        sleep(GLANCE).await;
    }
}

/// The kubelet's certificate, then the Node object and its Ready; from the beginning again with the next certificate.
async fn register(node: &str, answers: &Answers) {
    let mut certificate = None;
    let (mut registered, mut ready) = (true, true);
    loop {
        // the link's own time: it is made anew with each certificate
        let made = std::fs::symlink_metadata(KUBELET_CERTIFICATE).and_then(|file| file.modified()).ok();
        if made != certificate {
            certificate = made;
            // a renewal is no new registration, which is known by the absence before it
            if let Some(at) = made.and_then(|at| jiff::Timestamp::try_from(at).ok()) {
                notice(answers, Stamp::of_wall(at), Notice::KubeletCertificate);
                (registered, ready) = (false, false);
            }
        }
        if !ready && certificate.is_some() {
            let path = format!("/api/v1/nodes/{node}");
            let access = ACCESS.into_iter().find(|(kubeconfig, _)| Path::new(kubeconfig).exists());
            let (kubeconfig, server) = access.unwrap_or(ACCESS[0]);
            if let Ok((200, body)) = kube::get(kubeconfig, server, &path).await {
                let seen = Stamp::now();
                if !registered {
                    notice(answers, seen, Notice::NodeRegistered);
                    registered = true;
                }
                if is_ready(&body) {
                    notice(answers, seen, Notice::NodeReady);
                    ready = true;
                }
            }
        }
        sleep(if ready { GLANCE } else { ASK }).await;
    }
}

fn is_ready(node: &str) -> bool {
    let node: Value = serde_json::from_str(node).unwrap_or_default();
    let conditions = node["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Ready" && c["status"] == "True"))
}

#[cfg(test)]
mod tests {
    use super::super::proc::tests::tree;
    use super::*;

    #[test]
    fn each_start_of_a_component_is_told_once() {
        let stat = |started: u64| format!("1 (kubelet) S 1 2 3 0 -1 4 5 6 7 8 9 10 11 12 13 14 15 16 {started} 18\n");
        let dir = tree(&[("10/comm", "kubelet\n"), ("10/stat", &stat(700))]);
        let (proc, mut starts) = (Proc::below(dir.path()), Starts::default());
        let mut look = || starts.look(&proc).into_iter().map(|(component, times)| (component.name, times)).collect::<Vec<_>>();
        assert_eq!(look(), [("kubelet".to_owned(), 1)]);
        assert_eq!(look(), []);
        std::fs::write(dir.path().join("10/stat"), stat(900)).expect("written");
        assert_eq!(look(), [("kubelet".to_owned(), 2)]);
        std::fs::remove_dir_all(dir.path().join("10")).expect("removed");
        assert_eq!(look(), []);
    }

    #[test]
    fn ready_is_what_the_condition_says() {
        let node = |status: &str| {
            format!(r#"{{"status":{{"conditions":[{{"type":"DiskPressure","status":"True"}},{{"type":"Ready","status":"{status}"}}]}}}}"#)
        };
        assert!(is_ready(&node("True")));
        assert!(!is_ready(&node("False")) && !is_ready("") && !is_ready("{}"));
    }
}
