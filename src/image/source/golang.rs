//! Binaries from Go modules.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::command::{Task, run};
use super::super::embedded::{PAUSE, pinned};
use super::super::error::ImageError;
use super::super::version::Version;
use super::gomod::{Component, Upstream, text};
use crate::sys::stop::Stop;

/// How many of the served versions an error names.
const SHOWN_VERSIONS: usize = 12;
/// In a finished stage: when its version was made.
const DATE_FILE: &str = "date";
const NO_DATE: &str = "1970-01-01T00:00:01Z";

/// What `go mod download -json` says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Download {
    error: String,
    dir: PathBuf,
    info: PathBuf,
    go_mod: PathBuf,
}

/// The proxy's note on a version.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Info {
    time: String,
}

/// Builds a component at a version into `dir/bin`, with its module in `dir`.
pub(crate) async fn make(component: Component, version: &Version, dir: &Path, stop: &Stop) -> Result<(), ImageError> {
    let download = fetch(component, version, dir, stop).await?;
    let toolchain = toolchain(&download.dir, dir, stop).await?;
    if let Some((go_mod, go_sum)) = pinned(component.name(), &version.tagged())? {
        write(dir, "go.mod", &go_mod)?;
        write(dir, "go.sum", &go_sum)?;
    } else {
        write(dir, "go.mod", &text(component, version, &Upstream::read(&read(&download.go_mod)?)))?;
        let op = format!("find the modules that {} {version} needs", component.name());
        let mut tidy = go(op, dir, "mod", &["mod", "tidy"]);
        tidy.env.extend(toolchain.clone());
        run(&tidy, stop).await?;
    }
    let info: Info = serde_json::from_str(&read(&download.info)?).unwrap_or_default();
    write(dir, DATE_FILE, &info.time)?;
    let flags = component.linker_flags(version, &info.time);
    let packages: Vec<&str> = component.commands().iter().map(|(package, _)| *package).collect();
    build(format!("build {} {version}", component.name()), dir, &flags, &packages, toolchain, stop).await?;
    for (package, name) in component.commands() {
        // Go names a binary by the last part of its package that is not a version: etcd's is `server`
        let built = package.rsplit('/').find(|part| *part != "v3").unwrap_or(name);
        if built != *name {
            let from = dir.join("bin").join(built);
            std::fs::rename(&from, dir.join("bin").join(name)).map_err(ImageError::io("rename", &from))?;
        }
    }
    Ok(())
}

/// Builds the program of the pause image into `dir/bin`: a source of joinder's own, and no module beside it.
pub(crate) async fn pause(dir: &Path, stop: &Stop) -> Result<(), ImageError> {
    for (name, text) in PAUSE {
        write(dir, name, text)?;
    }
    build("build pause".into(), dir, "-s -w", &["."], None, stop).await
}

async fn build(
    op: String,
    dir: &Path,
    flags: &str,
    packages: &[&str],
    toolchain: Option<Toolchain>,
    stop: &Stop,
) -> Result<(), ImageError> {
    // a killed Go leaves its temporary files: here they go with the unfinished stage
    let scratch = dir.join("tmp");
    std::fs::create_dir(&scratch).map_err(ImageError::io("make the folder", &scratch))?;
    // No -trimpath and no other flag that reaches the compiler: Go's own build cache then serves later builds.
    let mut task = go(op, dir, "readonly", &[&["build", "-o", "bin/", "-ldflags", flags], packages].concat());
    task.env.push(("GOTMPDIR", scratch.display().to_string()));
    task.env.extend(toolchain);
    run(&task, stop).await?;
    std::fs::remove_dir_all(&scratch).map_err(ImageError::io("remove", &scratch))
}

fn write(dir: &Path, name: &str, text: &str) -> Result<(), ImageError> {
    let path = dir.join(name);
    std::fs::write(&path, text).map_err(ImageError::io("write", &path))
}

