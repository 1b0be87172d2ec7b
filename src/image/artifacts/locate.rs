//! Which files are meant, and where each is. Nothing is read but labels and the version.

use std::path::{Path, PathBuf};

use super::super::error::ImageError;
use super::super::host;
use super::origin::Origin;
use super::release::{self, Place, text_at, version_at};

/// Programs.
pub(crate) const BINARIES: [&str; 3] = ["kubeadm", "kubelet", "kubectl"];
const IMAGES: [&str; 4] = ["kube-apiserver.tar", "kube-controller-manager.tar", "kube-scheduler.tar", "kube-proxy.tar"];
const VERSION: &str = "version";

/// Which files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Programs, images and the version.
    All,
    /// kubeadm alone.
    Kubeadm,
    /// kubelet alone.
    Kubelet,
    /// kubeadm, kubelet, kubectl.
    Binaries,
    /// The archives of the four images.
    Images,
    /// Those, and of a folder of this machine any `*.tar`.
    Tars,
}

impl What {
    fn names(self) -> Vec<&'static str> {
        match self {
            Self::All => [&BINARIES[..], &IMAGES].concat(),
            Self::Kubeadm => vec!["kubeadm"],
            Self::Kubelet => vec!["kubelet"],
            Self::Binaries => BINARIES.to_vec(),
            Self::Images | Self::Tars => IMAGES.to_vec(),
        }
    }
}

/// Files with their names and places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// `v1.36.3`, where all files are meant.
    pub(crate) version: Option<String>,
    pub(crate) files: Vec<(String, Place)>,
}

/// Finds out where the files are.
pub(crate) async fn locate(origin: &Origin, what: What) -> Result<Located, ImageError> {
    let failed = |why: String| ImageError::Source { what: origin.to_string(), why };
    let named = |place: &dyn Fn(&str) -> Place| what.names().into_iter().map(|name| (name.to_owned(), place(name))).collect();
    match origin {
        Origin::Layout(label) => {
            let version = version_at(label).await.map_err(failed)?;
            let kind = label.split('/').next().unwrap_or_default();
            let arch = host::arch();
            let files = named(&|name| release::place(kind, &format!("{version}/bin/linux/{arch}/{name}")));
            Ok(Located { version: (what == What::All).then_some(version), files })
        }
        Origin::Url(url) => {
            let version = match what {
                What::All => Some(told(&text_at(VERSION, &format!("{url}/{VERSION}")).await.map_err(failed)?).map_err(failed)?),
                What::Kubeadm | What::Kubelet | What::Binaries | What::Images | What::Tars => None,
            };
            Ok(Located { version, files: named(&|name| Place::Url(format!("{url}/{name}"))) })
        }
        Origin::Local(path) => local(path, what).map_err(failed),
        Origin::Image(_) => Err(failed("an image has to be opened first".into())),
    }
}

fn told(text: &str) -> Result<String, String> {
    release::version(text.trim()).ok_or_else(|| format!("its file {VERSION} says {:?}, which is none", text.trim()))
}

fn local(path: &Path, what: What) -> Result<Located, String> {
    let meta = path
        .metadata()
        .map_err(|e| format!("{e}, and it is no version as v1.36.3, no label as ci/latest, no URL, and no image, which is image:NAME"))?;
    if !meta.is_dir() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return match what {
            // a file is taken for what is asked for, whatever it is called
            What::Kubeadm | What::Kubelet => Ok(one(what.names()[0].to_owned(), path)),
            What::Tars => Ok(one(name, path)),
            What::All | What::Binaries | What::Images => Err("it is one file; a folder is needed".into()),
        };
    }
    let mut names: Vec<String> = what.names().into_iter().map(str::to_owned).collect();
    if what == What::Tars {
        names = tars(path).map_err(|e| e.to_string())?;
        if names.is_empty() {
            return Err("there is no *.tar in it".into());
        }
    }
    let wanted = names.iter().map(String::as_str).chain((what == What::All).then_some(VERSION));
    let missing: Vec<&str> = wanted.filter(|name| !path.join(name).is_file()).collect();
    if !missing.is_empty() {
        return Err(format!("it has no {}", missing.join(", ")));
    }
    let version = match what {
        What::All => Some(told(&std::fs::read_to_string(path.join(VERSION)).map_err(|e| format!("{VERSION}: {e}"))?)?),
        What::Kubeadm | What::Kubelet | What::Binaries | What::Images | What::Tars => None,
    };
    // the images beside kubeadm's own four are welcome: of a folder that an image was taken apart into, coredns and pause
    if what == What::All {
        names.extend(tars(path).map_err(|e| e.to_string())?.into_iter().filter(|name| !IMAGES.contains(&name.as_str())));
    }
    let files = names.into_iter().map(|name| (name.clone(), Place::Folder(path.join(name)))).collect();
    Ok(Located { version, files })
}

