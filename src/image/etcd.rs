//! The image of etcd alone: etcd's own programs, and no system around them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::build::{Built, Say, TOOL_BYTES, forget, go_stage, named, timed, with_plan};
use super::cache::{Cache, remove};
use super::default_versions::{ETCD, ETCD_ALONE, ETCD_NAME};
use super::engine::{self, with_left};
use super::error::ImageError;
use super::host::{self, Need};
use super::parts::archive::{Config, PATH};
use super::parts::layer::{Layer, LayerWriter, Packing};
use super::parts::rootfs::blocking;
use super::plan::{Stage, dir_stage, etcd_folder, full_name, go_stage as from_go, key};
use super::request::EtcdSource;
use super::source::gomod::Component;
use super::source::{debian, dir};
use super::version::Version;
use crate::runtime::Runtime;
use crate::runtime::label::{self, Labels};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// Counts up when what is done here changes.
const RECIPE: &str = "1";
/// Go looks users up, and etcd's tools write below `/tmp`.
const PASSWD: &str = "root:x:0:0:root:/root:/sbin/nologin\n";
const PROGRAMS: [&str; 3] = ["etcd", "etcdctl", "etcdutl"];
/// The stage with Debian's etcd.
const DEBIAN: &str = "etcd-debian";
/// Beside the binaries: an archive of them and the image's own.
const ROOM: u64 = 200 << 20;

/// What will be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdPlan {
    /// Version of etcd.
    pub version: Version,
    /// The image's name with its tag.
    pub tag: String,
    /// The architecture in Go's words.
    pub arch: String,
    /// SHA-256 over everything in it; its [`label::PLAN`].
    pub digest: String,
    /// Its labels.
    pub labels: Labels,
    stage: Stage,
}

impl EtcdPlan {
    /// Resolves where etcd comes from. Reads a folder that is a source; makes nothing.
    ///
    /// # Errors
    /// [`ImageError::Version`], [`ImageError::Folder`], or a tag that no image can have.
    pub fn new(source: &EtcdSource, tag: Option<&str>) -> Result<Self, ImageError> {
        let arch = host::arch().to_owned();
        let (version, stage) = match source {
            EtcdSource::Go { version } => {
                let version = Version::parse("etcd version", version, ETCD)?;
                let stage = from_go(Component::Etcd, &version, &arch)?;
                (version, stage)
            }
            EtcdSource::Path { path } => {
                let found = dir::look(&dir::ETCD, &etcd_folder(path))?;
                let stage = dir_stage(Component::Etcd, &found);
                (found.version, stage)
            }
        };
        let usual = format!("{ETCD_NAME}:v{}", version.in_image_tag());
        Ok(Self::of(version, stage, arch, tag.map_or(Ok(usual), full_name)?))
    }

    /// etcd from this machine's Debian packages, in the version that apt would install.
    ///
    /// # Errors
    /// Where apt knows none, or a tag that no image can have.
    pub fn of_debian(tag: Option<&str>) -> Result<Self, ImageError> {
        let arch = host::arch().to_owned();
        let (version, package) = debian::candidate()?;
        let what = format!("etcd-server and etcd-client {package} from Debian, with this machine's libraries");
        let stage = Stage { name: DEBIAN, key: key(&[DEBIAN, RECIPE, &package, &arch]), what, taken: None };
        let usual = format!("{ETCD_NAME}:v{}-debian", version.in_image_tag());
        Ok(Self::of(version, stage, arch, tag.map_or(Ok(usual), full_name)?))
    }

    fn of(version: Version, stage: Stage, arch: String, tag: String) -> Self {
        let digest = key(&[ETCD_ALONE, RECIPE, PASSWD, &version.to_string(), &stage.key]);
        let labels = Labels::from([
            (label::IMAGE.to_owned(), ETCD_ALONE.to_owned()),
            (label::ETCD.to_owned(), version.to_string()),
            (label::PLAN.to_owned(), digest.clone()),
        ]);
        Self { version, tag, arch, digest, labels, stage }
    }
}

impl fmt::Display for EtcdPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "etcd image       {} ({})", self.tag, self.arch)?;
        writeln!(f, "stages")?;
        writeln!(f, "  {:<14} {}  {}", self.stage.name, &self.stage.key[..12], self.stage.what)?;
        writeln!(f, "labels")?;
        self.labels.iter().try_for_each(|(name, value)| writeln!(f, "  {name}={value}"))
    }
}

