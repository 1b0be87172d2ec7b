//! The real thing: a container engine, node images, kubeadm and etcd. Runs where `JOINDER_REAL=1` says that all of that is
//! there (`scripts/test` prepares it); elsewhere each test says that it did not run.
//!
//! `JOINDER_BIN` names the program under test; without it, cargo's own build is used.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a test looks at the program from outside, by the wall clock and the environment"
)]

mod real;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::real::{binary, may_run};
use joinder::agent::{Call, Said};
use joinder::runtime::Runtime;
use joinder::runtime::docker::DockerEngine;
use joinder::runtime::label::{self, Labels};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Clusters are heavy: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> Option<MutexGuard<'static, ()>> {
    if !may_run("an engine and a node image") {
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn joinder(args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(args: &[&str]) -> Output {
    joinder(args).output().expect("joinder starts")
}

fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What the engine has of these tests' clusters. (`scripts/test` compares the whole engine before and after.)
fn inventory() -> BTreeSet<String> {
    block(async {
        let engine = engine().await;
        let labels = [label::CLUSTER.to_owned()];
        let ours = |labels: &Labels| labels.get(label::CLUSTER).is_some_and(|name| name.starts_with("real-"));
        let mut all = BTreeSet::new();
        let containers = engine.containers(&labels).await.expect("listed");
        all.extend(containers.into_iter().filter(|c| ours(&c.labels)).map(|c| format!("container {}", c.name)));
        let networks = engine.networks(&labels).await.expect("listed");
        all.extend(networks.into_iter().filter(|n| ours(&n.labels)).map(|n| format!("network {}", n.name)));
        let volumes = engine.volumes(&labels).await.expect("listed");
        all.extend(volumes.into_iter().filter(|v| ours(&v.labels)).map(|v| format!("volume {}", v.name)));
        all
    })
}

async fn engine() -> Arc<dyn Runtime> {
    Arc::new(DockerEngine::connect().await.expect("an engine"))
}

fn block<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

/// A cluster that is deleted whatever happens.
struct Kept(&'static str);

impl Drop for Kept {
    fn drop(&mut self) {
        run(&["delete", "cluster", "--name", self.0]);
    }
}

impl Kept {
    fn first(&self) -> String {
        format!("{}-control-plane-1", self.0)
    }

    fn kubectl(&self, args: &[&str]) -> Output {
        let first = self.first();
        let mut all = vec!["exec", "--name", self.0, first.as_str(), "--", "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"];
        all.extend(args);
        run(&all)
    }

    /// Applies a manifest by way of a file in the first node.
    fn apply(&self, manifest: &str) {
        let script = format!(
            "cat > /kind/test.yaml <<'EOF'\n{manifest}\nEOF\nkubectl --kubeconfig /etc/kubernetes/admin.conf apply -f /kind/test.yaml"
        );
        let output = run(&["exec", "--name", self.0, &self.first(), "--", "sh", "-c", &script]);
        assert!(output.status.success(), "{}", text(&output));
    }

    /// Waits until kubectl prints just this.
    fn eventually(&self, limit: u64, args: &[&str], want: &str) {
        let end = Instant::now() + Duration::from_secs(limit);
        let mut last = String::new();
        while Instant::now() < end {
            let output = self.kubectl(args);
            String::from_utf8_lossy(&output.stdout).trim().clone_into(&mut last);
            if last == want {
                return;
            }
            pause(500);
        }
        panic!(
            "kubectl {args:?}: wanted {want:?} within {limit} s, last {last:?}\n{}",
            text(&self.kubectl(&["get", "pods", "-A", "-o", "wide"]))
        );
    }
}

fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn events(dir: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(dir.join("events.jsonl")).expect("events.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

#[test]
fn two_control_planes_join_at_once_and_nothing_is_left() {
    let Some(_turn) = turn() else { return };
    let before = inventory();
    let dir = tempfile::tempdir().expect("a folder");
    let output = run(&["run", "workflows/join/parallel.yaml", "--name", "real-p", "--artifacts", &dir.path().display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(inventory(), before);

    let events = events(dir.path());
    let seqs: Vec<u64> = events.iter().filter_map(|e| e["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "numbered without gaps");
    assert_eq!(events.last().map(|e| e["type"].clone()), Some("run-finished".into()));
    let moments: Vec<&str> = events.iter().filter(|e| e["type"] == "member").filter_map(|e| e["moment"].as_str()).collect();
    for moment in ["announced", "promoted"] {
        assert_eq!(moments.iter().filter(|m| **m == moment).count(), 2, "{moments:?}");
    }
    // One learner slot: the second member is announced after the first one's promotion.
    let order: Vec<&str> = moments.into_iter().filter(|m| ["announced", "promoted"].contains(m)).collect();
    assert_eq!(order, ["announced", "promoted", "announced", "promoted"]);
    let all = std::fs::read_to_string(dir.path().join("events.jsonl")).expect("read");
    assert!(!all.contains("PRIVATE KEY") && !all.contains("client-key-data"));
    moments_are_seen_when_etcd_says(&events);
    the_time_of_each_join_has_names(&events);
}

/// Our looks against etcd's own stamps: a moment is seen within one interval and 50 ms of the first member's log line. Where the
/// looks were further apart than they should be, the machine was too busy to say, and that is said instead.
fn moments_are_seen_when_etcd_says(events: &[serde_json::Value]) {
    const SLACK: f64 = 50.0;
    let ms = |stamp: &serde_json::Value| stamp["mono_ns"].as_u64().expect("a stamp") as f64 / 1e6;
    let mut compared = 0;
    // the interval is halved while somebody learns
    for (moment, word, interval) in [("announced", "added", 100.0), ("promoted", "promoted", 50.0)] {
        for seen in events.iter().filter(|e| e["type"] == "member" && e["moment"] == moment) {
            let logged = events.iter().filter(|e| e["type"] == "noticed" && e["word"] == word && e["member"] == seen["id"]);
            let logged = logged.map(|e| ms(&e["seen"])).min_by(f64::total_cmp).expect("etcd's own word of it");
            let sample = events.iter().find(|e| e["type"] == "etcd" && e["sample"]["seen"] == seen["seen"]).expect("its sample");
            let apart = sample["sample"]["gap_ms"].as_f64().unwrap_or(f64::INFINITY);
            let late = ms(&seen["seen"]) - logged;
            assert!(late > -1.0, "{moment} was seen {late} ms before etcd had it");
            compared += 1;
            if apart > interval + SLACK / 2.0 {
                let why = format!("{moment}: undecided: looks were {apart} ms apart instead of {interval}; it was seen {late:.0} ms late");
                let _ = std::io::stderr().write_all(format!("{why}\n").as_bytes());
                continue;
            }
            assert!(late <= interval + SLACK, "{moment} was seen {late} ms late, with looks {apart} ms apart");
        }
    }
    assert_eq!(compared, 4, "two members, two moments each");
}

/// The parts of each join fill it, and what has no name is little.
fn the_time_of_each_join_has_names(events: &[serde_json::Value]) {
    let seconds = |e: &serde_json::Value| e["took"]["secs"].as_f64().unwrap_or(0.0) + e["took"]["nanos"].as_f64().unwrap_or(0.0) / 1e9;
    for whole in events.iter().filter(|e| e["type"] == "span" && e["span"] == "join") {
        let parts = || events.iter().filter(|e| e["type"] == "span" && e["node"] == whole["node"] && e["span"] != "join");
        let sum: f64 = parts().map(seconds).sum();
        assert!((sum - seconds(whole)).abs() < 0.001, "{sum} of {whole}");
        let rest: f64 = parts().filter(|e| e["span"] == "rest").map(seconds).sum();
        assert!(rest <= 0.05 * seconds(whole), "{rest} s without a name of {whole}");
    }
    assert_eq!(events.iter().filter(|e| e["type"] == "span" && e["span"] == "join").count(), 2);
}

#[test]
fn a_wrong_expectation_exits_100_and_says_what_was_seen() {
    let Some(_turn) = turn() else { return };
    let before = inventory();
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("nine.yaml");
    let single = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/join/single.yaml")).expect("read");
    let nine = single.replace("voters: 1,", "within: 1s, voters: 9,");
    std::fs::write(&file, nine).expect("written");
    let dir_arg = dir.path().display().to_string();
    let output = run(&["run", &file.display().to_string(), "--name", "real-9", "--artifacts", &dir_arg]);
    assert_eq!(output.status.code(), Some(100), "{}", text(&output));
    assert!(
        text(&output).contains("wanted voters 9")
            && text(&output).contains("saw voters 1, learners 0, started 1: real-9-control-plane-1 (voter)")
    );
    assert!(dir.path().join("nodes/real-9-control-plane-1/kubelet.log").exists(), "logs of a failed run are kept");
    assert_eq!(inventory(), before);
}

#[test]
fn a_kept_cluster_works_as_people_use_it_and_survives_a_crash_of_all_nodes() {
    let Some(_turn) = turn() else { return };
    let before = inventory();
    let cluster = Kept("real-k");
    let output = run(&["create", "cluster", "--name", cluster.0, "--control-plane-nodes", "3", "--worker-nodes", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    pods_reach_pods_and_names_resolve(&cluster);
    the_verbs_tell_of_it(&cluster);
    the_agent_reads_metrics_and_control_groups(&cluster);
    nodes_crashed_at_once_come_back(&cluster);
    let output = run(&["delete", "cluster", "--name", cluster.0]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(inventory(), before);
}

/// The etcd image has a server and a client that look names up: a pod of it on the worker, asked from a pod on a control
/// plane by its Service's name and by its own address.
fn pods_reach_pods_and_names_resolve(cluster: &Kept) {
    cluster.eventually(
        120,
        &["get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-dns", "-o", "jsonpath={.items[*].status.phase}"],
        "Running Running",
    );
    let image = cluster.kubectl(&[
        "get",
        "pods",
        "-n",
        "kube-system",
        "-l",
        "component=etcd",
        "-o",
        "jsonpath={.items[0].spec.containers[0].image}",
    ]);
    let image = String::from_utf8_lossy(&image.stdout).trim().to_owned();
    let worker = format!("{}-worker-1", cluster.0);
    cluster.apply(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: server, labels: {{app: server}}}}\nspec:\n  nodeName: {worker}\n  containers:\n  - name: etcd\n    image: {image}\n    imagePullPolicy: Never\n    command: [etcd, --listen-client-urls=http://0.0.0.0:2379, --advertise-client-urls=http://server:2379]\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: server}}\nspec:\n  selector: {{app: server}}\n  ports: [{{port: 2379}}]"
    ));
    cluster.eventually(90, &["get", "pod", "server", "-o", "jsonpath={.status.phase}"], "Running");
    let address =
        String::from_utf8_lossy(&cluster.kubectl(&["get", "pod", "server", "-o", "jsonpath={.status.podIP}"]).stdout).trim().to_owned();
    for (name, endpoint) in [("by-name", "server.default.svc.cluster.local"), ("by-address", address.as_str())] {
        cluster.apply(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  nodeName: {}\n  restartPolicy: OnFailure\n  containers:\n  - name: etcdctl\n    image: {image}\n    imagePullPolicy: Never\n    command: [etcdctl, '--endpoints=http://{endpoint}:2379', put, {name}, done]",
            cluster.first()
        ));
    }
    for name in ["by-name", "by-address"] {
        cluster.eventually(90, &["get", "pod", name, "-o", "jsonpath={.status.phase}"], "Succeeded");
    }
}

fn the_verbs_tell_of_it(cluster: &Kept) {
    let out = |args: &[&str]| String::from_utf8_lossy(&run(args).stdout).trim().to_owned();
    assert!(out(&["get", "clusters"]).lines().any(|l| l == cluster.0));
    assert_eq!(out(&["get", "nodes", "--name", cluster.0]).lines().count(), 5, "three control planes, a worker, a load balancer");
    assert_eq!(run(&["exec", "--name", cluster.0, "@w1", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    let kubeconfig = out(&["get", "kubeconfig", "--name", cluster.0]);
    let server = kubeconfig.lines().find_map(|l| l.trim().strip_prefix("server: ")).expect("a server").to_owned();
    assert!(server.starts_with("https://127.0.0.1:"), "{server}");
    let ready = Command::new("curl").args(["-sk", "--max-time", "5", &format!("{server}/readyz")]).output().expect("curl");
    assert_eq!(String::from_utf8_lossy(&ready.stdout), "ok", "through the load balancer's port on the host");
    let dir = tempfile::tempdir().expect("a folder");
    let output = run(&["export", "logs", "--name", cluster.0, &dir.path().display().to_string()]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(dir.path().join(cluster.first()).join("manifests/etcd.yaml").exists());
    // an error captures where it comes from: the release program must hold what that reads
    let taken = joinder(&["create", "cluster", "--name", cluster.0]).env("RUST_BACKTRACE", "1").output().expect("joinder starts");
    assert_eq!(taken.status.code(), Some(4));
    assert!(text(&taken).contains("is there already"), "{}", text(&taken));
}

fn the_agent_reads_metrics_and_control_groups(cluster: &Kept) {
    block(async {
        let limit = Duration::from_secs(10);
        let attached = joinder::cluster::attach(&engine().await, cluster.0, limit).await.expect("attached");
        for node in attached.nodes.iter().take(3) {
            let Ok(Said::Answer { status: 200, body }) = node.agent().ask(Call::Metrics, limit).await else { panic!("no metrics") };
            assert!(body.lines().any(|l| l == "etcd_server_is_learner 0"), "{}", node.name);
            let Ok(Said::Used { usage }) = node.agent().ask(Call::Usage, limit).await else { panic!("no usage") };
            assert!(usage.cpu_us > 1_000_000 && usage.memory > 100 << 20, "{usage:?}");
        }
    });
}

fn nodes_crashed_at_once_come_back(cluster: &Kept) {
    let members = || {
        let first = cluster.first();
        let etcd = [
            "etcdctl",
            "--cacert=/etc/kubernetes/pki/etcd/ca.crt",
            "--cert=/etc/kubernetes/pki/etcd/server.crt",
            "--key=/etc/kubernetes/pki/etcd/server.key",
            "member",
            "list",
        ];
        let args: Vec<&str> = ["exec", "--name", cluster.0, first.as_str(), "--"].into_iter().chain(etcd).collect();
        let output = run(&args);
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let before = members().expect("a member list");
    assert_eq!(before.lines().count(), 3);
    block(async {
        let engine = engine().await;
        let mut names: Vec<String> = (1..=3).map(|n| format!("{}-control-plane-{n}", cluster.0)).collect();
        names.push(format!("{}-worker-1", cluster.0));
        for name in &names {
            engine.signal(name, "SIGKILL").await.expect("killed");
        }
        for name in names.iter().rev() {
            engine.start(name).await.expect("started");
        }
    });
    let end = Instant::now() + Duration::from_mins(3);
    while members().as_ref() != Some(&before) {
        assert!(Instant::now() < end, "the same members: {before}\nnow: {:?}", members());
        pause(1000);
    }
    let ready = "jsonpath={range .items[*]}{.status.conditions[?(@.type==\"Ready\")].status}{end}";
    cluster.eventually(180, &["get", "nodes", "-o", ready], "TrueTrueTrueTrue");
    // Routes between the nodes' pods are there again.
    cluster.kubectl(&["delete", "pod", "by-name", "server", "--now", "--ignore-not-found"]);
    let routes = run(&["exec", "--name", cluster.0, &cluster.first(), "--", "ip", "route"]);
    assert!(text(&routes).contains("10.244.4.0/24 via"), "{}", text(&routes));
}

#[test]
fn a_signal_at_any_time_leaves_nothing() {
    let Some(_turn) = turn() else { return };
    let before = inventory();
    // While nodes are made, while kubeadm init runs, while nodes join.
    for (seconds, signal, code) in [(0.6, Signal::SIGINT, 130), (4.0, Signal::SIGTERM, 143), (14.0, Signal::SIGINT, 130)] {
        let dir = tempfile::tempdir().expect("a folder");
        let dir_arg = dir.path().display().to_string();
        let mut child =
            joinder(&["run", "workflows/join/parallel.yaml", "--name", "real-s", "--artifacts", &dir_arg]).spawn().expect("starts");
        pause((seconds * 1000.0) as u64);
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), signal).expect("sent");
        let status = child.wait().expect("ends");
        assert_eq!(status.code(), Some(code), "after {seconds} s");
        assert_eq!(inventory(), before, "after {seconds} s");
        assert_eq!(events(dir.path()).last().map(|e| e["exit"].clone()), Some(code.into()));
    }
}

#[test]
fn two_runs_side_by_side_do_not_touch_each_other() {
    let Some(_turn) = turn() else { return };
    let before = inventory();
    let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().expect("a folder")).collect();
    let children: Vec<_> = ["real-a", "real-b"]
        .iter()
        .zip(&dirs)
        .map(|(name, dir)| {
            joinder(&["run", "workflows/join/single.yaml", "--name", name, "--artifacts", &dir.path().display().to_string()])
                .spawn()
                .expect("starts")
        })
        .collect();
    for (mut child, dir) in children.into_iter().zip(&dirs) {
        assert_eq!(child.wait().expect("ends").code(), Some(0));
        // invariants belong to no task, and their index is 0
        let expected = |e: &&serde_json::Value| e["type"] == "judged" && e["index"] != 0 && e["judgement"]["verdict"] == "pass";
        assert_eq!(events(dir.path()).iter().filter(expected).count(), 2);
    }
    assert_eq!(inventory(), before);
}

#[test]
fn a_binary_of_ones_own_is_what_runs() {
    let Some(_turn) = turn() else { return };
    let before = inventory();
    let dir = tempfile::tempdir().expect("a folder");
    // joinder itself stands in for a kubeadm: it knows no `init`, and says so.
    let own = binary().display().to_string();
    let output = run(&[
        "run",
        "workflows/join/single.yaml",
        "--name",
        "real-o",
        "--kubeadm",
        &own,
        "--artifacts",
        &dir.path().display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(100), "{}", text(&output));
    assert!(text(&output).contains("kubeadm init failed on real-o-control-plane-1"), "{}", text(&output));
    assert_eq!(inventory(), before);
}

/// Every secret that the cluster's nodes hold, in pieces that a log could hold whole.
fn secrets(cluster: &Kept, nodes: usize) -> BTreeSet<String> {
    let files = "cat $(find /etc/kubernetes/pki -name '*.key') /var/lib/kubelet/pki/*.pem; grep -h client-key-data /etc/kubernetes/*.conf; \
                 cat /var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/token; echo; \
                 grep -hE 'token:|certificateKey:|tlsBootstrapToken:' /kind/kubeadm.conf; \
                 kubeadm token list -o jsonpath='{.token}{\"\\n\"}'";
    let mut all = BTreeSet::new();
    for node in 1..=nodes {
        let name = format!("{}-control-plane-{node}", cluster.0);
        let output = run(&["exec", "--name", cluster.0, &name, "--", "sh", "-c", files]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut certificate = false;
        for line in text.lines() {
            if line.starts_with("-----") {
                certificate = line == "-----BEGIN CERTIFICATE-----";
            }
            let word = line.split_whitespace().next_back().unwrap_or_default().trim_matches('"');
            if !certificate && !line.starts_with("-----") && word.len() >= 20 {
                // of a long one, what is in the middle: its beginning is the same for all
                let from = word.len() / 2 - (word.len() / 2).min(40);
                all.insert(word[from..word.len().min(from + 80)].to_owned());
            }
        }
    }
    all
}

/// The files below `dir` that hold one of `words`.
fn holders(dir: &Path, words: &BTreeSet<String>) -> BTreeSet<PathBuf> {
    let (mut open, mut found) = (vec![dir.to_owned()], BTreeSet::new());
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("a folder").map(|e| e.expect("an entry")) {
            if entry.file_type().expect("a kind").is_dir() {
                open.push(entry.path());
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).expect("read")).into_owned();
            if words.iter().any(|word| text.contains(word.as_str())) {
                found.insert(entry.path());
            }
        }
    }
    found
}

#[test]
fn no_artifact_holds_a_secret_and_the_kubeconfig_goes_with_the_cluster() {
    use std::os::unix::fs::PermissionsExt;
    let Some(_turn) = turn() else { return };
    let before = inventory();
    let cluster = Kept("real-x");
    let dir = tempfile::tempdir().expect("a folder");
    let (artifacts, own) = (dir.path().join("run"), dir.path().join("config"));
    let file = dir.path().join("nine.yaml");
    let parallel = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/join/parallel.yaml")).expect("read");
    let nine = parallel.replace("voters: 3,", "within: 1s, voters: 9,");
    assert_ne!(nine, parallel);
    std::fs::write(&file, nine).expect("written");
    let shown = |path: &Path| path.display().to_string();
    let output = run(&["run", &shown(&file), "--name", cluster.0, "--retain", "--artifacts", &shown(&artifacts)]);
    assert_eq!(output.status.code(), Some(100), "{}", text(&output));
    let kubeconfig = artifacts.join("kubeconfig");
    assert_eq!(std::fs::metadata(&kubeconfig).expect("kept").permissions().mode() & 0o777, 0o600);
    // an attached cluster's secrets are not known: they are told by their shape
    let output = run(&["export", "logs", "--name", cluster.0, &shown(&artifacts.join("exported"))]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let output = run(&["export", "kubeconfig", "--name", cluster.0, "--kubeconfig", &shown(&own)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(std::fs::read_to_string(&own).expect("read").contains("current-context: joinder-real-x"));

    let secrets = secrets(&cluster, 3);
    assert!(secrets.len() > 100 && secrets.iter().any(|s| s.contains('.')), "{} secrets", secrets.len());
    assert_eq!(holders(&artifacts, &secrets), BTreeSet::from([kubeconfig.clone()]), "the kubeconfig is the one exception");
    assert!(holders(&artifacts, &BTreeSet::from([cluster.first()])).len() > 10, "the search finds what is there");

    let output = run(&["delete", "cluster", "--name", cluster.0, "--kubeconfig", &shown(&own)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(!kubeconfig.exists() && text(&output).contains(&format!("file {}", kubeconfig.display())), "{}", text(&output));
    assert!(!std::fs::read_to_string(&own).expect("read").contains("real-x"), "its entries are gone");
    assert_eq!(holders(dir.path(), &secrets), BTreeSet::new());
    assert_eq!(inventory(), before);
}

#[test]
fn the_doctor_finds_a_machine_fit_on_which_the_other_tests_pass() {
    let Some(_turn) = turn() else { return };
    let output = run(&["doctor", "-o", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &told["ok"]), (Some(0), &true.into()), "{told:#}");
    let verdict =
        |name: &str| told["checks"].as_array().and_then(|all| all.iter().find(|c| c["name"] == name)).map(|c| c["verdict"].clone());
    for name in ["engine", "/dev/kmsg", "images"] {
        assert_eq!(verdict(name), Some("ok".into()), "{told:#}");
    }
    let version: serde_json::Value = serde_json::from_slice(&run(&["version", "-o", "json"]).stdout).expect("JSON");
    assert!(version["engine"]["api"].is_string(), "{version:#}");
}
