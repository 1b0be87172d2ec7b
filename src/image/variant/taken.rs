//! The released files out of a node image, as a folder that is a source like any other.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::super::artifacts::{BINARIES, Origin, What};
use super::super::cache::remove;
use super::super::engine::{Litter, with_left};
use super::super::error::ImageError;
use super::super::find;
use super::super::parts::rootfs::blocking;
use super::workshop::{DIR, Workshop};
use crate::runtime::Runtime;
use crate::sys::stop::Stop;

/// etcd's image is left out: which one a cluster runs is not kubeadm's choice with joinder's images. The images are those that kubeadm lists.
const TAKE: &str = r#"set -eu
dir=$1 programs=$2 images=$3
mkdir -p "$dir" && cd "$dir"
version=$(tr -d '[:space:]' </kind/version)
printf '%s\n' "$version" >version
for program in $programs; do cp -L "$(command -v "$program")" "$program"; done
[ "$images" = yes ] || exit 0
list=$(kubeadm config images list --kubernetes-version "$version" 2>/dev/null)
for name in $list; do
  case $name in */etcd:*) continue ;; esac
  repository=${name%:*}
  ctr -n k8s.io images export "${repository##*/}.tar" "$name"
done"#;

/// What leads to files: an image is opened and what is meant is taken out of it into `dir`; that there are files is told then.
pub(super) async fn opened(
    origin: &Origin,
    what: What,
    dir: &Path,
    runtime: &dyn Runtime,
    stop: &Stop,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Origin, ImageError> {
    let name = match origin {
        Origin::Image(name) => name,
        Origin::Layout(_) | Origin::Url(_) | Origin::Local(_) => return Ok(origin.clone()),
    };
    tell(&format!("{name}: taking files out of it"));
    let image = find::named(runtime, name).await?;
    let mut litter = Litter::default();
    let taken = tokio::select! {
        taken = take(find::reference(&image), what, dir, runtime, stop, &mut litter) => taken,
        () = stop.hard.cancelled() => Err(ImageError::Stopped { stage: format!("take files out of {name}") }),
    };
    let left = litter.clear(runtime, stop).await;
    with_left(taken, left)?;
    Ok(Origin::Local(dir.to_owned()))
}

async fn take(image: &str, what: What, dir: &Path, runtime: &dyn Runtime, stop: &Stop, litter: &mut Litter) -> Result<(), ImageError> {
    let (programs, images) = match what {
        What::All => (BINARIES.join(" "), "yes"),
        What::Kubeadm => ("kubeadm".to_owned(), "no"),
        What::Kubelet => ("kubelet".to_owned(), "no"),
        What::Binaries => (BINARIES.join(" "), "no"),
        What::Images | What::Tars => (String::new(), "yes"),
    };
    let workshop = Workshop::open(runtime, image, stop, litter).await?;
    let folder = format!("{DIR}/taken");
    workshop.script(&format!("take files out of {image}"), TAKE, &[&folder, &programs, images]).await?;
    let tar = workshop.get(&folder, dir).await?;
    let to = dir.to_owned();
    blocking("unpack what was taken out", move || {
        let unpack = || {
            std::fs::create_dir_all(&to)?;
            let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 20, File::open(&tar)?));
            for entry in archive.entries()? {
                let mut entry = entry?;
                let path: std::path::PathBuf = entry.path()?.components().skip(1).collect();
                if entry.header().entry_type().is_file() && path.components().count() == 1 {
                    entry.unpack(to.join(path))?;
                }
            }
            std::fs::remove_file(&tar)
        };
        let unpacked = unpack().map_err(ImageError::io("unpack what was taken out into", &to));
        unpacked.inspect_err(|_| drop(remove(&to)))
    })
    .await
}
