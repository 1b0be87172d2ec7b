//! What is asked of a variant.

use std::path::PathBuf;
use std::str::FromStr;

use super::super::artifacts::Origin;

/// What a variant is made of. What is not named stays as the base has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantRequest {
    /// Name of the image to be made.
    pub image: String,
    /// The image that it is made of.
    pub base: String,
    /// The release that runs: programs, images, version.
    pub init: Option<Origin>,
    /// A second one, for an upgrade.
    pub upgrade: Option<Origin>,
    /// Another kubeadm.
    pub kubeadm: Option<Origin>,
    /// Another kubelet.
    pub kubelet: Option<Origin>,
    /// Further images.
    pub images: Vec<Origin>,
    /// Are the images that kubeadm wants beside Kubernetes' own to be there?
    pub additional: bool,
    /// Files and folders.
    pub paths: Vec<CopiedPath>,
}

/// A file or folder of this machine, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedPath {
    /// On this machine.
    pub from: PathBuf,
    /// In the image, absolute. Where a folder is, it goes into that, as with `cp -r`.
    pub to: String,
}

impl FromStr for CopiedPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((from, to)) = text.split_once(':').filter(|(from, to)| !from.is_empty() && !to.contains(':')) else {
            return Err("write it as SRC:DEST, with just one colon".into());
        };
        if !to.starts_with('/') || to.split('/').any(|part| part == "..") {
            return Err(format!("{to:?} is no absolute path in the image"));
        }
        Ok(Self { from: from.into(), to: to.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_just_one_colon_and_leads_to_an_absolute_place() {
        assert_eq!("./a:/etc/b".parse(), Ok(CopiedPath { from: "./a".into(), to: "/etc/b".into() }));
        for bad in ["a", "a:b", "a:/b:c", ":/b", "a:", "a:/b/../c"] {
            assert!(bad.parse::<CopiedPath>().is_err(), "{bad}");
        }
    }
}
