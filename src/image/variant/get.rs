//! `get artifacts`: files into a folder of the user's.

use std::path::Path;

use super::super::artifacts::{Keep, Origin, What, bring, locate};
use super::super::error::ImageError;
use super::taken::opened;
use crate::runtime::Runtime;
use crate::sys::stop::Stop;

/// Brings files into a folder that is there. What is told is a line a file. Each file appears whole, and as its checksum says where one is
/// published. The engine is asked for what is in an image only.
///
/// # Errors
/// [`ImageError::Source`]; files that came before it stay. Those of [`build_variant`](super::build_variant) where an image is opened.
pub async fn get_artifacts(
    origin: &Origin,
    what: What,
    to: &Path,
    engine: Option<&dyn Runtime>,
    stop: &Stop,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ImageError> {
    if !to.is_dir() {
        return Err(ImageError::Source { what: origin.to_string(), why: format!("{} is no folder: make it first", to.display()) });
    }
    let Some(runtime) = engine else { return from(origin, what, to, stop, tell).await };
    let dir = tempfile::Builder::new().prefix(".joinder-").tempdir_in(to).map_err(ImageError::io("make a folder in", to))?;
    let opened = opened(origin, what, &dir.path().join("taken"), runtime, stop, tell).await?;
    // where they were for a moment is of no interest
    from(&opened, what, to, stop, &|_| {}).await
}

async fn from(origin: &Origin, what: What, to: &Path, stop: &Stop, tell: &(dyn Fn(&str) + Send + Sync)) -> Result<(), ImageError> {
    let located = tokio::select! {
        biased;
        () = stop.soft.cancelled() => return Err(ImageError::Stopped { stage: format!("find {origin}") }),
        located = locate(origin, what) => located?,
    };
    bring(&located, to, Keep::Copies, stop, tell).await?;
    Ok(())
}
