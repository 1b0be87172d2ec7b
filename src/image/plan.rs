//! What will be built: everything resolved, nothing made yet.

use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::default_versions::{COREDNS, COREDNS_FOR, CRICTL, DEBIAN, ETCD, KUBERNETES, LOAD_BALANCER, NODE, NODE_NAME};
use super::embedded::{CONTAINERD, GO_MOD, HAPROXY, IMPORT, NODE_FILES, PAUSE, pinned};
use super::error::ImageError;
use super::parts::rootfs;
use super::request::{EtcdSource, ImageRequest, Source};
use super::source::dir::{self, Found};
use super::source::gomod::Component;
use super::version::Version;
use super::{host, node};
use crate::runtime::label::{self, Labels};

/// A part of the work whose result is kept in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name, `rootfs`.
    pub name: &'static str,
    /// SHA-256 over all that it is made from. Which release of Go or of debootstrap makes it is not part of it.
    pub key: String,
    /// What it is, for people.
    pub what: String,
    /// Is it taken from a folder, so that nothing is made or kept?
    pub taken: Option<PathBuf>,
}

/// What will be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlan {
    /// Version of Kubernetes.
    pub kubernetes: Version,
    /// Version of etcd.
    pub etcd: Version,
    /// Version of CoreDNS.
    pub coredns: Version,
    /// Version of crictl.
    pub crictl: Version,
    /// The Debian release of the root file system.
    pub debian: &'static str,
    /// The node image's name with its tag.
    pub tag: String,
    /// The architecture in Go's words.
    pub arch: String,
    /// `rootfs`, `kubernetes`, `etcd`, `coredns`, `crictl`, `pause`.
    pub stages: Vec<Stage>,
    /// SHA-256 over everything in the node image; its [`label::PLAN`].
    pub digest: String,
    /// The same of the load balancer image.
    pub load_balancer_digest: String,
    /// The node image's labels.
    pub labels: Labels,
    /// The Debian mirror, if one was named or found.
    pub mirror: Option<String>,
}

impl ImagePlan {
    /// Resolves a request. Reads a folder that is a source, and this machine's apt sources; makes nothing.
    ///
    /// # Errors
    /// [`ImageError::Version`], [`ImageError::Folder`], or a tag that no image can have.
    pub fn new(request: &ImageRequest) -> Result<Self, ImageError> {
        let arch = host::arch().to_owned();
        let crictl = Version::parse("crictl version", CRICTL, CRICTL)?;
        let mut stages = vec![rootfs_stage(&arch)];
        let kubernetes = match &request.kubernetes {
            Source::Go { version } => {
                let version = Version::parse("Kubernetes version", version, KUBERNETES)?;
                stages.push(go_stage(Component::Kubernetes, &version, &arch)?);
                version
            }
            Source::Dir { path } => {
                let found = dir::look(&dir::KUBERNETES, path)?;
                stages.push(dir_stage(Component::Kubernetes, &found));
                found.version
            }
        };
        let etcd = match &request.etcd {
            EtcdSource::Go { version } => {
                let version = Version::parse("etcd version", version, ETCD)?;
                stages.push(go_stage(Component::Etcd, &version, &arch)?);
                version
            }
            EtcdSource::Path { path } => {
                let found = dir::look(&dir::ETCD, &etcd_folder(path))?;
                stages.push(dir_stage(Component::Etcd, &found));
                found.version
            }
        };
        let coredns = coredns_for(&kubernetes)?;
        stages.push(go_stage(Component::CoreDns, &coredns, &arch)?);
        stages.push(go_stage(Component::Crictl, &crictl, &arch)?);
        stages.push(pause_stage(&arch));
        let usual = format!("{NODE_NAME}:v{}-etcd{}", kubernetes.in_image_tag(), etcd.in_image_tag());
        let tag = request.tag.as_deref().map_or(Ok(usual), full_name)?;
        let digest = node_digest(&stages, &kubernetes, &etcd);
        let load_balancer_digest = key(&["load-balancer", node::RECIPE, LOAD_BALANCER, &stages[0].key, HAPROXY]);
        let labels = Labels::from([
            (label::IMAGE.to_owned(), NODE.to_owned()),
            (label::KUBERNETES.to_owned(), kubernetes.tagged()),
            (label::ETCD.to_owned(), etcd.to_string()),
            (label::PLAN.to_owned(), digest.clone()),
        ]);
        let mirror = request.mirror.clone().or_else(host::mirror);
        Ok(Self { kubernetes, etcd, coredns, crictl, debian: DEBIAN, tag, arch, stages, digest, load_balancer_digest, labels, mirror })
    }

