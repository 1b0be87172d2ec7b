//! A file's bytes to the typed workflow, with the place of what is wrong.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
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
    let syntax = |report: String| LoadError::Syntax { file: file.clone(), report };
    // Asked first: a file of another version breaks this one's rules everywhere.
    if let Ok(Versioned { version: Some(version) }) = serde_saphyr::from_str(&text)
        && version != 2
    {
        let kinder = if version == 1 { " (version 1 is kinder's language; it is not run yet)" } else { "" };
        return Err(syntax(format!("version: {version} is not supported, only 2 is{kinder}")));
    }
    let workflow: Workflow = serde_saphyr::from_str(&text).map_err(|e| syntax(teach(&e.to_string(), &file)))?;
    Ok(workflow)
}

#[derive(Deserialize)]
struct Versioned {
    version: Option<u32>,
}

/// The parser's words for somebody who does not know the parser.
fn teach(report: &str, file: &str) -> String {
    report
        .replace("<input>", file)
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "")
        .replace("invalid u8", "not a whole number from 0 to 255")
        .replace("invalid usize", "not a whole number")
        .replace("invalid u64", "not a whole number")
        .replace("invalid boolean", "neither true nor false")
}
