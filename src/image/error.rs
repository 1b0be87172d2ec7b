//! What can go wrong with images.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::runtime::RuntimeError;
use crate::sys::wait::WaitError;

/// Why there is no image. Each says what was tried, on what, why it failed and, where known, what to do.
#[derive(Debug, Error)]
pub enum ImageError {
    /// A version or name that is none.
    #[error("{what} {given:?} cannot be used: {why}\nhint: write it like {like}")]
    Version {
        /// Of what.
        what: &'static str,
        /// As given.
        given: String,
        /// Why it is none.
        why: &'static str,
        /// One that is right.
        like: &'static str,
    },
    /// A version that Go modules do not serve.
    #[error("no {module} {version} among Go modules: {said}\nhint: served are {served}")]
    NotServed {
        /// The module's path.
        module: String,
        /// The version asked for.
        version: String,
        /// Go's own words.
        said: String,
        /// The newest served versions.
        served: String,
    },
    /// A folder that cannot be a source; all that is wrong with it.
    #[error("{} cannot be a source of {what}:{}", .path.display(), list(.problems))]
    Folder {
        /// Of what.
        what: &'static str,
        /// The folder.
        path: PathBuf,
        /// Everything that is wrong.
        problems: Vec<String>,
    },
    /// A file, or all of a source, that does not come.
    #[error("cannot get {what}: {why}")]
    Source {
        /// The file's name, or the source.
        what: String,
        /// Why not.
        why: String,
    },
    /// The machine lacks what a build needs; all of it.
    #[error("cannot build images on this machine:{}", list(.0))]
    Host(Vec<String>),
    /// A command failed.
    #[error("cannot {op}: `{command}` ended with {status}{}{}", tail(.said), hint(.said))]
    Command {
        /// What it was for, as a verb phrase.
        op: String,
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// The end of what it wrote.
        said: String,
    },
    /// The file system refused.
    #[error("cannot {op} {}: {source}{}", .path.display(), io_hint(.source))]
    Io {
        /// What was tried.
        op: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The engine refused.
    #[error("cannot {op}: {source}{}", engine_hint(.source))]
    Engine {
        /// What was tried.
        op: &'static str,
        /// Why.
        #[source]
        source: RuntimeError,
    },
    /// Something was waited for in vain.
    #[error("cannot {op}: {source}")]
    Wait {
        /// What was tried.
        op: &'static str,
        /// Why.
        #[source]
        source: WaitError,
    },
    /// What was made is not what was planned.
    #[error("cannot {op}: {why}")]
    Unexpected {
        /// What was tried.
        op: &'static str,
        /// Why.
        why: String,
    },
    /// A stop was asked for. What was finished stays in the cache.
    #[error("stopped while building: {stage}")]
    Stopped {
        /// The stage that was in work.
        stage: String,
    },
    /// No image with these versions.
    #[error("no {what} in the container engine\nhint: build it: {command}")]
    Missing {
        /// What was looked for.
        what: String,
        /// The command that makes it.
        command: String,
    },
    /// No image of this name. Nothing is pulled: an image that comes by surprise would be judged as if it were meant.
    #[error(
        "no image {name:?} in the container engine, and none is pulled\nhint: `docker pull {name}` first, or take a node image that is there: {}",
        if .there.is_empty() { "there is none yet, `joinder build node-image` makes one".to_owned() } else { .there.join(", ") }
    )]
    NotThere {
        /// What was asked for.
        name: String,
        /// Node images that are there.
        there: Vec<String>,
    },
    /// An error, and things that could not be removed after it.
    #[error("{error}\nleft behind: {}", .left.join(", "))]
    Left {
        /// What happened first.
        error: Box<ImageError>,
        /// What is left.
        left: Vec<String>,
    },
}

impl ImageError {
    /// For `map_err` on file system calls.
    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { op, path, source }
    }

    /// For `map_err` on engine calls.
    pub(crate) fn engine(op: &'static str) -> impl FnOnce(RuntimeError) -> Self {
        move |source| Self::Engine { op, source }
    }

    /// Was it a stop, and not a failure?
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Stopped { .. } | Self::Wait { source: WaitError::Stopped { .. }, .. } => true,
            Self::Left { error, .. } => error.is_stop(),
            Self::Version { .. }
            | Self::NotServed { .. }
            | Self::Folder { .. }
            | Self::Source { .. }
            | Self::Host(_)
            | Self::Command { .. }
            | Self::Io { .. }
            | Self::Engine { .. }
            | Self::Wait { .. }
            | Self::Unexpected { .. }
            | Self::Missing { .. }
            | Self::NotThere { .. } => false,
        }
    }
}

fn list(problems: &[String]) -> String {
    problems.iter().fold(String::new(), |mut text, problem| {
        let _ = write!(text, "\n  - {problem}");
        text
    })
}

fn tail(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(":\n  {}", said.replace('\n', "\n  ")) }
}

const NO_SPACE: &str =
    "\nhint: the disk is full: free some space, or name a cache folder on another disk in XDG_CACHE_HOME (Go's own cache: GOCACHE)";

fn hint(said: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|w| said.contains(w));
    if has(&["no space left on device", "No space left on device", "You don't have enough free space"]) {
        NO_SPACE
    } else if has(&["GOTOOLCHAIN=local", "toolchain not available"]) {
        "\nhint: this version needs a newer Go"
    } else if has(&["Unable to find a suitable mirror", "Couldn't download", "Failed getting release file", "Invalid Release file"]) {
        "\nhint: is the Debian mirror of this machine's apt sources reachable, and does it serve that release?"
    } else if has(&["unshare failed", "cannot change root directory"]) {
        "\nhint: it needs mount and process namespaces of its own (CAP_SYS_ADMIN): run it on the machine itself, or in a privileged container"
    } else if has(&["No such script"]) {
        "\nhint: this debootstrap does not know the release: install a newer one"
    } else if has(&["dial tcp", "no such host", "i/o timeout", "connection refused"]) {
        "\nhint: the Go module proxy could not be reached: see `go env GOPROXY`"
    } else if has(&["signal: killed", "out of memory", "cannot allocate memory"]) {
        "\nhint: out of memory: linking Kubernetes needs about 3 GB"
    } else {
        ""
    }
}

fn engine_hint(source: &RuntimeError) -> &'static str {
    if source.said.contains("no space left on device") {
        "\nhint: the engine's disk is full: free some space there (`docker system df` shows what uses it)"
    } else {
        ""
    }
}

fn io_hint(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let kind = source.kind();
    if [StorageFull, QuotaExceeded].contains(&kind) {
        NO_SPACE
    } else if [PermissionDenied, ReadOnlyFilesystem].contains(&kind) {
        "\nhint: run as root, or name a cache folder of your own in XDG_CACHE_HOME"
    } else {
        ""
    }
}
