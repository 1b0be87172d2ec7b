//! From the request to the image.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::super::build::{forget, named};
use super::super::cache::{Cache, remove};
use super::super::engine::{self, Litter, with_left};
use super::super::error::ImageError;
use super::super::host::{self, Need};
use super::super::parts::rootfs::blocking;
use super::super::plan::{full_name, key};
use super::entries::{self, Base, Gained, entries, questions};
use super::gather::{Bits, Gathering, gather};
use super::images;
use super::request::VariantRequest;
use super::workshop::{DIR, KEPT, STORE, Workshop};
use crate::runtime::label::{ETCD, KUBERNETES, VARIANT};
use crate::runtime::{Archive, Image, Runtime};
use crate::sys::random;
use crate::sys::stop::Stop;

/// Programs and images of two releases, once more as a layer, and as the engine takes them.
const ROOM: u64 = 3 << 30;
const KUBEADM: &str = "/usr/bin/kubeadm";
const CONFIG: &str = "/etc/containerd/config.toml";

const EXISTING: &str =
    r#"for path in "$@"; do if [ -d "$path" ]; then echo "dir $path"; elif [ -e "$path" ]; then echo "file $path"; fi; done"#;
const STARTS: &str = "if systemctl is-enabled kubelet >/dev/null 2>&1; then echo yes; fi";

/// A variant that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub image: String,
    /// What could not be removed afterwards, each with the command that removes it.
    pub left: Vec<String>,
}

/// Makes a variant. What is told is a line for each thing that is done.
///
/// # Errors
/// Any [`ImageError`]; the image's name then means what it did before, and what could not be removed is in the error.
pub async fn build_variant(
    request: &VariantRequest,
    runtime: &dyn Runtime,
    cache: &Path,
    stop: &Stop,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Variant, ImageError> {
    let request = VariantRequest { image: full_name(&request.image)?, ..request.clone() };
    let cache = Cache::open(&cache.join("image"))?;
    host::check(Need { bytes: ROOM, ..Need::default() }, cache.root(), None)?;
    engine::sweep(runtime).await?;
    let name = key(&["variant", &request.image]);
    let held = cache.lock("variant", &name, stop, &|_| tell("another build makes this image, waiting")).await?;
    let dir = cache.fresh("variant", &name, &held)?;
    let mut litter = Litter::default();
    let job = Job { request: &request, runtime, stop, tell, dir: &dir };
    let made = tokio::select! {
        made = job.make(&mut litter) => made,
        // a soft stop is looked for between engine calls: one that is cut off may still be carried out
        () = stop.hard.cancelled() => Err(ImageError::Stopped { stage: "put the variant together".into() }),
    };
    let mut left = litter.clear(runtime, stop).await;
    if remove(&dir).is_err() {
        left.push(dir.display().to_string());
    }
    let ((), left) = with_left(made, left)?;
    Ok(Variant { image: request.image, left })
}

struct Job<'a> {
    request: &'a VariantRequest,
    runtime: &'a dyn Runtime,
    stop: &'a Stop,
    tell: &'a (dyn Fn(&str) + Send + Sync),
    /// For all files of this build.
    dir: &'a Path,
}

