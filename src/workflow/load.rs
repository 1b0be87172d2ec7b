//! A file's bytes to the typed workflow, with the place of what is wrong.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use thiserror::Error;

use crate::spec::Workflow;

/// Larger files are refused unread.
const MOST_BYTES: u64 = 10 * 1024 * 1024;

/// Why a file is no workflow.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read workflow {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not text, or too large.
    #[error("{file} is no workflow: {why}")]
    NotText {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
    /// It does not follow the language. The report points at the place.
    #[error("{file} is no workflow of version 2:\n{report}")]
    Syntax {
        /// The file.
        file: String,
        /// Place and reason with a few lines of the file.
        report: String,
    },
}

/// Reads a workflow of version 2.
///
/// # Errors
/// [`LoadError`].
pub fn load(path: &Path) -> Result<Workflow, LoadError> {
    let file = path.display().to_string();
    let read = |source| LoadError::Read { file: file.clone(), source };
    let not_text = |why: &str| LoadError::NotText { file: file.clone(), why: why.to_owned() };
    let meta = std::fs::metadata(path).map_err(read)?;
    if meta.is_dir() {
        return Err(not_text("it is a folder"));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|f| f.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(read)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(not_text("it is larger than 10 MB"));
    }
    let text = String::from_utf8(bytes).map_err(|e| not_text(&format!("not UTF-8 at byte {}", e.utf8_error().valid_up_to())))?;
    if text.trim().is_empty() {
        return Err(not_text("it is empty"));
    }
    let workflow: Workflow = serde_saphyr::from_str(&text).map_err(|e| LoadError::Syntax { file: file.clone(), report: e.to_string() })?;
    if workflow.version != 2 {
        let report = format!("version: {} is not supported yet, only 2 is", workflow.version);
        return Err(LoadError::Syntax { file, report });
    }
    Ok(workflow)
}
