//! Labels of Kubernetes releases, `ci/latest-1.36`, to the versions that they stand for: one small text each, in the layout that kinder
//! reads, from the release servers, a mirror, or a folder.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

use super::http;
use crate::sys::env;
use crate::sys::file::open_regular;
use crate::sys::wait::{Look, Patience, wait};

/// Bytes of a label that are read.
const LONGEST: u64 = 1_024;

/// Names a mirror's URL or a folder, with `release/LABEL.txt` and `ci/LABEL.txt` below it.
const SETTING: &str = "JOINDER_RELEASES";

/// Where release labels are published.
const RELEASE: &str = "https://dl.k8s.io";
/// Where the labels of builds are, which the release servers do not have.
const CI: &str = "https://storage.googleapis.com/k8s-release-dev";

/// A server that answers at all does within this.
const LIMIT: Duration = Duration::from_secs(15);
const EVERY: Duration = Duration::from_secs(2);

/// The version that a label stands for, `v1.36.3`; `release/v1.36.3` and `v1.36.3` stand for themselves.
///
/// # Errors
/// Why there is none, in words.
pub fn version_of_label(label: &str) -> Result<String, String> {
    match Label::parse(label)? {
        Label::Is(version) => Ok(version),
        Label::At(Place::Folder(path)) => told(label, &read_label(label, &path)?),
        Label::At(Place::Url(url)) => {
            told(label, &block_in_place(|| Handle::current().block_on(text_at(&format!("label {label}"), &url)))?)
        }
    }
}

/// The same for who can wait.
pub(in crate::image) async fn version_at(label: &str) -> Result<String, String> {
    match Label::parse(label)? {
        Label::Is(version) => Ok(version),
        Label::At(Place::Folder(path)) => told(label, &read_label(label, &path)?),
        Label::At(Place::Url(url)) => told(label, &text_at(&format!("label {label}"), &url).await?),
    }
}

/// What is known of a label without asking.
enum Label {
    Is(String),
    At(Place),
}

impl Label {
    fn parse(label: &str) -> Result<Self, String> {
        let (kind, name) = label.split_once('/').unwrap_or(("", label));
        if let Some(version) = version(name).filter(|_| matches!(kind, "" | "ci" | "release")) {
            return Ok(Self::Is(version));
        }
        if !matches!(kind, "ci" | "release") || name.is_empty() || name.split('/').any(|part| part == "..") {
            return Err(format!("{label:?} is no label: write it as in ci/latest-1.36, release/stable-1.36 or v1.36.3"));
        }
        Ok(Self::At(place(kind, &format!("{name}.txt"))))
    }
}

/// The version that a label's text is.
fn told(label: &str, text: &str) -> Result<String, String> {
    version(text.trim())
        .ok_or_else(|| format!("label {label} is {:?}, which is no version", text.trim().chars().take(80).collect::<String>()))
}

fn read_label(label: &str, path: &Path) -> Result<String, String> {
    read(path).map_err(|e| format!("cannot read label {label} in {}: {e}", path.display()))
}

/// Where a file of the layout is: below `release/` or `ci/`, as `kind` says.
pub(in crate::image) fn place(kind: &str, file: &str) -> Place {
    Place::of(kind, file, env::var(SETTING).as_deref())
}

/// What of the layout a URL names, if it leads there: `release/v1.36.3`.
pub(in crate::image) fn in_layout(url: &str) -> Option<String> {
    let own = env::var(SETTING);
    [own.as_deref(), Some(RELEASE), Some(CI)].into_iter().flatten().find_map(|base| {
        let rest = url.strip_prefix(base.trim_end_matches('/'))?.strip_prefix('/')?;
        (rest.starts_with("release/") || rest.starts_with("ci/")).then(|| rest.trim_end_matches('/').to_owned())
    })
}