    /// A stage by name.
    pub(crate) fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|s| s.name == name)
    }
}

/// The CoreDNS that kubeadm of this version asks for, as far as we know it.
fn coredns_for(kubernetes: &Version) -> Result<Version, ImageError> {
    let minor = format!("{}.{}", kubernetes.number(0), kubernetes.number(1));
    let known = COREDNS_FOR.iter().find(|(of, _)| *of == minor).map_or(COREDNS, |(_, coredns)| coredns);
    Version::parse("CoreDNS version", known, COREDNS)
}

/// A path may name the folder or the `etcd` in it.
pub(super) fn etcd_folder(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|_| path.is_file()).map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    parent.unwrap_or(path).to_owned()
}

fn rootfs_stage(arch: &str) -> Stage {
    Stage {
        name: "rootfs",
        key: key(&["rootfs", &rootfs::inputs(), DEBIAN, arch]),
        what: format!("Debian {DEBIAN} by debootstrap with {} packages beyond the minimum", rootfs::PACKAGES.len()),
        taken: None,
    }
}

fn pause_stage(arch: &str) -> Stage {
    let sources = PAUSE.iter().flat_map(|(name, text)| [*name, *text]);
    Stage {
        name: "pause",
        key: key(&["pause", arch].into_iter().chain(sources).collect::<Vec<_>>()),
        what: "joinder's own, before Debian's catatonit".into(),
        taken: None,
    }
}

pub(super) fn go_stage(component: Component, version: &Version, arch: &str) -> Result<Stage, ImageError> {
    let (name, at) = (component.name(), version.tagged());
    // the date of a version is fixed with the version, so a placeholder is enough
    let flags = component.linker_flags(version, "DATE");
    let packages: Vec<&str> = component.commands().iter().flat_map(|(package, name)| [*package, *name]).collect();
    let (files, sums) = match pinned(name, &at)? {
        Some((go_mod, go_sum)) => (key(&[&go_mod, &go_sum]), "sums pinned"),
        // the Go that the release names may be another one than the machine's
        None => (key(&[GO_MOD, ".go-version"]), "sums from the module proxy"),
    };
    let what = format!("{} {at} from Go modules, {sums}", component.modules()[0]);
    Ok(Stage { name, key: key(&["go", name, &at, arch, &flags, &packages.join(","), &files]), what, taken: None })
}

pub(super) fn dir_stage(component: Component, found: &Found) -> Stage {
    let mut parts = vec!["dir", component.name()];
    parts.extend(found.digests.iter().flat_map(|(name, digest)| [name.as_str(), digest.as_str()]));
    Stage {
        name: component.name(),
        key: key(&parts),
        what: format!("{} {} from {}", component.name(), found.version.tagged(), found.path.display()),
        taken: Some(found.path.clone()),
    }
}

fn node_digest(stages: &[Stage], kubernetes: &Version, etcd: &Version) -> String {
    let (kubernetes, etcd) = (kubernetes.tagged(), etcd.to_string());
    let inputs = node::inputs();
    let mut parts = vec!["node", &inputs, CONTAINERD, IMPORT, &kubernetes, &etcd];
    parts.extend(stages.iter().flat_map(|s| [s.name, s.key.as_str()]));
    let modes: Vec<String> = NODE_FILES.iter().map(|(.., mode, _)| mode.to_string()).collect();
    for ((path, _, text), mode) in NODE_FILES.iter().zip(&modes) {
        parts.extend([*path, mode.as_str(), *text]);
    }
    key(&parts)
}

/// SHA-256 over parts, each with its length before it, so that no two lists of parts read the same.
pub(super) fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())
}

