//! Images that are in the engine, chosen by their labels and never by their names.

use super::default_versions::{self, ETCD_ALONE, LOAD_BALANCER, NODE};
use super::error::ImageError;
use super::version::Version;
use crate::runtime::label::{CREATED, ETCD, IMAGE, KUBERNETES};
use crate::runtime::{Image, Runtime};

/// The newest node image with these versions, however they are written (`v1.36.3` or `1.36.3`). Without a Kubernetes version
/// the default one is meant; without one of etcd, any.
///
/// # Errors
/// [`ImageError::Missing`] with the command that builds it; [`ImageError::Engine`].
pub async fn node_image(runtime: &dyn Runtime, kubernetes: Option<&str>, etcd: Option<&str>) -> Result<Image, ImageError> {
    let kubernetes = kubernetes.unwrap_or(default_versions::KUBERNETES);
    let kubernetes = Version::parse("Kubernetes version", kubernetes, default_versions::KUBERNETES)?.tagged();
    let etcd = etcd.map(|etcd| Version::parse("etcd version", etcd, default_versions::ETCD)).transpose()?;
    let mut labels = vec![format!("{IMAGE}={NODE}"), format!("{KUBERNETES}={kubernetes}")];
    labels.extend(etcd.as_ref().map(|etcd| format!("{ETCD}={etcd}")));
    newest(runtime, &labels).await?.ok_or_else(|| {
        let (and, option) = etcd.map(|e| (format!(" and etcd {e}"), format!(" --etcd {e}"))).unwrap_or_default();
        ImageError::Missing {
            what: format!("node image with Kubernetes {kubernetes}{and}"),
            command: format!("joinder build node-image --kubernetes {kubernetes}{option}"),
        }
    })
}

/// The newest image with this etcd and nothing else, however its version is written; with the default one where none is named.
///
/// # Errors
/// [`ImageError::Missing`] with the command that builds it; [`ImageError::Engine`].
pub async fn etcd_image(runtime: &dyn Runtime, version: Option<&str>) -> Result<Image, ImageError> {
    let version = Version::parse("etcd version", version.unwrap_or(default_versions::ETCD), default_versions::ETCD)?;
    let labels = [format!("{IMAGE}={ETCD_ALONE}"), format!("{ETCD}={version}")];
    newest(runtime, &labels).await?.ok_or_else(|| ImageError::Missing {
        what: format!("image with etcd {version} alone"),
        command: format!("joinder build etcd-image --version {version}"),
    })
}

/// A node image by name or id, ours or another's.
///
/// # Errors
/// [`ImageError::NotThere`] with those that are; [`ImageError::Engine`].
pub async fn named(runtime: &dyn Runtime, name: &str) -> Result<Image, ImageError> {
    if let Some(image) = runtime.image(name).await.map_err(ImageError::engine("look for an image"))? {
        return Ok(image);
    }
    let there = node_images(runtime).await?.iter().map(|image| reference(image).to_owned()).collect();
    Err(ImageError::NotThere { name: name.to_owned(), there })
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

/// An image that somebody makes of one of ours inherits its labels, this one's time among them, but not its age.
fn is_original(image: &Image) -> bool {
    let label = image.labels.get(CREATED).and_then(|text| text.parse::<jiff::Timestamp>().ok());
    label.is_some_and(|at| at.as_second() == image.created)
}

/// The images with these labels that were built here, newest first.
pub(super) async fn all(runtime: &dyn Runtime, labels: &[String]) -> Result<Vec<Image>, ImageError> {
    let mut images = runtime.images(labels).await.map_err(ImageError::engine("look for images"))?;
    images.retain(is_original);
    // what carries no name was replaced by something newer
    images.sort_by_key(|image| (image.tags.is_empty(), std::cmp::Reverse(image.created)));
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_made_of_ours_is_not_ours() {
        let image = |created| Image {
            id: "sha256:0".into(),
            tags: vec!["x:1".into()],
            labels: [(CREATED.to_owned(), "2026-12-01T13:50:46.243126967Z".to_owned())].into(),
            size: 0,
            created,
        };
        assert!(is_original(&image(1_796_133_046)));
        assert!(!is_original(&image(1_796_133_047)), "committed or built from it later, with its labels");
        assert!(!is_original(&Image { labels: crate::runtime::label::Labels::new(), ..image(1_796_133_046) }));
    }
}
