//! A variant of a node image, made for real. As in `real_cluster.rs`, `JOINDER_REAL=1` says that an engine and a node image are there.

#![expect(clippy::disallowed_methods, reason = "a test looks at the program from outside, by its environment")]

mod real;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::real::{binary, may_run};
use joinder::image::default_versions::KUBERNETES;
use joinder::image::find;
use joinder::runtime::docker::DockerEngine;
use joinder::runtime::{ContainerSpec, Runtime, label};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

/// A node image to take an upgrade out of, of another version than the default one where there is one, and its version.
async fn source(engine: &DockerEngine) -> (String, String) {
    let all = find::node_images(engine).await.expect("listed");
    let version = |image: &joinder::runtime::Image| image.labels.get(label::KUBERNETES).cloned().unwrap_or_default();
    let image = all.iter().find(|image| version(image) != KUBERNETES).or(all.first()).expect("a node image");
    (find::reference(image).to_owned(), version(image))
}

/// What builds have left in the engine.
async fn left(engine: &DockerEngine) -> Vec<String> {
    let build = [format!("{}=build", label::ROLE)];
    let containers = engine.containers(&build).await.expect("listed").into_iter().map(|c| c.name);
    containers.chain(engine.volumes(&build).await.expect("listed").into_iter().map(|v| v.name)).collect()
}

fn command(image: &str, source: &str, files: &Path, home: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(["build", "node-image-variant", "--image", image, "--with-upgrade-artifacts"]).arg(format!("image:{source}"));
    command.arg("--with-path").arg(format!("{}:/kinder/files", files.display())).env("XDG_CACHE_HOME", home);
    command
}

/// Paths below `path` of a container, with kind, mode and size.
async fn listing(engine: &DockerEngine, container: &str, path: &str) -> Vec<(String, u32, u64)> {
    let mut tar = Vec::new();
    engine.get(container, path, &mut tar).await.expect("read");
    let mut archive = tar::Archive::new(&tar[..]);
    let entries = archive.entries().expect("a tar").map(|entry| {
        let entry = entry.expect("one");
        let mode = entry.header().mode().expect("a mode") & 0o777;
        (entry.path().expect("a path").display().to_string(), mode, entry.size())
    });
    entries.collect()
}

async fn text(engine: &DockerEngine, container: &str, path: &str) -> String {
    let mut tar = Vec::new();
    engine.get(container, path, &mut tar).await.expect("read");
    String::from_utf8(joinder::runtime::api::only_file(&tar).expect("a file")).expect("UTF-8")
}

#[test]
fn a_variant_has_its_upgrade_at_kinders_paths_and_all_else_of_its_base() {
    if !may_run("an engine and a node image") {
        return;
    }
    let (dir, name) = (tempfile::tempdir().expect("a folder"), format!("joinder/node:variant-test-{}", std::process::id()));
    let files = dir.path().join("files");
    std::fs::create_dir(&files).expect("made");
    std::fs::write(files.join("note"), "hello").expect("written");
    let (source, version) = block_on(async { source(&DockerEngine::connect().await.expect("an engine")).await });
    let output = command(&name, &source, &files, dir.path()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    block_on(async {
        let engine = DockerEngine::connect().await.expect("an engine");
        let image = engine.image(&name).await.expect("asked").expect("there");
        assert_eq!(image.labels[label::KUBERNETES], KUBERNETES, "what runs is the base's");
        let all = find::node_images(&engine).await.expect("listed");
        assert!(!all.iter().any(|known| known.id == image.id), "no variant is chosen by its version");
        let container = format!("joinder-variant-test-{}", std::process::id());
        engine.create(&ContainerSpec { name: container.clone(), image: name.clone(), ..ContainerSpec::default() }).await.expect("made");
        let version_file = text(&engine, &container, "/kinder/upgrade/version").await;
        let base = text(&engine, &container, "/kind/version").await;
        let note = text(&engine, &container, "/kinder/files/note").await;
        let there = listing(&engine, &container, &format!("/kinder/upgrade/{version}")).await;
        engine.remove(&container).await.expect("removed");
        engine.remove_image(&name).await.expect("removed");
        assert_eq!((version_file, base, note.as_str()), (format!("{version}\n"), format!("{KUBERNETES}\n"), "hello"));
        for (file, mode) in
            [("kubeadm", 0o755), ("kubelet", 0o755), ("kubectl", 0o755), ("kube-apiserver.tar", 0o644), ("coredns.tar", 0o644)]
        {
            let found = there.iter().find(|(path, ..)| *path == format!("{version}/{file}"));
            assert!(found.is_some_and(|(_, found, size)| *found == mode && *size > 1 << 20), "{file}: {found:?}");
        }
        assert_eq!(left(&engine).await, [""; 0]);
    });
    assert_eq!(std::fs::read_dir(dir.path().join("joinder/image")).expect("a cache").count(), 1, "only the locks");
}

#[test]
fn a_signal_ends_a_build_and_leaves_nothing() {
    if !may_run("an engine and a node image") {
        return;
    }
    let (dir, name) = (tempfile::tempdir().expect("a folder"), format!("joinder/node:variant-stop-{}", std::process::id()));
    let (source, _) = block_on(async { source(&DockerEngine::connect().await.expect("an engine")).await });
    let mut command = command(&name, &source, dir.path(), dir.path());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped"));
    let mut said = String::new();
    while !said.contains("taking files out of it") {
        assert!(lines.read_line(&mut said).expect("read") > 0, "{said}");
    }
    kill(Pid::from_raw(i32::try_from(child.id()).expect("an id")), Signal::SIGINT).expect("sent");
    lines.read_to_string(&mut said).expect("read");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{said}");
    block_on(async {
        let engine = DockerEngine::connect().await.expect("an engine");
        assert_eq!(engine.image(&name).await.expect("asked"), None);
        assert_eq!(left(&engine).await, [""; 0], "{said}");
    });
    assert_eq!(std::fs::read_dir(dir.path().join("joinder/image")).expect("a cache").count(), 1, "only the locks");
}
