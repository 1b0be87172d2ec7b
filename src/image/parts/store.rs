//! Component images unpacked into containerd's own store, at build time, by containerd itself.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::build::Job;
use super::super::embedded::IMPORT;
use super::super::engine::{self, Litter};
use super::super::error::ImageError;
use super::components::{self, Component};
use super::layer::{Layer, LayerWriter, Packing};
use super::rootfs::blocking;
use crate::runtime::{Archive, ContainerSpec, Runtime, Tar};
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, wait};

/// Where the store is in a node image: outside `/var`, which each node has as a volume of its own.
const STORE: &str = "kind/store";
/// What of containerd's folder is carried over.
const KEPT: &[&str] = &[
    "io.containerd.metadata.v1.bolt",
    "io.containerd.snapshotter.v1.overlayfs/metadata.db",
    "io.containerd.snapshotter.v1.overlayfs/snapshots",
    "io.containerd.content.v1.content/blobs",
];
/// Unpacking needs more than the engine gives by itself: containerd mounts each layer to fill it.
const CAPABILITIES: &[&str] = &["SYS_ADMIN"];
/// Where containerd's configuration is while it only takes images in.
pub(in crate::image) const IMPORT_CONFIG: &str = "/kind/import.toml";
const STARTS: Duration = Duration::from_mins(1);
const ENDS: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_millis(100);

/// Unpacks images in a container of the image `bare` and makes the store's layer in `dir`.
pub(crate) async fn make(
    job: &Job<'_>,
    bare: &str,
    images: Vec<Component>,
    created: &str,
    dir: &Path,
    litter: &mut Litter,
) -> Result<Layer, ImageError> {
    let name = format!("joinder-build-{}-{}", &job.plan.digest[..8], std::process::id());
    let op = "unpack component images";
    start(job.runtime, job.stop, (&name, bare), &["containerd", "--config", IMPORT_CONFIG], litter).await?;
    for (i, image) in images.into_iter().enumerate() {
        job.check(op)?;
        import(job, &name, image, created, &dir.join(format!("{i}.tar"))).await?;
    }
    end(job.runtime, job.stop, &name).await?;
    carry(job, &name, dir).await
}

/// Starts a container of `image` whose first process comes to be containerd, and waits until that answers.
pub(in crate::image) async fn start(
    runtime: &dyn Runtime,
    stop: &Stop,
    (name, image): (&str, &str),
    command: &[&str],
    litter: &mut Litter,
) -> Result<(), ImageError> {
    let spec = ContainerSpec {
        name: name.to_owned(),
        image: image.to_owned(),
        entrypoint: command.iter().map(|word| (*word).to_owned()).collect(),
        labels: engine::labels(),
        capabilities: CAPABILITIES.iter().map(|c| (*c).to_owned()).collect(),
        unconfined: true,
        tmpfs: vec!["/run".into(), "/tmp".into()],
        volumes: vec!["/var".into()],
        stop_signal: Some("SIGTERM".into()),
        ..ContainerSpec::default()
    };
    let op = "start containerd in a build container";
    litter.containers.push(name.to_owned());
    runtime.create(&spec).await.map_err(ImageError::engine(op))?;
    let memory = || ImageError::io("pack files for", Path::new(IMPORT_CONFIG));
    let mut files = Archive::default();
    files.file(IMPORT_CONFIG, 0o644, IMPORT.as_bytes()).map_err(memory())?;
    runtime.put(name, files.finish().map_err(memory())?).await.map_err(ImageError::engine(op))?;
    runtime.start(name).await.map_err(ImageError::engine(op))?;
    let patience = Patience { limit: STARTS, every: EVERY, stop: stop.soft.clone() };
    let look = || async {
        match engine::exec(runtime, name, &["ctr", "version"]).await {
            Ok((0, _)) => Look::Done(()),
            Ok((_, said)) => Look::NotYet(said.trim().to_owned()),
            Err(e) => match runtime.container(name).await {
                Ok(c) if c.state == "exited" => Look::Never(runtime.logs(name, 10).await.unwrap_or_else(|_| e.to_string())),
                _ => Look::NotYet(e.to_string()),
            },
        }
    };
    wait("containerd answers in the build container", &patience, look).await.map_err(|source| ImageError::Wait { op, source })
}

