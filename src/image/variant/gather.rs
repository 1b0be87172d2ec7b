//! All that goes into a variant, brought to this machine before anything is made.

use std::path::{Path, PathBuf};

use super::super::artifacts::{Keep, Origin, What, bring, locate};
use super::super::error::ImageError;
use super::request::{CopiedPath, VariantRequest};
use super::taken::opened;
use crate::runtime::Runtime;
use crate::sys::stop::Stop;

/// A release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set {
    /// `v1.36.3`.
    pub(super) version: String,
    /// Names and where the files are.
    pub(super) files: Vec<(String, PathBuf)>,
}

impl Set {
    pub(super) fn file(&self, name: &str) -> Option<&PathBuf> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, path)| path)
    }

    /// The archives of images.
    pub(super) fn tars(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().filter(|(name, _)| Path::new(name).extension().is_some_and(|end| end == "tar")).map(|(_, path)| path)
    }
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) init: Option<Set>,
    pub(super) upgrade: Option<Set>,
    pub(super) kubeadm: Option<PathBuf>,
    pub(super) kubelet: Option<PathBuf>,
    /// Archives of further images.
    pub(super) tars: Vec<PathBuf>,
    pub(super) paths: Vec<CopiedPath>,
}

impl Bits {
    /// The kubeadm that will run, if it is another one than the base's.
    pub(super) fn new_kubeadm(&self) -> Option<&PathBuf> {
        self.kubeadm.as_ref().or_else(|| self.init.as_ref()?.file("kubeadm"))
    }
}

/// Where the files come to, and who may be asked.
pub(super) struct Gathering<'a> {
    pub(super) dir: &'a Path,
    pub(super) runtime: &'a dyn Runtime,
    pub(super) stop: &'a Stop,
    pub(super) tell: &'a (dyn Fn(&str) + Send + Sync),
}

/// Brings everything, what is on this machine first.
pub(super) async fn gather(request: &VariantRequest, to: &Gathering<'_>) -> Result<Bits, ImageError> {
    for path in &request.paths {
        path.from.metadata().map_err(ImageError::io("read", &path.from))?;
    }
    let mut bits = Bits { paths: request.paths.clone(), ..Bits::default() };
    if let Some(origin) = &request.init {
        bits.init = Some(to.set(origin, "init").await?);
    }
    for (origin, what, name, place) in
        [(&request.kubeadm, What::Kubeadm, "kubeadm", &mut bits.kubeadm), (&request.kubelet, What::Kubelet, "kubelet", &mut bits.kubelet)]
    {
        if let Some(origin) = origin {
            *place = to.files(origin, what, name).await?.1.into_iter().next().map(|(_, path)| path);
        }
    }
    for (at, origin) in request.images.iter().enumerate() {
        let (_, files) = to.files(origin, What::Tars, &format!("images-{at}")).await?;
        bits.tars.extend(files.into_iter().map(|(_, path)| path));
    }
    if let Some(origin) = &request.upgrade {
        // a label that moves must not be two versions
        bits.upgrade = Some(if request.init.as_ref() == Some(origin) && bits.init.is_some() {
            bits.init.clone().unwrap_or_else(|| Set { version: String::new(), files: Vec::new() })
        } else {
            to.set(origin, "upgrade").await?
        });
    }
    Ok(bits)
}

type Files = (Option<String>, Vec<(String, PathBuf)>);

impl Gathering<'_> {
    async fn files(&self, origin: &Origin, what: What, name: &str) -> Result<Files, ImageError> {
        let dir = self.dir.join(name);
        let opened = opened(origin, what, &self.dir.join(format!("{name}-taken")), self.runtime, self.stop, self.tell).await?;
        let located = tokio::select! {
            biased;
            () = self.stop.soft.cancelled() => return Err(ImageError::Stopped { stage: format!("find {origin}") }),
            located = locate(&opened, what) => located?,
        };
        std::fs::create_dir_all(&dir).map_err(ImageError::io("make the folder", &dir))?;
        // where files of an image are for the moment is of no interest
        let tell = if opened == *origin { self.tell } else { &|_: &str| {} };
        let files = bring(&located, &dir, Keep::Places, self.stop, tell).await?;
        Ok((located.version, files))
    }

    async fn set(&self, origin: &Origin, name: &str) -> Result<Set, ImageError> {
        let (version, files) = self.files(origin, What::All, name).await?;
        let why = || ImageError::Source { what: origin.to_string(), why: "it has no version".into() };
        Ok(Set { version: version.ok_or_else(why)?, files })
    }
}