/// Makes the image of a plan, or finds it in the engine. The binaries are a stage that node images share.
///
/// # Errors
/// Any [`ImageError`]; what could not be removed is in it.
pub async fn build_etcd(plan: &EtcdPlan, runtime: &dyn Runtime, cache: &Path, stop: &Stop, say: &Say<'_>) -> Result<Built, ImageError> {
    let there = async || Ok::<_, ImageError>(with_plan(runtime, ETCD_ALONE, &plan.digest).await?.contains(&plan.tag));
    let built = |reused, left| Built { node: plan.tag.clone(), load_balancer: String::new(), reused, left };
    if there().await? {
        return Ok(built(true, Vec::new()));
    }
    let cache = Cache::open(&cache.join("image"))?;
    let go = plan.stage.name != DEBIAN && plan.stage.taken.is_none() && cache.finished(plan.stage.name, &plan.stage.key).is_none();
    host::check(Need { go, bytes: ROOM + if go { TOOL_BYTES } else { 0 }, ..Need::default() }, cache.root(), None)?;
    let programs = if plan.stage.name == DEBIAN {
        let make = |dir: PathBuf| async move { debian::make(&dir, stop).await };
        cache.stage(DEBIAN, &plan.stage.key, stop, say, make).await?.join("bin")
    } else {
        go_stage(&plan.stage, &cache, (Component::Etcd, &plan.version), stop, say).await?
    };
    let held = cache.lock(ETCD_ALONE, &plan.digest, stop, say).await?;
    if there().await? {
        return Ok(built(true, Vec::new()));
    }
    let dir = cache.fresh(ETCD_ALONE, &plan.digest, &held)?;
    let replaced = named(runtime, &plan.tag).await?;
    let made = timed("etcd image", say, make(plan, runtime, &programs, &dir, stop)).await;
    let left = remove(&dir).err().map(|_| dir.display().to_string()).into_iter().collect();
    let (_, left) = with_left(made, left)?;
    forget(runtime, replaced).await;
    Ok(built(false, left))
}

async fn make(plan: &EtcdPlan, runtime: &dyn Runtime, programs: &Path, dir: &Path, stop: &Stop) -> Result<String, ImageError> {
    let (path, from) = (dir.join("etcd.tar"), programs.to_owned());
    let op = "write etcd's programs in";
    let layer = blocking(op, move || write(&path, &from).map_err(ImageError::io(op, &path))).await?;
    let now = Stamp::now().wall.to_string();
    let config = Config {
        arch: plan.arch.clone(),
        created: now.clone(),
        entrypoint: vec!["/usr/local/bin/etcd".into()],
        env: vec![PATH.into()],
        labels: plan.labels.clone().into_iter().chain([(label::CREATED.to_owned(), now)]).collect(),
        stop_signal: None,
    };
    engine::load(runtime, stop, dir, (&plan.tag, config, vec![layer])).await
}

fn write(path: &Path, programs: &Path) -> io::Result<Layer> {
    let mut layer = LayerWriter::create(path, Packing::Plain)?;
    for dir in ["usr/local/bin", "etc", "var/lib/etcd", "var/log", "tmp", "root"] {
        layer.dir(dir)?;
    }
    layer.bytes("etc/passwd", 0o644, PASSWD.as_bytes())?;
    let there: Vec<PathBuf> = PROGRAMS.iter().map(|name| programs.join(name)).filter(|file| file.exists()).collect();
    for file in there {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        layer.copy(&format!("usr/local/bin/{name}"), 0o755, &file)?;
    }
    if let Some(libraries) = programs.parent().map(|stage| stage.join(debian::LIBRARIES)).filter(|dir| dir.is_dir()) {
        layer.tree(&libraries, &[])?;
    }
    layer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(version: &str) -> EtcdPlan {
        EtcdPlan::new(&EtcdSource::Go { version: version.into() }, None).expect("resolved")
    }

    #[test]
    fn the_name_the_labels_and_the_digest_follow_the_version() {
        let (a, b) = (plan("3.6.16"), plan("v3.7.3"));
        assert_eq!((a.tag.as_str(), b.tag.as_str()), ("joinder/etcd:v3.6.16", "joinder/etcd:v3.7.3"));
        assert_eq!((a.labels[label::IMAGE].as_str(), a.labels[label::ETCD].as_str()), ("etcd", "3.6.16"));
        assert_ne!(a.digest, b.digest);
        assert_eq!(a, plan("v3.6.16"));
    }

    #[test]
    fn a_layer_holds_the_programs_that_there_are() {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["etcd", "etcdctl", "other"] {
            std::fs::write(dir.path().join(name), name).expect("written");
        }
        let layer = write(&dir.path().join("layer.tar"), dir.path()).expect("written");
        let mut tar = tar::Archive::new(std::fs::File::open(layer.file).expect("there"));
        let all = tar.entries().expect("a tar").map(|e| e.expect("one").path().expect("a path").display().to_string());
        let all: Vec<String> = all.filter(|path| !path.ends_with('/')).collect();
        assert_eq!(all, ["etc/passwd", "usr/local/bin/etcd", "usr/local/bin/etcdctl"]);
    }
}
