//! What a person names as the source of Kubernetes' files.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::release;

/// A node image, in place of files.
const IMAGE: &str = "image:";

/// Where Kubernetes' files are, in kinder's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A label or a version in the release layout: `release/stable-1.36`, `ci/v1.38.0-alpha.0+ab`.
    Layout(String),
    /// A folder of an HTTP server, flat.
    Url(String),
    /// A folder or file of this machine.
    Local(PathBuf),
    /// A node image in the engine, which kinder has not.
    Image(String),
}

impl FromStr for Origin {
    type Err = String;

    /// In kinder's order: what looks like a version is none of a folder of that name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(name) = text.strip_prefix(IMAGE) {
            return if name.is_empty() { Err("name an image behind image:".into()) } else { Ok(Self::Image(name.to_owned())) };
        }
        if let Some(path) = text.strip_prefix("file://") {
            return Ok(Self::Local(path.into()));
        }
        if text.starts_with("release/") || text.starts_with("ci/") {
            return Ok(Self::Layout(text.to_owned()));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let url = text.trim_end_matches('/');
            return Ok(release::in_layout(url).map_or_else(|| Self::Url(url.to_owned()), Self::Layout));
        }
        match release::version(text) {
            // only builds of CI have it
            Some(version) if version.contains('+') => Ok(Self::Layout(format!("ci/{version}"))),
            Some(version) => Ok(Self::Layout(format!("release/{version}"))),
            None if text.trim().is_empty() => Err("name a version, a label, a URL, a folder or a file".into()),
            None => Ok(Self::Local(text.into())),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(name) => f.write_str(name),
            Self::Url(url) => f.write_str(&super::http::shown(url)),
            Self::Local(path) => path.display().fmt(f),
            Self::Image(name) => write!(f, "{IMAGE}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_they_mean_to_kinder() {
        let layout = |text: &str| Origin::Layout(text.into());
        let local = |text: &str| Origin::Local(text.into());
        for (text, want) in [
            ("v1.37.2", layout("release/v1.37.2")),
            ("1.37.2", layout("release/v1.37.2")),
            ("v1.38.0-alpha.0+ab", layout("ci/v1.38.0-alpha.0+ab")),
            ("release/stable-1.36", layout("release/stable-1.36")),
            ("ci/latest", layout("ci/latest")),
            ("http://m:8080/k8s/", Origin::Url("http://m:8080/k8s".into())),
            ("file:///srv/ci/x", local("/srv/ci/x")),
            ("./bin/kubeadm", local("./bin/kubeadm")),
            ("v1.37", local("v1.37")),
            ("image:joinder/node:x", Origin::Image("joinder/node:x".into())),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for text in ["", " ", "image:"] {
            assert!(text.parse::<Origin>().is_err(), "{text:?}");
        }
    }
}
