//! The root file system by debootstrap, and what other images take out of it.
//!
//! The finished stage holds `base.tar` (the node image's lowest layer) with its digest in `base.diff`, the trees
//! `kube-proxy/` and `load-balancer/`, catatonit as `pause`, and `versions`, a line `PACKAGE VERSION` each.

use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::super::command::{Task, World, run};
use super::super::error::ImageError;
use super::closure::{self, inside};
use super::layer::{Layer, LayerWriter, Packing};
use crate::sys::stop::Stop;

/// Counts up when what is done here changes, so that older stages are not taken for newer ones.
const RECIPE: &str = "3";

/// What a node needs beyond Debian's minimum.
pub(crate) const PACKAGES: &[&str] = &[
    "systemd",
    "systemd-sysv",
    "dbus",
    "containerd",
    "containernetworking-plugins",
    // kubelet and kube-proxy call them
    "iproute2",
    "iptables",
    "nftables",
    "conntrack",
    "ethtool",
    "socat",
    "kmod",
    "util-linux",
    "mount",
    // the pause image
    "catatonit",
    // the load balancer image; removed from the node's
    "haproxy",
    // node image contract (reference: kind's and kinder's), and people
    "bash",
    "ca-certificates",
    "curl",
    "jq",
    "openssl",
    "procps",
];

/// What kube-proxy calls. The iptables family are names of the first one.
const PROXY_TOOLS: &[&str] = &["/usr/sbin/xtables-nft-multi", "/usr/sbin/nft", "/usr/sbin/conntrack"];
const XTABLES_NAMES: &[&str] = &["iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"];
/// Folders whose contents stay out of the image: made anew at boot, or caches.
const HOLLOW: &[&str] = &["dev", "proc", "sys", "run", "tmp", "var/cache", "var/log", "var/tmp", "var/lib/apt/lists", "var/backups"];
/// What nobody reads in a node.
const UNREAD: &[&str] =
    &["usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/bash-completion", "usr/share/zsh"];

/// Everything written here that decides what comes out, for the stage's key.
pub(crate) fn inputs() -> String {
    [&[RECIPE], PACKAGES, PROXY_TOOLS, XTABLES_NAMES, HOLLOW, UNREAD].map(|list| list.join(",")).join(";")
}

/// Makes the stage in `dir`.
pub(crate) async fn make(debian: &str, arch: &str, mirror: &str, dir: &Path, stop: &Stop) -> Result<(), ImageError> {
    let root = dir.join("root");
    let include = format!("--include={}", PACKAGES.join(","));
    let arch = format!("--arch={arch}");
    let at = root.display().to_string();
    let argv = ["debootstrap", "--variant=minbase", &arch, &include, debian, &at, mirror];
    let mut task = Task::new(format!("make a root file system of Debian {debian} from {mirror}"), &argv);
    task.world = World::Own;
    task.env = vec![("LC_ALL", "C".into()), ("DEBIAN_FRONTEND", "noninteractive".into())];
    run(&task, stop).await?;

    let query = inside(&root, "ask for package versions", &["dpkg-query", "-W", "-f", "${Package} ${Version}\n"]);
    let versions = dir.join("versions");
    std::fs::write(&versions, run(&query, stop).await?).map_err(ImageError::io("write", &versions))?;
    proxy_tools(&root, &dir.join("kube-proxy"), stop).await?;
    closure::copy(&root, &["/usr/sbin/haproxy"], &dir.join("load-balancer"), stop).await?;
    let pause = root.join("usr/bin/catatonit");
    std::fs::copy(&pause, dir.join("pause")).map_err(ImageError::io("copy", &pause))?;
    run(&inside(&root, "remove the load balancer from the node", &["dpkg", "--purge", "haproxy"]), stop).await?;

    let dir = dir.to_owned();
    blocking("pack the root file system", move || {
        trim(&root).map_err(ImageError::io("trim the root file system", &root))?;
        let pack = || {
            let mut layer = LayerWriter::create(&dir.join("base.tar"), Packing::Plain)?;
            layer.tree(&root, HOLLOW)?;
            let layer = layer.finish()?;
            std::fs::write(dir.join("base.diff"), layer.diff)?;
            std::fs::remove_dir_all(&root)
        };
        pack().map_err(ImageError::io("pack the root file system", &root))
    })
    .await
}