/// A name as engines take it, with `:latest` where it has no tag.
pub(super) fn full_name(name: &str) -> Result<String, ImageError> {
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (name, "latest"),
    };
    let part = |p: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        edge(p.as_bytes().first())
            && edge(p.as_bytes().last())
            && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-:".contains(&b))
    };
    let good_tag = !tag.is_empty()
        && tag.len() <= 128
        && !tag.starts_with(['.', '-'])
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if good_tag && repository.split('/').all(part) {
        Ok(format!("{repository}:{tag}"))
    } else {
        Err(ImageError::Version {
            what: "image name",
            given: name.to_owned(),
            why: "lower-case letters, digits and . _ - / stand before the colon, and at most 128 letters, digits and . _ - behind it",
            like: "joinder/node:mine",
        })
    }
}

impl fmt::Display for ImagePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "node image       {} ({})", self.tag, self.arch)?;
        writeln!(f, "load balancer    {}:haproxy… ({})", super::default_versions::LOAD_BALANCER_NAME, &self.load_balancer_digest[..12])?;
        writeln!(f, "stages")?;
        for stage in &self.stages {
            writeln!(f, "  {:<14} {}  {}", stage.name, &stage.key[..12], stage.what)?;
        }
        writeln!(f, "component images, named as `kubeadm config images list` says")?;
        for name in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"] {
            writeln!(f, "  {name:<24} {}", self.kubernetes.tagged())?;
        }
        writeln!(f, "  {:<24} {}-0", "etcd", self.etcd)?;
        writeln!(f, "  {:<24} {} under kubeadm's tag", "coredns", self.coredns.tagged())?;
        writeln!(f, "  {:<24} joinder's, with Debian's catatonit, under kubeadm's tag", "pause")?;
        writeln!(f, "labels")?;
        for (name, value) in &self.labels {
            writeln!(f, "  {name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(kubernetes: &str, etcd: &str) -> ImagePlan {
        let request = ImageRequest {
            kubernetes: Source::Go { version: kubernetes.into() },
            etcd: EtcdSource::Go { version: etcd.into() },
            ..ImageRequest::default()
        };
        ImagePlan::new(&request).expect("resolved")
    }

    #[test]
    fn keys_change_exactly_where_the_input_does() {
        let base = plan("v1.36.3", "3.6.16");
        assert_eq!(base, plan("1.36.3", "v3.6.16"), "the leading v is a matter of taste");
        let changed = |other: &ImagePlan| -> Vec<&str> {
            base.stages.iter().zip(&other.stages).filter(|(a, b)| a.key != b.key).map(|(a, _)| a.name).collect()
        };
        let (kubernetes, etcd) = (plan("v1.37.2", "3.6.16"), plan("v1.36.3", "3.7.3"));
        assert_eq!(changed(&kubernetes), ["kubernetes", "coredns"], "kubeadm 1.37 asks for another CoreDNS");
        assert_eq!(changed(&plan("v1.36.1", "3.6.16")), ["kubernetes"]);
        assert_eq!(changed(&etcd), ["etcd"]);
        assert!(base.digest != kubernetes.digest && base.digest != etcd.digest && kubernetes.digest != etcd.digest);
        assert_eq!(base.load_balancer_digest, kubernetes.load_balancer_digest);
    }

    #[test]
    fn the_tag_and_the_labels_say_what_is_inside() {
        let plan = plan("v1.36.3", "3.6.16");
        assert_eq!(plan.tag, "joinder/node:v1.36.3-etcd3.6.16");
        assert_eq!(plan.labels[label::KUBERNETES], "v1.36.3");
        assert_eq!(plan.labels[label::ETCD], "3.6.16");
        assert_eq!(plan.labels[label::PLAN], plan.digest);
        let text = plan.to_string();
        assert!(plan.stage("pause").is_some_and(|stage| text.contains(&stage.key[..12])), "{text}");
        assert!(text.contains("k8s.io/kubernetes v1.36.3 from Go modules, sums pinned") && text.contains("3.6.16-0"), "{text}");
    }

    #[test]
    fn another_name_does_not_change_what_is_inside() {
        let named = |tag: &str| ImagePlan::new(&ImageRequest { tag: Some(tag.into()), ..ImageRequest::default() });
        let plan = named("host:5000/my/node").expect("a name");
        assert_eq!(plan.tag, "host:5000/my/node:latest");
        assert_eq!(plan.digest, ImagePlan::new(&ImageRequest::default()).expect("resolved").digest);
        for bad in ["Upper/node:1", "a b", "x:", "x:-1", "/x", "x/:1", ""] {
            assert!(named(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["a"]), key(&["a", ""]));
    }
}
