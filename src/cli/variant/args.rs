//! What can be typed, in kinder's words.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::image::{CopiedPath, Origin, VariantRequest, What};

const GET: &str = "VERSION is a version (v1.37.2, ci/VERSION), a label (release/stable-1.37, ci/latest), the URL of a folder with the files in it, a folder or file of this machine (also file://PATH), or image:NAME, a node image. Versions and labels are looked up below $JOINDER_RELEASES, a mirror's URL or a folder. Checksums beside the files (.sha256, .sha512) are looked at.\n\nExamples:\n  joinder get build-artifacts v1.37.2 ./up\n  joinder get build-artifacts --only-kubeadm image:joinder/node:v1.37.2-etcd3.6.16";
const VARIANT: &str = "SOURCE is what `joinder get build-artifacts` takes as VERSION. What is not named stays as the base image has it.\n\nExamples:\n  joinder build node-image-variant --image joinder/node:up --with-upgrade-artifacts image:joinder/node:v1.37.2-etcd3.6.16\n  joinder build node-image-variant --image joinder/node:mine --with-kubeadm ./_output/bin/kubeadm --with-path ./files:/kinder/files";

/// A source, or nothing where the text is empty, as kinder's flags have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Given(Option<Origin>);

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() { Ok(Self(None)) } else { text.parse().map(Some).map(Self) }
    }
}

#[derive(Debug, Args)]
#[command(disable_version_flag = true, after_help = VARIANT)]
pub(in super::super) struct VariantArgs {
    /// Name of the image [default: joinder/node:variant; kindest/node:latest as kinder]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// The image that it is made of [default: the newest node image of the default version; kindest/base:latest as kinder]
    #[arg(long, value_name = "IMAGE")]
    pub(super) base_image: Option<String>,
    /// Programs, images and version of the release that nodes start with
    #[arg(long, value_name = "SOURCE")]
    with_init_artifacts: Option<Given>,
    /// The same of another one, into /kinder/upgrade, for `do kubeadm-upgrade`
    #[arg(long, value_name = "SOURCE")]
    with_upgrade_artifacts: Option<Given>,
    /// Another kubeadm
    #[arg(long, value_name = "SOURCE")]
    with_kubeadm: Option<Given>,
    /// Another kubelet
    #[arg(long, value_name = "SOURCE")]
    with_kubelet: Option<Given>,
    /// Further images: those of a release, an archive, or a folder with archives; several, or several with commas
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    with_images: Vec<Given>,
    /// Taken for kinder's sake: archives have names while the image is built only, and do not meet
    #[arg(long, value_name = "PREFIX")]
    image_name_prefix: Option<String>,
    /// Have the images that kubeadm wants beside Kubernetes' own; what is not there the engine gives or pulls
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    with_kubeadm_additional_images: bool,
    /// A file or folder, and where it goes; several, or several with commas
    #[arg(long, value_name = "SRC:DEST", value_delimiter = ',')]
    with_path: Vec<CopiedPath>,
}

impl VariantArgs {
    /// What is asked, of this base, under this name where none is given.
    pub(super) fn request(&self, image: &str, base: String) -> VariantRequest {
        let one = |given: &Option<Given>| given.clone().unwrap_or_default().0;
        VariantRequest {
            image: self.image.clone().unwrap_or_else(|| image.to_owned()),
            base,
            init: one(&self.with_init_artifacts),
            upgrade: one(&self.with_upgrade_artifacts),
            kubeadm: one(&self.with_kubeadm),
            kubelet: one(&self.with_kubelet),
            images: self.with_images.iter().filter_map(|given| given.0.clone()).collect(),
            additional: self.with_kubeadm_additional_images,
            paths: self.with_path.clone(),
        }
    }
}

#[expect(clippy::struct_excessive_bools, reason = "one flag each")]
#[derive(Debug, Args)]
#[command(disable_version_flag = true, after_help = GET)]
pub(in super::super) struct FilesArgs {
    /// Where they come from, below
    #[arg(value_name = "VERSION")]
    pub(super) source: Origin,
    /// The folder that they go to
    #[arg(value_name = "DEST", default_value = ".")]
    pub(super) to: PathBuf,
    /// Only kubeadm
    #[arg(long, group = "only")]
    only_kubeadm: bool,
    /// Only the kubelet
    #[arg(long, group = "only")]
    only_kubelet: bool,
    /// Only kubeadm, kubelet and kubectl
    #[arg(long, group = "only")]
    only_binaries: bool,
    /// Only the images of API server, controller manager, scheduler and kube-proxy
    #[arg(long, group = "only")]
    only_images: bool,
}

impl FilesArgs {
    pub(super) fn what(&self) -> What {
        [
            (self.only_kubeadm, What::Kubeadm),
            (self.only_kubelet, What::Kubelet),
            (self.only_binaries, What::Binaries),
            (self.only_images, What::Images),
        ]
        .into_iter()
        .find_map(|(only, what)| only.then_some(what))
        .unwrap_or(What::All)
    }
}
