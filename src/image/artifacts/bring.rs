//! Files come here, whole and as their checksums say, or not at all.

use std::fs::Permissions;
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::super::error::ImageError;
use super::super::parts::rootfs::blocking;
use super::http::{self, HttpError};
use super::locate::{BINARIES, Located};
use super::release::{self, Place};
use super::sum::{KINDS, Kind, Sum, hex};
use crate::sys::file::{open_regular, write_atomic};
use crate::sys::stop::Stop;
use crate::sys::wait::pause;

/// Between tries of what may pass. A status such as 404 does not.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// What is larger is no checksum.
const LONGEST: u64 = 4096;

/// What becomes of files of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// They are copied too.
    Copies,
    /// They are used where they are.
    Places,
}

/// Brings the files into `to`; each with its name and where it is then.
pub(crate) async fn bring(
    located: &Located,
    to: &Path,
    keep: Keep,
    stop: &Stop,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Vec<(String, PathBuf)>, ImageError> {
    bring_with(located, to, keep, &PAUSES, stop, tell).await
}

pub(super) async fn bring_with(
    located: &Located,
    to: &Path,
    keep: Keep,
    pauses: &[Duration],
    stop: &Stop,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<Vec<(String, PathBuf)>, ImageError> {
    let mut all = Vec::new();
    for (name, place) in &located.files {
        let failed = |why: String| ImageError::Source { what: name.clone(), why };
        let stopped = || ImageError::Stopped { stage: format!("get {name}") };
        if stop.soft.is_cancelled() {
            return Err(stopped());
        }
        let path = to.join(name);
        let (from, sure) = match place {
            Place::Url(url) => {
                let sure = tokio::select! {
                    biased;
                    () = stop.soft.cancelled() => return Err(stopped()),
                    fetched = fetch(name, url, &path, pauses, stop) => fetched.map_err(failed)?,
                };
                all.push((name.clone(), path));
                (http::shown(url), sure)
            }
            Place::Folder(from) => {
                let (given, called, target) = (from.clone(), name.clone(), path.clone());
                let checked =
                    blocking("read a file", move || Ok(local(&called, &given, (keep == Keep::Copies).then_some(&target)))).await?;
                let checked = checked.map_err(failed)?;
                all.push((name.clone(), if keep == Keep::Copies { path } else { from.clone() }));
                (from.display().to_string(), checked)
            }
        };
        tell(&format!("{name}: {from}, {sure}"));
    }
    if let (Some(version), Keep::Copies) = (&located.version, keep) {
        let path = to.join("version");
        write_atomic(&path, version.as_bytes(), 0o644).map_err(ImageError::io("write", &path))?;
    }
    Ok(all)
}

fn mode(name: &str) -> u32 {
    if BINARIES.contains(&name) { 0o755 } else { 0o644 }
}

/// How sure we are of a file, for people.
fn sure(sum: Option<&Sum>) -> String {
    sum.map_or_else(|| "which has no checksum beside it".to_owned(), |sum| format!("{} as it should be", sum.kind.words()))
}

/// A new file beside `path`, which goes unless it is kept.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".joinder-").tempfile_in(path.parent().unwrap_or(Path::new(".")))
}

fn put(file: NamedTempFile, name: &str, path: &Path) -> io::Result<()> {
    file.as_file().set_permissions(Permissions::from_mode(mode(name)))?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Looks at a file of this machine, and copies it.
fn local(name: &str, from: &Path, to: Option<&PathBuf>) -> Result<String, String> {
    let shown = from.display();
    let told = |e: io::Error| format!("{shown}: {e}");
    let mut sum = None;
    for kind in KINDS {
        let beside = PathBuf::from(format!("{shown}{}", kind.ending()));
        if sum.is_none() && beside.exists() {
            let mut text = String::new();
            let read = open_regular(&beside).and_then(|file| io::Read::read_to_string(&mut io::Read::take(file, LONGEST), &mut text));
            read.map_err(|e| format!("{}: {e}", beside.display()))?;
            sum = Some(Sum::read(kind, &beside.display().to_string(), &text)?);
        }
    }
    let mut file = open_regular(from).map_err(told)?;
    if let Some(sum) = &sum {
        sum.check(&shown.to_string(), &sum.kind.of(from).map_err(told)?)?;
    }
    // a folder may be its own destination
    if let Some(to) = to.filter(|to| to.canonicalize().ok() != from.canonicalize().ok()) {
        let mut copy = beside(to).map_err(|e| format!("{}: {e}", to.display()))?;
        io::copy(&mut file, &mut copy).and_then(|_| put(copy, name, to)).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(sure(sum.as_ref()))
}

/// Downloads one file.
async fn fetch(name: &str, url: &str, path: &Path, pauses: &[Duration], stop: &Stop) -> Result<String, String> {
    let sum = published(url, pauses, stop).await?;
    if let Some(sum) = sum.as_ref().filter(|_| path.is_file()) {
        let (kind, there) = (sum.kind, path.to_owned());
        let digest = tokio::task::spawn_blocking(move || kind.of(&there)).await.map_err(|e| e.to_string())?;
        if digest.is_ok_and(|digest| sum.check(name, &digest).is_ok()) {
            return Ok(format!("there already, {}", sure(Some(sum))));
        }
    }
    let told = |e: io::Error| format!("{}: {e}", path.display());
    let mut file = beside(path).map_err(told)?;
    let kind = sum.as_ref().map_or(Kind::Sha256, |sum| sum.kind);
    let mut tries = pauses.iter();
    let digest = loop {
        file.as_file().set_len(0).and_then(|()| file.rewind()).map_err(told)?;
        let mut hash = kind.hash();
        let piece = |bytes: &[u8]| {
            hash.update(bytes);
            file.write_all(bytes)
        };
        match http::download(url, piece).await {
            Ok(_) => break hex(hash),
            Err(e) => again(e, &mut tries, stop).await.map_err(|e| because(&e, url))?,
        }
    };
    if let Some(sum) = &sum {
        sum.check(&http::shown(url), &digest)?;
    }
    put(file, name, path).map_err(told)?;
    Ok(sure(sum.as_ref()))
}

/// The checksum that is beside a file, if any is.
async fn published(url: &str, pauses: &[Duration], stop: &Stop) -> Result<Option<Sum>, String> {
    for kind in KINDS {
        let from = format!("{url}{}", kind.ending());
        let mut tries = pauses.iter();
        loop {
            match http::get(&from).await {
                Ok(text) => return Sum::read(kind, &http::shown(&from), &text).map(Some),
                Err(HttpError::Refused { .. }) => break,
                Err(e) => again(e, &mut tries, stop).await.map_err(|e| because(&e, &from))?,
            }
        }
    }
    Ok(None)
}

/// Waits before the next try, where one may help and there is one left.
async fn again(error: HttpError, tries: &mut std::slice::Iter<'_, Duration>, stop: &Stop) -> Result<(), HttpError> {
    let Some(time) = tries.next().filter(|_| error.may_pass()) else { return Err(error) };
    // whoever stopped drops this too
    let _ = pause("the next try", *time, &stop.soft).await;
    Ok(())
}

fn because(error: &HttpError, url: &str) -> String {
    match error {
        HttpError::NoSuchHost { .. } | HttpError::Lost { .. } => format!("{error}{}", release::hint(url)),
        HttpError::Busy { .. } | HttpError::Refused { .. } | HttpError::Unusable { .. } | HttpError::Unwritten { .. } => error.to_string(),
    }
}
