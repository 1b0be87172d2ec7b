//! Images that are in the engine, chosen by their labels and never by their names.

use super::default_versions::{LOAD_BALANCER, NODE};
use super::error::ImageError;
use super::version::Version;
use crate::runtime::label::{ETCD, IMAGE, KUBERNETES};
use crate::runtime::{Image, Runtime};

/// The newest node image with these versions, however they are written (`v1.36.3` or `1.36.3`).
///
/// # Errors
/// [`ImageError::Missing`] with the command that builds it; [`ImageError::Engine`].
pub async fn node_image(runtime: &dyn Runtime, kubernetes: &str, etcd: &str) -> Result<Image, ImageError> {
    let kubernetes = Version::parse("Kubernetes version", kubernetes, super::default_versions::KUBERNETES)?.tagged();
    let etcd = Version::parse("etcd version", etcd, super::default_versions::ETCD)?.to_string();
    let labels = [format!("{IMAGE}={NODE}"), format!("{KUBERNETES}={kubernetes}"), format!("{ETCD}={etcd}")];
    newest(runtime, &labels).await?.ok_or_else(|| ImageError::Missing {
        what: format!("node image with Kubernetes {kubernetes} and etcd {etcd}"),
        command: format!("joinder build node-image --kubernetes {kubernetes} --etcd {etcd}"),
    })
}

/// The newest load balancer image.
///
/// # Errors
/// [`ImageError::Missing`] with the command that builds it; [`ImageError::Engine`].
pub async fn load_balancer(runtime: &dyn Runtime) -> Result<Image, ImageError> {
    newest(runtime, &[format!("{IMAGE}={LOAD_BALANCER}")])
        .await?
        .ok_or_else(|| ImageError::Missing { what: "load balancer image".into(), command: "joinder build node-image".into() })
}

/// All node images, newest first.
///
/// # Errors
/// [`ImageError::Engine`].
pub async fn node_images(runtime: &dyn Runtime) -> Result<Vec<Image>, ImageError> {
    all(runtime, &[format!("{IMAGE}={NODE}")]).await
}

/// What to call an image when a container is made of it: its first name, or its id.
pub fn reference(image: &Image) -> &str {
    image.tags.first().map_or(&image.id, |tag| tag)
}

async fn newest(runtime: &dyn Runtime, labels: &[String]) -> Result<Option<Image>, ImageError> {
    Ok(all(runtime, labels).await?.into_iter().next())
}

async fn all(runtime: &dyn Runtime, labels: &[String]) -> Result<Vec<Image>, ImageError> {
    let mut images = runtime.images(labels).await.map_err(ImageError::engine("look for images"))?;
    // what carries no name was replaced by something newer
    images.sort_by_key(|image| (image.tags.is_empty(), std::cmp::Reverse(image.created)));
    Ok(images)
}
