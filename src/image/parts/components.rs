//! The images of what runs in pods, one layer each, named as the cluster's kubeadm wants them.

use std::io;
use std::path::{Path, PathBuf};

use super::super::error::ImageError;
use super::super::version::Version;
use super::archive::{self, Config, PATH};
use super::layer::{LayerWriter, Packing};

/// Where finished stages are.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The root file system stage.
    pub(crate) rootfs: PathBuf,
    /// Folder with Kubernetes' binaries.
    pub(crate) kubernetes: PathBuf,
    /// Folder with etcd's.
    pub(crate) etcd: PathBuf,
    /// Folder with `coredns`.
    pub(crate) coredns: PathBuf,
    /// Folder with `crictl`.
    pub(crate) crictl: PathBuf,
    /// Folder with `pause`.
    pub(crate) pause: PathBuf,
}

/// The names that kubeadm wants, from `kubeadm config images list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// Reads kubeadm's list; etcd gets the version that is really in the image.
    pub(crate) fn read(list: &str, etcd: &Version) -> Result<Self, ImageError> {
        let this = Self(list.lines().map(str::trim).filter(|l| l.contains(':') && !l.contains(' ')).map(ToOwned::to_owned).collect());
        for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns", "pause", "etcd"] {
            if this.of(component).is_empty() {
                let why = format!("it names no image for {component}; it said {list:?}");
                return Err(ImageError::Unexpected { op: "read `kubeadm config images list`", why });
            }
        }
        let etcd_name = this.of("etcd").to_owned();
        let repository = etcd_name.rsplit_once(':').map_or(etcd_name.as_str(), |(repository, _)| repository);
        let renamed = format!("{repository}:{}-0", etcd.in_image_tag());
        Ok(Self(this.0.into_iter().map(|name| if name == etcd_name { renamed.clone() } else { name }).collect()))
    }

    /// The name of a component's image; empty when there is none.
    pub(crate) fn of(&self, component: &str) -> &str {
        let base = |name: &str| name.rsplit_once(':').and_then(|(repository, _)| repository.rsplit('/').next().map(ToOwned::to_owned));
        self.0.iter().find(|name| base(name).as_deref() == Some(component)).map_or("", String::as_str)
    }
}

/// A component image to be made.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    /// Its full name.
    pub(crate) name: String,
    /// A tree to start from.
    tree: Option<PathBuf>,
    /// Path in the image and the file it is a copy of.
    files: Vec<(String, PathBuf)>,
    entrypoint: Vec<String>,
}

/// All component images.
pub(crate) fn all(parts: &Parts, names: &Names) -> Vec<Component> {
    let binary = |dir: &Path, name: &str| (format!("usr/local/bin/{name}"), dir.join(name));
    let plain = |component: &str, files| Component { name: names.of(component).to_owned(), tree: None, files, entrypoint: Vec::new() };
    let mut list: Vec<Component> = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"]
        .into_iter()
        .map(|name| plain(name, vec![binary(&parts.kubernetes, name)]))
        .collect();
    if let Some(proxy) = list.last_mut() {
        proxy.tree = Some(parts.rootfs.join("kube-proxy"));
    }
    let etcd = ["etcd", "etcdctl", "etcdutl"].into_iter().filter(|name| parts.etcd.join(name).exists());
    list.push(plain("etcd", etcd.map(|name| binary(&parts.etcd, name)).collect()));
    let coredns = plain("coredns", vec![("coredns".into(), parts.coredns.join("coredns"))]);
    list.push(Component { entrypoint: vec!["/coredns".into()], ..coredns });
    // arguments go behind the entry point: `-v` has to reach the program that knows it
    let pause = plain("pause", vec![("pause".into(), parts.pause.join("pause")), ("catatonit".into(), parts.rootfs.join("pause"))]);
    list.push(Component { entrypoint: vec!["/pause".into()], ..pause });
    list
}

/// Writes a component image's archive. Its layer stays packed: nodes keep it beside the unpacked one.
pub(crate) fn write(component: &Component, arch: &str, created: &str, path: &Path) -> Result<(), ImageError> {
    let work = || -> io::Result<()> {
        let layer_path = path.with_extension("layer");
        let mut layer = LayerWriter::create(&layer_path, Packing::Gzip)?;
        if let Some(tree) = &component.tree {
            layer.tree(tree, &[])?;
        }
        for (inside, file) in &component.files {
            if let Some((dir, _)) = inside.rsplit_once('/') {
                layer.dir(dir)?;
            }
            layer.copy(inside, 0o755, file)?;
        }
        let config = Config {
            arch: arch.to_owned(),
            created: created.to_owned(),
            entrypoint: component.entrypoint.clone(),
            env: vec![PATH.to_owned()],
            ..Config::default()
        };
        archive::write(path, &component.name, &config, &[layer.finish()?])?;
        std::fs::remove_file(layer_path)
    };
    work().map_err(ImageError::io("write the component image", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "example.com/kube-apiserver:v1.36.3\nexample.com/kube-controller-manager:v1.36.3\nexample.com/kube-scheduler:v1.36.3\nexample.com/kube-proxy:v1.36.3\nexample.com/coredns/coredns:v1.14.2\nexample.com/pause:3.10.2\nexample.com/etcd:3.6.8-0\n";

    fn etcd(version: &str) -> Version {
        Version::parse("etcd version", version, "3.6.16").expect(version)
    }

    #[test]
    fn names_are_kubeadms_and_etcds_tag_is_what_is_inside() {
        let names = Names::read(LIST, &etcd("3.6.16")).expect("all there");
        assert_eq!(names.of("etcd"), "example.com/etcd:3.6.16-0");
        assert_eq!(names.of("coredns"), "example.com/coredns/coredns:v1.14.2");
        assert_eq!(names.of("kube-proxy"), "example.com/kube-proxy:v1.36.3");
    }

    #[test]
    fn pause_gets_its_arguments_itself() {
        let [rootfs, kubernetes, etcd_dir, coredns, crictl, pause] = ["r", "k", "e", "c", "t", "p"].map(PathBuf::from);
        let parts = Parts { rootfs, kubernetes, etcd: etcd_dir, coredns, crictl, pause };
        let all = all(&parts, &Names::read(LIST, &etcd("3.6.16")).expect("all there"));
        let pause = all.iter().find(|component| component.name.contains("pause")).expect("there");
        // an option in the entry point would stand before `-v`
        assert_eq!(pause.entrypoint, ["/pause"]);
        assert_eq!(pause.files, [("pause".into(), PathBuf::from("p/pause")), ("catatonit".into(), PathBuf::from("r/pause"))]);
    }

    #[test]
    fn a_list_without_an_image_is_an_error_that_names_it() {
        let error = Names::read("W1 some warning: x\nexample.com/kube-apiserver:v1\n", &etcd("3.6.16")).expect_err("too short");
        assert!(error.to_string().contains("kube-controller-manager"), "{error}");
    }
}
