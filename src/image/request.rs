//! What is asked of a build.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::default_versions;

/// Where Kubernetes' binaries come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Go modules, at this version.
    Go {
        /// With or without the leading `v`.
        version: String,
    },
    /// A folder with the binaries in it, all of one version and for this machine.
    Dir {
        /// The folder.
        path: PathBuf,
    },
}

/// Where etcd's binaries come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtcdSource {
    /// Go modules, at this version.
    Go {
        /// With or without the leading `v`.
        version: String,
    },
    /// A folder with `etcd` and `etcdctl`, or the path of such an `etcd`.
    Path {
        /// The folder or file.
        path: PathBuf,
    },
}

/// How a source is written on a command line: a path has a slash, `dir:` or `path:` may stand before it, everything else
/// is a version, perhaps with `go:` before it.
fn split(text: &str) -> Result<&str, PathBuf> {
    let text = text.trim();
    for prefix in ["dir:", "path:"] {
        if let Some(path) = text.strip_prefix(prefix) {
            return Err(PathBuf::from(path));
        }
    }
    if let Some(version) = text.strip_prefix("go:") {
        return Ok(version);
    }
    if text.contains('/') || text == "." || text == ".." { Err(PathBuf::from(text)) } else { Ok(text) }
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match split(text) {
            Ok(version) => Self::Go { version: version.to_owned() },
            Err(path) => Self::Dir { path },
        })
    }
}

impl FromStr for EtcdSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match split(text) {
            Ok(version) => Self::Go { version: version.to_owned() },
            Err(path) => Self::Path { path },
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go { version } => f.write_str(version),
            Self::Dir { path } => write!(f, "dir:{}", path.display()),
        }
    }
}

impl fmt::Display for EtcdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go { version } => f.write_str(version),
            Self::Path { path } => write!(f, "path:{}", path.display()),
        }
    }
}

/// What is asked of a build. [`Default`] is the version that joinder's own workflows use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRequest {
    /// Kubernetes.
    pub kubernetes: Source,
    /// etcd.
    pub etcd: EtcdSource,
    /// The image's name; from the versions when absent.
    pub tag: Option<String>,
    /// Address of a Debian mirror; from this machine's apt sources when absent.
    pub mirror: Option<String>,
}

impl Default for ImageRequest {
    fn default() -> Self {
        Self {
            kubernetes: Source::Go { version: default_versions::KUBERNETES.into() },
            etcd: EtcdSource::Go { version: default_versions::ETCD.into() },
            tag: None,
            mirror: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_version_unless_it_looks_like_a_path() {
        let dir = |p: &str| Source::Dir { path: p.into() };
        let go = |v: &str| Source::Go { version: v.into() };
        for (text, want) in [
            ("v1.36.3", go("v1.36.3")),
            ("go:1.36.3", go("1.36.3")),
            ("./out", dir("./out")),
            ("/out", dir("/out")),
            ("dir:out", dir("out")),
            (".", dir(".")),
            ("latest", go("latest")),
        ] {
            assert_eq!(text.parse::<Source>(), Ok(want), "{text}");
        }
        assert_eq!("path:bin".parse::<EtcdSource>().expect("never fails").to_string(), "path:bin");
    }
}