/// A label is some bytes; what is more, or no file, is none.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// `v1.36.3` for a version with or without `v`.
pub(in crate::image) fn version(text: &str) -> Option<String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    semver::Version::parse(bare).ok().map(|version| format!("v{version}"))
}

/// Where a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::image) enum Place {
    Url(String),
    Folder(PathBuf),
}

impl Place {
    fn of(kind: &str, file: &str, setting: Option<&str>) -> Self {
        let own = if kind == "ci" { CI } else { RELEASE };
        let base = setting.unwrap_or(own).trim_end_matches('/');
        let file = format!("{kind}/{file}");
        match base.strip_prefix("file://").or_else(|| (!base.contains("://")).then_some(base)) {
            Some(folder) => Self::Folder(Path::new(folder).join(file)),
            None => Self::Url(format!("{base}/{file}")),
        }
    }
}

/// A small text; what it is is for people.
pub(in crate::image) async fn text_at(what: &str, url: &str) -> Result<String, String> {
    let patience = Patience { limit: LIMIT, every: EVERY, stop: CancellationToken::new() };
    let got = wait(what, &patience, || async {
        match http::get(url).await {
            Ok(text) => Look::Done(text),
            Err(e) if e.may_pass() => Look::NotYet(e.to_string()),
            // asking again would not change it
            Err(e) => Look::Never(e.to_string()),
        }
    });
    got.await.map_err(|e| format!("{e}{}", hint(url)))
}

/// What to do where the server is not reached; nothing for one that was named by its URL.
pub(in crate::image) fn hint(url: &str) -> String {
    tail(url)
        .map(|file| format!("; without that server, {SETTING} can name a mirror's URL or a folder that has {file}"))
        .unwrap_or_default()
}

/// `ci/latest.txt` of a whole URL, where that is its layout.
fn tail(url: &str) -> Option<&str> {
    ["/release/", "/ci/"].iter().filter_map(|kind| url.rfind(kind)).max().map(|at| &url[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_for_themselves_and_other_words_are_no_labels() {
        for (label, want) in
            [("v1.36.3", "v1.36.3"), ("1.36.3", "v1.36.3"), ("release/v1.36.0", "v1.36.0"), ("ci/v1.37.0-a.1+b", "v1.37.0-a.1+b")]
        {
            assert_eq!(version_of_label(label).as_deref(), Ok(want), "{label}");
        }
        for label in ["", "latest", "stable", "beta/x", "ci/", "ci/../x", "./dir", "https://x/y"] {
            assert!(version_of_label(label).is_err_and(|why| why.contains("is no label")), "{label}");
        }
    }

    #[test]
    fn a_setting_moves_both_kinds_of_labels() {
        let url = |text: &str| Place::Url(text.to_owned());
        assert_eq!(Place::of("ci", "latest-1.36.txt", None), url("https://storage.googleapis.com/k8s-release-dev/ci/latest-1.36.txt"));
        assert_eq!(Place::of("release", "stable.txt", None), url("https://dl.k8s.io/release/stable.txt"));
        assert_eq!(Place::of("ci", "latest.txt", Some("http://mirror:8080/k8s/")), url("http://mirror:8080/k8s/ci/latest.txt"));
        for folder in ["/srv/labels", "file:///srv/labels"] {
            assert_eq!(Place::of("release", "stable.txt", Some(folder)), Place::Folder("/srv/labels/release/stable.txt".into()));
        }
        assert_eq!(tail("http://mirror/k8s/ci/latest.txt"), Some("ci/latest.txt"));
        // its own layout, which no setting stands for
        assert_eq!(tail("http://server/mine/version"), None);
        assert_eq!(in_layout(&format!("{CI}/ci/v1.38.0-alpha.0+ab/")).as_deref(), Some("ci/v1.38.0-alpha.0+ab"));
        assert_eq!(in_layout("http://mirror/k8s/ci/v1.38.0"), None, "a mirror's own layout is not known");
    }
}