impl Job<'_> {
    async fn make(&self, litter: &mut Litter) -> Result<(), ImageError> {
        let base = self.base().await?;
        let bits = gather(self.request, &Gathering { dir: self.dir, runtime: self.runtime, stop: self.stop, tell: self.tell }).await?;
        (self.tell)(&format!("{}: opening it", self.request.base));
        let workshop = Workshop::open(self.runtime, &self.request.base, self.stop, litter).await?;
        let asked = questions(&bits.paths);
        let existing = self.existing(&workshop, &asked).await?;
        let seen =
            Base { kubelet_starts: !workshop.script("ask systemd for the kubelet", STARTS, &[]).await?.is_empty(), dirs: existing.0 };
        let (store, config) = self.images(&workshop, &bits, (&base, existing.1)).await?;
        let kept = seen.dirs.contains(KEPT);
        let gained = store.map(|(tar, before)| Gained { tar, to: if kept { "kind/store" } else { "var/lib/containerd" }, before });
        if self.stop.soft.is_cancelled() {
            return Err(ImageError::Stopped { stage: "put the variant together".into() });
        }
        (self.tell)(&format!("{}: adding the layer", self.request.image));
        let layer = self.dir.join("layer.tar");
        let (path, parts) = (layer.clone(), bits.clone());
        let op = "write the layer";
        blocking(op, move || {
            let write = || {
                let mut all = entries(&parts, &seen)?;
                all.extend(config.map(|text| entries::Entry::Text(CONFIG.trim_start_matches('/').to_owned(), text)));
                entries::write(&path, &all, gained.as_ref())
            };
            write().map_err(ImageError::io(op, &path))
        })
        .await?;
        self.build(&bits, &layer, kept).await
    }

    /// The base, which the engine pulls where it has it not.
    async fn base(&self) -> Result<Image, ImageError> {
        if let Some(image) = named(self.runtime, &self.request.base).await? {
            return Ok(image);
        }
        (self.tell)(&format!("{}: the engine pulls it", self.request.base));
        images::pulled(self.runtime, &self.request.base, self.stop).await?;
        let missing = || ImageError::Source { what: self.request.base.clone(), why: "it was pulled and is not there".into() };
        named(self.runtime, &self.request.base).await?.ok_or_else(missing)
    }

    /// Of some paths in the base, the folders; and is there a kubeadm?
    async fn existing(&self, workshop: &Workshop<'_>, asked: &[String]) -> Result<(BTreeSet<String>, bool), ImageError> {
        let args: Vec<&str> = asked.iter().map(String::as_str).chain([KEPT, KUBEADM]).collect();
        let said = workshop.script("look at the base image", EXISTING, &args).await?;
        let dirs = said.lines().filter_map(|line| line.strip_prefix("dir ")).map(str::to_owned).collect();
        Ok((dirs, said.lines().any(|line| line.strip_prefix("file ") == Some(KUBEADM))))
    }

    /// Takes images into the base's store; the store as an archive, with what was in it before, where it has gained something; and
    /// containerd's configuration, where it changes.
    async fn images(
        &self,
        workshop: &Workshop<'_>,
        bits: &Bits,
        (base, has_kubeadm): (&Image, bool),
    ) -> Result<(Option<(PathBuf, BTreeSet<String>)>, Option<String>), ImageError> {
        let before = images::blobs(workshop).await?;
        let mut gained = false;
        for tar in bits.init.iter().flat_map(super::gather::Set::tars).chain(&bits.tars) {
            (self.tell)(&format!("{}: into the image store", tar.display()));
            images::import(workshop, tar).await?;
            gained = true;
        }
        let kubeadm = match bits.new_kubeadm() {
            Some(file) => {
                let inside = format!("{DIR}/kubeadm");
                workshop.put(&inside, file).await?;
                Some(inside)
            }
            None => has_kubeadm.then(|| KUBEADM.to_owned()),
        };
        let listed = match &kubeadm {
            Some(kubeadm) => images::listed(workshop, kubeadm).await?,
            None if self.request.additional => {
                let why = "the base image has none: --with-init-artifacts or --with-kubeadm brings one".into();
                return Err(ImageError::Source { what: "kubeadm".into(), why });
            }
            None => Vec::new(),
        };
        if self.request.additional {
            let keeps_etcd = base.labels.contains_key(ETCD);
            let mut lacking = images::lacking(&listed, &images::names(workshop).await?, keeps_etcd);
            lacking.extend(self.lacking_for_upgrade(workshop, bits, keeps_etcd).await?);
            for name in lacking.iter().collect::<BTreeSet<_>>() {
                self.additional(workshop, name).await?;
                gained = true;
            }
        }
        let config = self.config(workshop, &listed).await?;
        if !gained {
            return Ok((None, config));
        }
        workshop.close().await?;
        Ok((Some((workshop.get(STORE, &self.dir.join("store")).await?, before)), config))
    }

    /// What the upgrade's kubeadm wants beside what is in its folder.
    async fn lacking_for_upgrade(&self, workshop: &Workshop<'_>, bits: &Bits, keeps_etcd: bool) -> Result<Vec<String>, ImageError> {
        let Some((set, kubeadm)) = bits.upgrade.as_ref().and_then(|set| Some((set, set.file("kubeadm")?))) else { return Ok(Vec::new()) };
        let inside = format!("{DIR}/kubeadm-upgrade");
        workshop.put(&inside, kubeadm).await?;
        let mut there = images::names(workshop).await?;
        for tar in set.tars() {
            there.extend(tags(tar).map_err(ImageError::io("read", tar))?);
        }
        Ok(images::lacking(&images::listed(workshop, &inside).await?, &there, keeps_etcd))
    }

    async fn additional(&self, workshop: &Workshop<'_>, name: &str) -> Result<(), ImageError> {
        let tar = self.dir.join("additional.tar");
        match images::fetched(self.runtime, name, &tar, self.stop, self.tell).await {
            Err(ImageError::Source { what, why }) => {
                let why = format!(
                    "{why}\nhint: --with-kubeadm-additional-images=false leaves it out; `docker load` or `docker tag` gives it to the engine"
                );
                return Err(ImageError::Source { what, why });
            }
            fetched => fetched?,
        }
        (self.tell)(&format!("{name}: into the image store"));
        images::import(workshop, &tar).await?;
        std::fs::remove_file(&tar).map_err(ImageError::io("remove", &tar))
    }

    /// containerd's configuration with the pause image that kubeadm wants, if it is there and another one.
    async fn config(&self, workshop: &Workshop<'_>, listed: &[String]) -> Result<Option<String>, ImageError> {
        let there = images::names(workshop).await?;
        let Some(pause) = listed.iter().find(|name| name.contains("/pause:") && there.contains(*name)) else { return Ok(None) };
        let text = workshop.script("read containerd's configuration", r#"cat "$1""#, &[CONFIG]).await?;
        Ok(images::with_sandbox(&text, pause).filter(|new| *new != text))
    }

    /// Has the engine add the layer to the base.
    async fn build(&self, bits: &Bits, layer: &Path, kept: bool) -> Result<(), ImageError> {
        let word = random::word(12).map_err(ImageError::io("read", Path::new("/dev/urandom")))?;
        let dockerfile = dockerfile(&self.request.base, &word, bits.init.as_ref().map(|set| set.version.as_str()), kept);
        let pack = || {
            let mut context = Archive::default();
            context.file("/Dockerfile", 0o644, dockerfile.as_bytes())?;
            context.copy("/layer.tar", 0o644, layer)?;
            context.finish()
        };
        let context = pack().map_err(ImageError::io("read", layer))?;
        let replaced = named(self.runtime, &self.request.image).await?;
        let built = self.runtime.build(&self.request.image, context).await;
        if let Err(error) = built {
            // of a build that ends in the middle the engine keeps the steps before
            let begun = self.runtime.images(&[format!("{VARIANT}={word}")]).await.unwrap_or_default();
            let mut left = Vec::new();
            for image in begun {
                if self.runtime.remove_image(&image.id).await.is_err() {
                    left.push(format!("image {} (docker rmi {})", image.id, image.id));
                }
            }
            return with_left(Err::<(), _>(ImageError::engine("add the layer to the base image")(error)), left).map(drop);
        }
        forget(self.runtime, replaced).await;
        Ok(())
    }
}

