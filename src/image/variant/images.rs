//! Images into the store of a base image, and what kubeadm wants of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use super::super::error::ImageError;
use super::workshop::{DIR, STORE, Workshop};
use crate::runtime::{Fault, Runtime};
use crate::sys::stop::Stop;
use crate::sys::wait::pause;

/// Content only: a layer that is unpacked here would lose what marks deleted files. A node unpacks an image when it first needs it.
/// Images of a release are called after their architecture too.
const IMPORT: &str = r#"set -eu
arch=$(case $(uname -m) in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac)
ctr -n k8s.io images import --local --all-platforms --no-unpack "$1" 2>&1 || ctr -n k8s.io images import --all-platforms --no-unpack "$1" 2>&1
rm -f "$1"
ctr -n k8s.io images ls -q | grep -- "-$arch:" | while read -r name; do
  ctr -n k8s.io images tag --force "$name" "$(echo "$name" | sed "s/-$arch:/:/")" >/dev/null
done"#;
const NAMES: &str = "ctr -n k8s.io images ls -q";
const BLOBS: &str = r#"cd "$1" 2>/dev/null && ls || true"#;
const LIST: &str = r#""$1" config images list --kubernetes-version "$("$1" version -o short)""#;
/// Between tries of a pull.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// Where the store has its content, below it.
pub(super) const CONTENT: &str = "io.containerd.content.v1.content/blobs/sha256";

/// The digests of what is in the store.
pub(super) async fn blobs(workshop: &Workshop<'_>) -> Result<BTreeSet<String>, ImageError> {
    let said = workshop.script("list the content of the image store", BLOBS, &[&format!("{STORE}/{CONTENT}")]).await?;
    Ok(said.split_whitespace().map(str::to_owned).collect())
}

/// The names in the store.
pub(super) async fn names(workshop: &Workshop<'_>) -> Result<BTreeSet<String>, ImageError> {
    Ok(words(&workshop.script("list the images in the store", NAMES, &[]).await?).collect())
}

/// Takes an archive into the store.
pub(super) async fn import(workshop: &Workshop<'_>, tar: &Path) -> Result<(), ImageError> {
    let inside = format!("{DIR}/image.tar");
    workshop.put(&inside, tar).await?;
    workshop.script(&format!("import {}", tar.display()), IMPORT, &[&inside]).await?;
    Ok(())
}

/// What kubeadm, at this path inside, wants.
pub(super) async fn listed(workshop: &Workshop<'_>, kubeadm: &str) -> Result<Vec<String>, ImageError> {
    let said = workshop.script("ask kubeadm for its images", LIST, &[kubeadm]).await?;
    Ok(words(&said).collect())
}

/// Lines that are names of images; warnings are among them.
fn words(said: &str) -> impl Iterator<Item = String> {
    said.lines().map(str::trim).filter(|line| line.contains(':') && !line.contains(' ')).map(str::to_owned)
}

/// Those of `listed` beside Kubernetes' own that are not there. An etcd that is there under another tag is meant to be that one where
/// `keeps_etcd` says so.
pub(super) fn lacking(listed: &[String], there: &BTreeSet<String>, keeps_etcd: bool) -> Vec<String> {
    let repository = |name: &str| name.rsplit_once(':').map_or(name.to_owned(), |(repository, _)| repository.to_owned());
    let own = |name: &str| name.rsplit('/').next().is_some_and(|last| last.starts_with("kube-"));
    let etcd = |name: &str| keeps_etcd && repository(name).ends_with("/etcd") && there.iter().any(|t| repository(t) == repository(name));
    listed.iter().filter(|name| !own(name) && !there.contains(*name) && !etcd(name)).cloned().collect()
}