/// Go's variable for another Go than the machine's.
type Toolchain = (&'static str, String);

/// The Go that a release names in its `.go-version`, where the machine's is of another minor version. Go changes under what was written
/// for an earlier one: since 1.26 `net/url` refuses an IPv4 address in brackets, and with it kubeadm 1.34.0 refuses each cluster
/// in preflight (`HTTPProxyCIDR`).
async fn toolchain(source: &Path, dir: &Path, stop: &Stop) -> Result<Option<Toolchain>, ImageError> {
    let Ok(named) = std::fs::read_to_string(source.join(".go-version")) else { return Ok(None) };
    let ours = run(&go("ask Go for its version".into(), dir, "mod", &["env", "GOVERSION"]), stop).await?;
    Ok(other_minor(named.trim(), ours.trim()).then(|| ("GOTOOLCHAIN", format!("go{}", named.trim()))))
}

/// `1.24.6` beside `go1.26.8`.
fn other_minor(named: &str, ours: &str) -> bool {
    let minor = |version: &str| version.trim_start_matches("go").split('.').take(2).collect::<Vec<_>>().join(".");
    !named.is_empty() && minor(named) != minor(ours)
}

/// When the version in a finished stage's `bin` was made; a fixed time for other folders.
pub(crate) fn commit_date(bin: &Path) -> String {
    let date = bin.parent().and_then(|stage| std::fs::read_to_string(stage.join(DATE_FILE)).ok());
    date.filter(|d| !d.is_empty()).unwrap_or_else(|| NO_DATE.to_owned())
}

/// Asks for the module; an unknown version becomes an error that names known ones.
pub(crate) async fn fetch(component: Component, version: &Version, dir: &Path, stop: &Stop) -> Result<Download, ImageError> {
    let module = component.modules()[0];
    let at = format!("{module}@{}", version.tagged());
    // `go mod download -json` says an unknown version on its standard output, and fails
    let script = r#"go mod download -json "$1" || true"#;
    let mut task = go(format!("download {at}"), dir, "mod", &[]);
    task.argv = ["sh", "-c", script, "sh", &at].into_iter().map(ToOwned::to_owned).collect();
    let said = run(&task, stop).await?;
    let download: Download = serde_json::from_str(&said).map_err(|e| ImageError::Unexpected {
        op: "download a Go module",
        why: format!("`go mod download -json {at}` said {said:?}: {e}"),
    })?;
    if download.error.is_empty() {
        return Ok(download);
    }
    let listed = run(&go(format!("list the versions of {module}"), dir, "mod", &["list", "-m", "-versions", module]), stop).await;
    let listed = listed.unwrap_or_default();
    let versions: Vec<&str> = listed.split_whitespace().skip(1).collect();
    if versions.is_empty() {
        // not even the list: it is the network, not the version
        return Err(ImageError::Command {
            op: format!("download {at}"),
            command: format!("go mod download {at}"),
            status: "an error".into(),
            said: download.error,
        });
    }
    let served = versions[versions.len().saturating_sub(SHOWN_VERSIONS)..].join(", ");
    let said = download.error.lines().next().unwrap_or_default().to_owned();
    Err(ImageError::NotServed { module: module.to_owned(), version: version.tagged(), said, served })
}

fn go(op: String, dir: &Path, mode: &str, args: &[&str]) -> Task {
    let mut task = Task::new(op, &["go"]);
    task.argv.extend(args.iter().map(|a| (*a).to_owned()));
    task.dir = Some(dir.to_owned());
    task.env = vec![
        ("CGO_ENABLED", "0".into()),
        ("GOFLAGS", format!("-mod={mode} -buildvcs=false")),
        ("GOWORK", "off".into()),
        ("GO111MODULE", "on".into()),
    ];
    task
}

fn read(path: &Path) -> Result<String, ImageError> {
    std::fs::read_to_string(path).map_err(ImageError::io("read", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_gets_the_go_that_it_was_made_with() {
        for (named, ours, other) in
            [("1.24.6", "go1.26.8", true), ("1.26.5", "go1.26.8", false), ("1.26.5", "go1.27-rc1", true), ("", "go1.26.8", false)]
        {
            assert_eq!(other_minor(named, ours), other, "{named} {ours}");
        }
    }
}