async fn import(job: &Job<'_>, container: &str, image: Component, created: &str, path: &Path) -> Result<(), ImageError> {
    let op = "unpack component images";
    let (file, arch, created, what) = (path.to_owned(), job.plan.arch.clone(), created.to_owned(), image.name.clone());
    let files = blocking(op, move || {
        components::write(&image, &arch, &created, &file)?;
        let pack = || -> io::Result<Tar> {
            let mut files = Archive::default();
            files.copy("/var/lib/image.tar", 0o600, &file)?;
            std::fs::remove_file(&file)?;
            files.finish()
        };
        pack().map_err(ImageError::io("read", &file))
    })
    .await?;
    job.runtime.put(container, files).await.map_err(ImageError::engine(op))?;
    let argv = ["ctr", "--namespace", "k8s.io", "images", "import", "--local", "/var/lib/image.tar"];
    let (code, said) = engine::exec(job.runtime, container, &argv).await.map_err(ImageError::engine(op))?;
    if code == 0 {
        return Ok(());
    }
    let status = format!("exit code {code}");
    Err(ImageError::Command {
        op: format!("unpack {what} in the build container"),
        command: argv.join(" "),
        status,
        said: said.trim().to_owned(),
    })
}

/// Lets containerd end by itself, so that its databases are whole.
pub(in crate::image) async fn end(runtime: &dyn Runtime, stop: &Stop, name: &str) -> Result<(), ImageError> {
    let op = "end containerd in the build container";
    runtime.signal(name, "SIGTERM").await.map_err(ImageError::engine(op))?;
    let patience = Patience { limit: ENDS, every: EVERY, stop: stop.soft.clone() };
    let ended = wait("containerd has ended", &patience, || async {
        match runtime.container(name).await {
            Ok(c) if c.state == "exited" => Look::Done(c.exit_code),
            Ok(c) => Look::NotYet(c.state),
            Err(e) => Look::Never(e.to_string()),
        }
    });
    match ended.await.map_err(|source| ImageError::Wait { op, source })? {
        Some(0) | None => Ok(()),
        Some(code) => Err(ImageError::Unexpected { op, why: format!("it ended with exit code {code}") }),
    }
}

/// Reads the store out of the container and makes a layer of it.
async fn carry(job: &Job<'_>, name: &str, dir: &Path) -> Result<Layer, ImageError> {
    let op = "read the unpacked images from the build container";
    let path = dir.join("containerd.tar");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(ImageError::io(op, &path))?);
    job.runtime.get(name, "/var/lib/containerd", &mut file).await.map_err(ImageError::engine(op))?;
    file.flush().map_err(ImageError::io(op, &path))?;
    let to = dir.join("store.tar");
    blocking(op, move || repack(&path, &to).map_err(ImageError::io(op, &path))).await
}

fn repack(from: &Path, to: &Path) -> io::Result<Layer> {
    let mut layer = LayerWriter::create(to, Packing::Plain)?;
    layer.dir(STORE)?;
    for part in KEPT.iter().filter_map(|k| k.rsplit_once('/')).map(|(dir, _)| dir) {
        layer.dir(&format!("{STORE}/{part}"))?;
    }
    let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 20, File::open(from)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let inside: PathBuf = path.components().skip(1).collect();
        if KEPT.iter().any(|kept| inside.starts_with(kept)) {
            layer.entry(&Path::new(STORE).join(inside), &mut entry)?;
        }
    }
    let layer = layer.finish()?;
    std::fs::remove_file(from)?;
    Ok(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_node_needs_of_the_store_is_carried_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut from = Archive::default();
        for path in [
            "/containerd/io.containerd.metadata.v1.bolt/meta.db",
            "/containerd/io.containerd.snapshotter.v1.overlayfs/metadata.db",
            "/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs/pause",
            "/containerd/io.containerd.content.v1.content/blobs/sha256/ab",
            "/containerd/io.containerd.content.v1.content/ingest/half",
            "/containerd/tmpmounts/x",
        ] {
            from.file(path, 0o755, path.as_bytes()).expect("added");
        }
        let tar = dir.path().join("from.tar");
        std::fs::write(&tar, from.finish().and_then(Tar::read).expect("finished")).expect("written");
        let layer = repack(&tar, &dir.path().join("store.tar")).expect("repacked");
        let mut archive = tar::Archive::new(File::open(layer.file).expect("there"));
        let paths: Vec<String> =
            archive.entries().expect("a tar").map(|e| e.expect("an entry").path().expect("a path").display().to_string()).collect();
        let has = |part: &str| paths.iter().any(|p| p.contains(part));
        assert!(
            has("kind/store/io.containerd.metadata.v1.bolt/meta.db") && has("snapshots/1/fs/pause") && has("blobs/sha256/ab"),
            "{paths:?}"
        );
        assert!(has("overlayfs/metadata.db") && !has("ingest") && !has("tmpmounts"), "{paths:?}");
        assert!(!tar.exists());
    }
}