/// An image out of the engine as an archive, pulled where the engine has it not.
pub(super) async fn fetched(
    runtime: &dyn Runtime,
    name: &str,
    to: &Path,
    stop: &Stop,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ImageError> {
    if runtime.image(name).await.map_err(ImageError::engine("look for an image"))?.is_none() {
        tell(&format!("{name}: the engine pulls it"));
        pulled(runtime, name, stop).await?;
    }
    let op = "write an image to";
    let mut file = BufWriter::with_capacity(1 << 20, File::create(to).map_err(ImageError::io(op, to))?);
    runtime.save(name, &mut file).await.map_err(ImageError::engine("read an image"))?;
    file.flush().map_err(ImageError::io(op, to))
}

/// Has the engine pull an image. What is not there is asked for once. The engine gives a pull up with the question.
pub(super) async fn pulled(runtime: &dyn Runtime, name: &str, stop: &Stop) -> Result<(), ImageError> {
    let stopped = || ImageError::Stopped { stage: format!("pull {name}") };
    let mut pauses = PAUSES.iter();
    loop {
        let pull = tokio::select! {
            biased;
            () = stop.soft.cancelled() => return Err(stopped()),
            pull = runtime.pull(name) => pull,
        };
        let Err(error) = pull else { return Ok(()) };
        let missing = error.fault == Fault::NotFound || error.said.contains("not found") || error.said.contains("no such host");
        match pauses.next().filter(|_| !missing) {
            Some(time) => pause("the next try", *time, &stop.soft).await.map_err(|_| stopped())?,
            None => return Err(ImageError::Source { what: name.to_owned(), why: error.to_string() }),
        }
    }
}

/// containerd's configuration with another sandbox image; `None` where it names none. Versions 2 and 3 say it in different words.
pub(super) fn with_sandbox(config: &str, pause: &str) -> Option<String> {
    let mut found = false;
    let lines = config.lines().map(|line| {
        let key = line.split('=').next().unwrap_or_default();
        if matches!(key.trim(), "sandbox_image" | "sandbox") && line.contains('=') {
            found = true;
            format!("{key}= \"{pause}\"\n")
        } else {
            format!("{line}\n")
        }
    });
    let text = lines.collect::<String>();
    found.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_fetched_and_kubernetes_own_images_come_otherwise() {
        let listed: Vec<String> =
            ["r/kube-proxy:v1", "r/coredns/coredns:v1.14.6", "r/pause:3.10", "r/etcd:3.6.8-0"].map(str::to_owned).into();
        let there: BTreeSet<String> = ["r/pause:3.10", "r/etcd:3.6.16-0"].map(str::to_owned).into();
        assert_eq!(lacking(&listed, &there, true), ["r/coredns/coredns:v1.14.6"]);
        assert_eq!(lacking(&listed, &there, false), ["r/coredns/coredns:v1.14.6", "r/etcd:3.6.8-0"]);
        assert_eq!(lacking(&listed, &BTreeSet::new(), true).len(), 3, "no etcd at all is too little");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_there_is_pulled_once_and_what_fails_some_times() {
        use crate::runtime::fake::{FakeEngine, Way, When};
        let dir = tempfile::tempdir().expect("a folder");
        let tar = dir.path().join("x.tar");
        let engine = FakeEngine::new(std::sync::Arc::new(()));
        let pulls = |engine: &FakeEngine| engine.calls().iter().filter(|call| call.op == "pull image").count();
        let told = fetched(&engine, "r/pause:9", &tar, &Stop::new(), &|_| {}).await.expect_err("nowhere").to_string();
        assert!(told.contains("cannot get r/pause:9") && told.contains("manifest for r/pause:9 not found"), "{told}");
        assert_eq!(pulls(&engine), 1);
        for nth in 4..=6 {
            engine.disturb(When::Nth(nth), Way::Refuse(Fault::Other));
        }
        fetched(&engine, "r/pause:9", &tar, &Stop::new(), &|_| {}).await.expect_err("never");
        assert_eq!(pulls(&engine), 4, "three more");
        engine.add_image("r/pause:9", crate::runtime::label::Labels::new(), []);
        fetched(&engine, "r/pause:9", &tar, &Stop::new(), &|_| {}).await.expect("there");
        assert_eq!((pulls(&engine), std::fs::read_to_string(&tar).expect("saved").as_str()), (4, "r/pause:9"));
    }

    #[test]
    fn only_names_are_read_out_of_what_kubeadm_says() {
        let said = "W1202 01:00:00.0 version.go:109] could not fetch\nr/pause:3.10\n\n";
        assert_eq!(words(said).collect::<Vec<_>>(), ["r/pause:3.10"]);
    }

    #[test]
    fn the_sandbox_image_is_named_in_either_form_and_all_else_stays() {
        let two = "version = 2\n[plugins.x]\n  sandbox_image = \"old\"\n  other = 1\n";
        assert_eq!(with_sandbox(two, "new:1").as_deref(), Some("version = 2\n[plugins.x]\n  sandbox_image = \"new:1\"\n  other = 1\n"));
        let three = "[plugins.y.pinned_images]\nsandbox = 'old'\n";
        assert_eq!(with_sandbox(three, "new:1").as_deref(), Some("[plugins.y.pinned_images]\nsandbox = \"new:1\"\n"));
        assert_eq!(with_sandbox("version = 2\n[sandbox]\n", "new:1"), None);
    }
}
