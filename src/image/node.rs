//! The node image, put together from its layers.

use std::io;
use std::path::Path;

use super::build::Job;
use super::command;
use super::embedded::{CONTAINERD, NODE_FILES};
use super::engine::{self, Litter};
use super::error::ImageError;
use super::parts::archive::{Config, PATH};
use super::parts::components::{self, Names, Parts};
use super::parts::layer::{Layer, LayerWriter, Packing};
use super::parts::rootfs::{self, blocking};
use super::parts::store;
use super::source::golang::commit_date;
use crate::runtime::label::{CREATED, Labels};
use crate::sys::clock::Stamp;

/// Counts up when what is done here or in the store changes.
pub(crate) const RECIPE: &str = "1";

/// Units that start with a node, by the target that wants them.
const ENABLED: &[(&str, &str)] = &[
    ("multi-user.target.wants", "/etc/systemd/system/kubelet.service"),
    ("multi-user.target.wants", "/etc/systemd/system/joinder-network.service"),
    ("multi-user.target.wants", "/etc/systemd/system/pod-network.service"),
    ("multi-user.target.wants", "/usr/lib/systemd/system/containerd.service"),
];
/// Units that have no place in a container: logins, consoles, upkeep of a machine, the host's hardware.
const MASKED: &[&str] = &[
    "systemd-logind.service",
    "getty@.service",
    "getty-static.service",
    "console-getty.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "systemd-firstboot.service",
    "systemd-hibernate-clear.service",
    "systemd-binfmt.service",
    "systemd-pstore.service",
    "systemd-modules-load.service",
    "systemd-random-seed.service",
    "systemd-udevd.service",
    "systemd-tpm2-setup.service",
    "systemd-tpm2-setup-early.service",
    "systemd-update-utmp.service",
    "proc-sys-fs-binfmt_misc.automount",
    "dev-hugepages.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "tmp.mount",
    // they look for what changed since the last boot; the image was finished when it was made
    "ldconfig.service",
    "systemd-journal-catalog-update.service",
    "systemd-update-done.service",
];
/// Binaries in the node itself.
const NODE_BINARIES: &[&str] = &["kubeadm", "kubelet", "kubectl"];
/// etcd's tools in the node itself: a member list without a pod.
const ETCD_BINARIES: &[&str] = &["etcdctl", "etcdutl"];
const ENTRYPOINT: [&str; 2] = ["/usr/local/bin/entrypoint", "/sbin/init"];
/// What systemd takes as "shut down".
const STOP_SIGNAL: &str = "SIGRTMIN+3";

/// Everything written here that decides what comes out, for the image's digest.
pub(crate) fn inputs() -> String {
    let enabled: Vec<String> = ENABLED.iter().map(|(target, unit)| format!("{target}/{unit}")).collect();
    let lists = [&ENTRYPOINT, MASKED, NODE_BINARIES, ETCD_BINARIES].map(|list| list.join(","));
    [RECIPE, STOP_SIGNAL, &enabled.join(","), &lists.join(";")].join(";")
}

/// Builds the node image into the engine; returns its id. What it leaves there for the time being is in `litter`.
pub(crate) async fn make(job: &Job<'_>, parts: &Parts, dir: &Path, litter: &mut Litter) -> Result<String, ImageError> {
    let names = names(job, parts).await?;
    let created = commit_date(&parts.kubernetes);
    let base = rootfs::base(&parts.rootfs)?;
    let files = layer("write the node's files in", dir, "files.tar", {
        let crictl = parts.crictl.join("crictl");
        move |layer| files(layer, &crictl)
    })
    .await?;

    let only_base = format!("joinder/build:{}-{}", &job.plan.digest[..12], std::process::id());
    let config = Config {
        arch: job.plan.arch.clone(),
        created: created.clone(),
        env: vec![PATH.into()],
        labels: engine::labels(),
        ..Config::default()
    };
    litter.images.push(only_base.clone());
    load(job, dir, &only_base, config, vec![base.clone(), files.clone()]).await?;
    let store = store::make(job, &only_base, components::all(parts, &names), &created, dir, litter).await?;
    job.check("put the node image together")?;

    let binaries = layer("write the node's binaries in", dir, "binaries.tar", {
        let (parts, names, version) = (parts.clone(), names.clone(), job.plan.kubernetes.tagged());
        move |layer| binaries(layer, &parts, &names, &version)
    })
    .await?;
    let now = Stamp::now().wall.to_string();
    let labels: Labels = job.plan.labels.clone().into_iter().chain([(CREATED.to_owned(), now.clone())]).collect();
    let config = Config {
        arch: job.plan.arch.clone(),
        created: now,
        entrypoint: ENTRYPOINT.map(ToOwned::to_owned).into(),
        env: vec![PATH.into(), "container=docker".into()],
        labels,
        stop_signal: Some(STOP_SIGNAL.into()),
    };
    // what differs between versions comes last, so that versions share the layers below
    load(job, dir, &job.plan.tag, config, vec![base, files, binaries, store]).await
}