/// The label first: it finds what a failed build leaves. A base without a store of joinder's has its images below `/var`, which kind's
/// contract wants as a volume.
fn dockerfile(base: &str, word: &str, kubernetes: Option<&str>, kept: bool) -> String {
    let kubernetes = kubernetes.map(|version| format!(" {KUBERNETES}=\"{version}\"")).unwrap_or_default();
    let volume = if kept { "" } else { "VOLUME [\"/var/lib/containerd\"]\n" };
    format!("FROM {base}\nLABEL {VARIANT}=\"{word}\"{kubernetes}\nADD layer.tar /\n{volume}")
}

/// The names that an archive of images gives.
fn tags(tar: &Path) -> std::io::Result<Vec<String>> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(tar)?));
    for entry in archive.entries_with_seek()? {
        let mut entry = entry?;
        if entry.path()?.as_os_str() == "manifest.json" {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            let manifest: serde_json::Value = serde_json::from_str(&text)?;
            let all = manifest.as_array().into_iter().flatten().filter_map(|image| image["RepoTags"].as_array()).flatten();
            return Ok(all.filter_map(|tag| tag.as_str().map(str::to_owned)).collect());
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Origin;
    use crate::runtime::Fault;
    use crate::runtime::fake::{FakeEngine, Way, When};
    use crate::runtime::label::{Labels, ROLE};

    /// A folder with an upgrade, and the request for it.
    fn upgrade(dir: &Path) -> VariantRequest {
        std::fs::create_dir_all(dir).expect("made");
        for name in
            ["kubeadm", "kubelet", "kubectl", "kube-apiserver.tar", "kube-controller-manager.tar", "kube-scheduler.tar", "kube-proxy.tar"]
        {
            std::fs::write(dir.join(name), name).expect("written");
        }
        std::fs::write(dir.join("version"), "v1.37.2").expect("written");
        let upgrade = Some(Origin::Local(dir.to_owned()));
        VariantRequest { image: "a/variant".into(), base: "base".into(), upgrade, ..VariantRequest::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_call_fails_nothing_is_left_or_it_is_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let request = upgrade(&dir.path().join("up"));
        let (mut nth, mut told) = (0, 0);
        loop {
            nth += 1;
            let engine = FakeEngine::new(std::sync::Arc::new(()));
            engine.add_image("base", Labels::new(), []);
            engine.disturb(When::Nth(nth), Way::Refuse(Fault::Other));
            let built = build_variant(&request, &engine, dir.path(), &Stop::new(), &|_| {}).await;
            let made = engine.calls().len();
            let held = engine.holds(&[format!("{ROLE}=build")]);
            // behind the last call of the build it is this one that is refused
            let asked = engine.image("a/variant:latest").await;
            let there = if asked.is_err() { engine.image("a/variant:latest").await } else { asked }.expect("asked").is_some();
            assert_eq!(std::fs::read_dir(dir.path().join("image")).expect("a cache").count(), 1, "only the locks");
            if nth > made {
                assert!(there && built.is_ok_and(|built| built.left.is_empty()), "nothing failed");
                break;
            }
            let left = match &built {
                Ok(built) => built.left.join(" "),
                Err(e) => e.to_string(),
            };
            assert!(held.is_empty() || left.contains("docker rm -f -v joinder-variant-"), "call {nth}: {held:?} {left}");
            assert_eq!(there, built.is_ok(), "call {nth}: {left}");
            told += usize::from(!held.is_empty());
        }
        assert!(nth > 8 && told == 1, "{nth} calls, of which one removes: {told}");
    }

    #[test]
    fn what_the_base_has_stays_and_only_a_foreign_store_becomes_a_volume() {
        let own = dockerfile("joinder/node:x", "w", None, true);
        assert_eq!(own, "FROM joinder/node:x\nLABEL io.joinder.variant=\"w\"\nADD layer.tar /\n");
        let foreign = dockerfile("base", "w", Some("v1.37.2"), false);
        assert!(foreign.contains("w\" io.joinder.kubernetes=\"v1.37.2\"\n") && foreign.ends_with("VOLUME [\"/var/lib/containerd\"]\n"));
    }

    #[test]
    fn an_archive_says_what_is_in_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let tar = dir.path().join("x.tar");
        let mut archive = Archive::default();
        archive.file("/big", 0o644, &[0; 5000]).expect("added");
        archive.file("/manifest.json", 0o644, br#"[{"RepoTags":["r/a:1","r/b:2"]},{"RepoTags":null}]"#).expect("added");
        std::fs::write(&tar, archive.finish().and_then(crate::runtime::Tar::read).expect("finished")).expect("written");
        assert_eq!(tags(&tar).expect("read"), ["r/a:1", "r/b:2"]);
    }
}
