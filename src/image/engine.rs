//! What a build leaves in the engine while it works, and how it goes away again.

use std::path::Path;

use futures_util::StreamExt;

use super::error::ImageError;
use super::parts::archive::{self, Config};
use super::parts::layer::Layer;
use super::parts::rootfs::blocking;
use crate::runtime::label::{self, Labels, Lifetime, OWNER, ROLE};
use crate::runtime::{Runtime, RuntimeError};
use crate::sys::owner::Owner;
use crate::sys::stop::Stop;

/// The role of everything that lives only while an image is built.
const BUILD: &str = "build";

/// Labels of what lives only while this process builds.
pub(crate) fn labels() -> Labels {
    label::with_role(label::common(&format!("build-{}", std::process::id()), "", Lifetime::Process), BUILD)
}

/// Removes what builds left whose process is gone.
pub(crate) async fn sweep(runtime: &dyn Runtime) -> Result<(), ImageError> {
    let op = "remove what a killed build left";
    let failed = ImageError::engine;
    let role = [format!("{ROLE}={BUILD}")];
    for container in runtime.containers(&role).await.map_err(failed(op))? {
        if ownerless(&container.labels) {
            runtime.remove(&container.name).await.map_err(failed(op))?;
        }
    }
    for volume in runtime.volumes(&role).await.map_err(failed(op))? {
        if ownerless(&volume.labels) {
            runtime.remove_volume(&volume.name).await.map_err(failed(op))?;
        }
    }
    for image in runtime.images(&role).await.map_err(failed(op))? {
        if ownerless(&image.labels) {
            for name in if image.tags.is_empty() { vec![image.id] } else { image.tags } {
                runtime.remove_image(&name).await.map_err(failed(op))?;
            }
        }
    }
    Ok(())
}

fn ownerless(labels: &Labels) -> bool {
    labels.get(OWNER).and_then(|o| o.parse::<Owner>().ok()).is_some_and(|owner| !owner.is_alive())
}

/// Names of things in the engine that must go when the work ends, however it ends.
#[derive(Debug, Default)]
pub(crate) struct Litter {
    /// Containers, with their volumes.
    pub(crate) containers: Vec<String>,
    /// Images.
    pub(crate) images: Vec<String>,
}

impl Litter {
    /// Removes all of it, and says what could not be removed. Only a hard stop keeps it from that.
    pub(crate) async fn clear(self, runtime: &dyn Runtime, stop: &Stop) -> Vec<String> {
        let mut left = Vec::new();
        for name in self.containers {
            if stop.hard.is_cancelled() || runtime.remove(&name).await.is_err() {
                left.push(format!("container {name} (docker rm -f -v {name})"));
            }
        }
        for name in self.images {
            if stop.hard.is_cancelled() || runtime.remove_image(&name).await.is_err() {
                left.push(format!("image {name} (docker rmi {name})"));
            }
        }
        left
    }
}

/// `result`, with what was left behind put into its error.
pub(crate) fn with_left<T>(result: Result<T, ImageError>, left: Vec<String>) -> Result<(T, Vec<String>), ImageError> {
    match result {
        Ok(value) => Ok((value, left)),
        Err(error) if left.is_empty() => Err(error),
        Err(error) => Err(ImageError::Left { error: Box::new(error), left }),
    }
}

/// Writes an image's archive and loads it into the engine; returns the image's id.
pub(crate) async fn load(
    runtime: &dyn Runtime,
    stop: &Stop,
    dir: &Path,
    (name, config, layers): (&str, Config, Vec<Layer>),
) -> Result<String, ImageError> {
    let path = dir.join("image.tar");
    let (to, tag) = (path.clone(), name.to_owned());
    let write = "write the image archive";
    let id = blocking(write, move || archive::write(&to, &tag, &config, &layers).map_err(ImageError::io(write, &to))).await?;
    if stop.soft.is_cancelled() {
        return Err(ImageError::Stopped { stage: "load the image into the engine".into() });
    }
    runtime.load(&path).await.map_err(ImageError::engine("load the image into the engine"))?;
    std::fs::remove_file(&path).map_err(ImageError::io("remove", &path))?;
    Ok(id)
}

/// Runs a command in a container to its end; its exit code and what it wrote.
pub(crate) async fn exec(runtime: &dyn Runtime, container: &str, argv: &[&str]) -> Result<(i64, String), RuntimeError> {
    let argv: Vec<String> = argv.iter().map(|a| (*a).to_owned()).collect();
    let mut exec = runtime.exec(container, &argv).await?;
    drop(exec.input);
    let mut said = Vec::new();
    while let Some(piece) = exec.output.next().await {
        said.extend_from_slice(&piece?.1);
    }
    // its output has ended, so it has too; a missing code is one that the engine never learned
    let code = runtime.exec_code(&exec.id).await?.unwrap_or(-1);
    Ok((code, String::from_utf8_lossy(&said).into_owned()))
}