fn one(name: String, path: &Path) -> Located {
    Located { version: None, files: vec![(name, Place::Folder(path.to_owned()))] }
}

fn tars(dir: &Path) -> std::io::Result<Vec<String>> {
    let entries: Vec<PathBuf> = std::fs::read_dir(dir)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    let tar = |path: &PathBuf| path.extension().is_some_and(|end| end == "tar") && path.is_file();
    let mut names: Vec<String> =
        entries.iter().filter(|path| tar(path)).filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for name in names {
            std::fs::write(dir.path().join(name), if *name == VERSION { "v1.37.2\n" } else { name }).expect("written");
        }
        dir
    }

    async fn look(path: &Path, what: What) -> Result<(Option<String>, Vec<String>), String> {
        let located = locate(&Origin::Local(path.to_owned()), what).await.map_err(|e| e.to_string())?;
        Ok((located.version, located.files.into_iter().map(|(name, _)| name).collect()))
    }

    #[tokio::test]
    async fn a_folder_has_all_that_is_meant_and_a_version_or_what_it_lacks_is_told() {
        let all = [&["version", "other.tar", "README"][..], &What::All.names()].concat();
        let dir = folder(&all);
        let (version, files) = look(dir.path(), What::All).await.expect("whole");
        assert_eq!(version.as_deref(), Some("v1.37.2"));
        assert_eq!(files.len(), 8, "the further image too: {files:?}");
        let (version, files) = look(dir.path(), What::Tars).await.expect("whole");
        assert_eq!((version, files.len(), files[4].as_str()), (None, 5, "other.tar"));
        assert_eq!(look(dir.path(), What::Kubelet).await.expect("there").1, ["kubelet"]);
        let few = folder(&["kubeadm", "kube-proxy.tar"]);
        let told = look(few.path(), What::All).await.expect_err("too few");
        assert!(
            told.contains("it has no kubelet, kubectl, kube-apiserver.tar,") && told.ends_with("kube-scheduler.tar, version"),
            "{told}"
        );
        let none = folder(&["version", "x"]);
        assert!(look(none.path(), What::Tars).await.expect_err("none").contains("no *.tar"));
        assert!(look(&none.path().join("nowhere"), What::Kubeadm).await.expect_err("none").contains("No such file"));
    }

    #[tokio::test]
    async fn one_file_is_what_is_asked_for_and_never_all() {
        let dir = folder(&["mine", "some.tar"]);
        assert_eq!(look(&dir.path().join("mine"), What::Kubeadm).await.expect("it").1, ["kubeadm"]);
        assert_eq!(look(&dir.path().join("some.tar"), What::Tars).await.expect("it").1, ["some.tar"]);
        assert!(look(&dir.path().join("mine"), What::All).await.expect_err("one").contains("a folder is needed"));
    }

    #[tokio::test]
    async fn versions_lead_into_the_layout_of_releases() {
        let located = locate(&"v1.38.0-alpha.0+ab".parse().expect("one"), What::Kubeadm).await.expect("known");
        let (_, place) = &located.files[0];
        let (Place::Url(path), arch) = (place, host::arch()) else { panic!("{place:?}") };
        assert!(path.ends_with(&format!("/ci/v1.38.0-alpha.0+ab/bin/linux/{arch}/kubeadm")), "{path}");
    }
}