/// The lowest layer of node images, from a finished stage.
pub(crate) fn base(stage: &Path) -> Result<Layer, ImageError> {
    let path = stage.join("base.diff");
    let diff = std::fs::read_to_string(&path).map_err(ImageError::io("read", &path))?;
    Ok(Layer { file: stage.join("base.tar"), diff })
}

/// The version of a Debian package, from a finished stage.
pub(crate) fn package_version(stage: &Path, package: &str) -> Option<String> {
    let versions = std::fs::read_to_string(stage.join("versions")).ok()?;
    versions.lines().find_map(|line| Some(line.strip_prefix(package)?.strip_prefix(' ')?.to_owned()))
}

async fn proxy_tools(root: &Path, to: &Path, stop: &Stop) -> Result<(), ImageError> {
    closure::copy(root, PROXY_TOOLS, to, stop).await?;
    let op = "prepare kube-proxy's tools in";
    let links = || -> io::Result<()> {
        for name in XTABLES_NAMES {
            symlink("xtables-nft-multi", to.join("usr/sbin").join(name))?;
        }
        for dir in ["run", "tmp", "etc"] {
            std::fs::create_dir_all(to.join(dir))?;
        }
        Ok(())
    };
    links().map_err(ImageError::io(op, to))?;
    // iptables' extensions are loaded by name at run time, so that ldd does not name them, and some need libraries that
    // iptables itself does not: without libm, `statistic` does not load, and no Service with two endpoints works
    let mut extensions = Vec::new();
    for lib in entries(&root.join("usr/lib")).map_err(ImageError::io(op, root))? {
        let names = entries(&root.join("usr/lib").join(&lib).join("xtables")).unwrap_or_default();
        extensions.extend(names.into_iter().map(|name| format!("/usr/lib/{lib}/xtables/{name}")));
    }
    extensions.sort();
    closure::copy(root, &extensions.iter().map(String::as_str).collect::<Vec<_>>(), to, stop).await
}

fn entries(dir: &Path) -> io::Result<Vec<String>> {
    std::fs::read_dir(dir)?.map(|e| Ok(e?.file_name().to_string_lossy().into_owned())).collect()
}

/// Takes out what a node does not need and what belongs to the machine that built it.
fn trim(root: &Path) -> io::Result<()> {
    for path in UNREAD {
        match std::fs::remove_dir_all(root.join(path)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    let doc = root.join("usr/share/doc");
    for package in entries(&doc)? {
        for name in entries(&doc.join(&package)).unwrap_or_default() {
            // licences stay
            if name != "copyright" {
                let path = doc.join(&package).join(name);
                if path.is_dir() && !path.is_symlink() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
            }
        }
    }
    // plugins are looked for where kubelet's CNI convention has them, not where Debian has
    std::fs::create_dir_all(root.join("opt/cni"))?;
    std::fs::rename(root.join("usr/lib/cni"), root.join("opt/cni/bin"))?;
    symlink("/opt/cni/bin", root.join("usr/lib/cni"))?;
    // the engine copies the image's /var into each node's volume: the package database need not go along
    std::fs::rename(root.join("var/lib/dpkg"), root.join("usr/lib/dpkg-db"))?;
    symlink("../../usr/lib/dpkg-db", root.join("var/lib/dpkg"))?;
    // each node gets an id of its own at its first start
    let dbus = root.join("var/lib/dbus/machine-id");
    if dbus.exists() {
        std::fs::remove_file(&dbus)?;
        symlink("/etc/machine-id", &dbus)?;
    }
    for (path, text) in [("etc/machine-id", ""), ("etc/resolv.conf", ""), ("etc/hostname", "node\n")] {
        std::fs::write(root.join(path), text)?;
    }
    Ok(())
}

/// Runs work that keeps a thread busy.
pub(crate) async fn blocking<T: Send + 'static>(
    op: &'static str,
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    tokio::task::spawn_blocking(work).await.map_err(|e| ImageError::Unexpected { op, why: e.to_string() })?
}