async fn names(job: &Job<'_>, parts: &Parts) -> Result<Names, ImageError> {
    let kubeadm = parts.kubernetes.join("kubeadm").display().to_string();
    let version = job.plan.kubernetes.tagged();
    let argv = [kubeadm.as_str(), "config", "images", "list", "--kubernetes-version", &version];
    let list = command::run(&command::Task::new("ask kubeadm for its images", &argv), job.stop).await?;
    Names::read(&list, &job.plan.etcd)
}

async fn layer(
    op: &'static str,
    dir: &Path,
    name: &str,
    fill: impl FnOnce(&mut LayerWriter) -> io::Result<()> + Send + 'static,
) -> Result<Layer, ImageError> {
    let path = dir.join(name);
    blocking(op, move || {
        let work = || {
            let mut layer = LayerWriter::create(&path, Packing::Plain)?;
            fill(&mut layer)?;
            layer.finish()
        };
        work().map_err(ImageError::io(op, &path))
    })
    .await
}

/// Writes an image's archive and loads it into the engine.
pub(crate) async fn load(job: &Job<'_>, dir: &Path, name: &str, config: Config, layers: Vec<Layer>) -> Result<String, ImageError> {
    engine::load(job.runtime, job.stop, dir, (name, config, layers)).await
}

/// The same in every node image.
fn files(layer: &mut LayerWriter, crictl: &Path) -> io::Result<()> {
    // the folders above these belong to the root file system
    for dir in [
        "etc/systemd/system/kubelet.service.d",
        "etc/systemd/journald.conf.d",
        "etc/cni",
        "etc/cni/net.d",
        "etc/kubernetes",
        "etc/kubernetes/manifests",
    ] {
        layer.only_dir(dir)?;
    }
    for dir in ["kind/bin", "kind/images", "kind/manifests", "kind/systemd", "kinder/patches", "kinder/upgrade"] {
        layer.dir(dir)?;
    }
    for (path, mode, text) in NODE_FILES {
        layer.bytes(path, *mode, text.as_bytes())?;
    }
    for (target, unit) in ENABLED {
        let name = unit.rsplit('/').next().unwrap_or(unit);
        layer.link(&format!("etc/systemd/system/{target}/{name}"), unit)?;
    }
    for unit in MASKED {
        layer.link(&format!("etc/systemd/system/{unit}"), "/dev/null")?;
    }
    layer.link("etc/systemd/system/default.target", "/usr/lib/systemd/system/multi-user.target")?;
    layer.copy("usr/bin/crictl", 0o755, crictl)
}

/// What belongs to one version of Kubernetes and etcd.
fn binaries(layer: &mut LayerWriter, parts: &Parts, names: &Names, version: &str) -> io::Result<()> {
    layer.bytes("kind/version", 0o644, format!("{version}\n").as_bytes())?;
    for name in NODE_BINARIES {
        layer.copy(&format!("usr/bin/{name}"), 0o755, &parts.kubernetes.join(name))?;
        layer.link(&format!("kind/bin/{name}"), &format!("/usr/bin/{name}"))?;
    }
    for name in ETCD_BINARIES {
        let file = parts.etcd.join(name);
        if file.exists() {
            layer.copy(&format!("usr/bin/{name}"), 0o755, &file)?;
        }
    }
    layer.bytes("etc/containerd/config.toml", 0o644, CONTAINERD.replace("@PAUSE@", names.of("pause")).as_bytes())
}
