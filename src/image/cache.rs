//! Finished stages on disk, by the digest of what they were made from.
//!
//! A stage is made in `NAME-KEY.tmp` while `locks/NAME-KEY` is held, and renamed to `NAME-KEY`: a folder of that name is
//! whole. The lock goes with its process, so what a killed build left is known by its free lock.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::build::{Progress, Say};
use super::error::ImageError;
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;
use crate::sys::wait::{Look, Patience, wait};

/// Another build may take this long.
const OTHER_BUILD: Duration = Duration::from_hours(2);
/// Digits of the key in names: enough that no two meet.
const KEY_DIGITS: usize = 24;
const UNFINISHED: &str = ".tmp";

/// The folder with stages.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// Held while a stage is made.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Cache {
    /// Opens the cache and removes what killed builds left in it.
    pub(crate) fn open(root: &Path) -> Result<Self, ImageError> {
        std::fs::create_dir_all(root.join("locks")).map_err(ImageError::io("make the cache folder", root))?;
        let this = Self { root: root.to_owned() };
        this.sweep()?;
        Ok(this)
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn id(name: &str, key: &str) -> String {
        format!("{name}-{}", &key[..KEY_DIGITS.min(key.len())])
    }

    /// Where a finished stage is, if it is there.
    pub(crate) fn finished(&self, name: &str, key: &str) -> Option<PathBuf> {
        Some(self.root.join(Self::id(name, key))).filter(|p| p.is_dir())
    }

    /// Where a stage is made; empty and there.
    pub(crate) fn fresh(&self, name: &str, key: &str, _held: &Lock) -> Result<PathBuf, ImageError> {
        let path = self.root.join(Self::id(name, key) + UNFINISHED);
        remove(&path)?;
        std::fs::create_dir(&path).map_err(ImageError::io("make the folder", &path))?;
        Ok(path)
    }

    /// Waits until no other build works on this stage.
    pub(crate) async fn lock(&self, name: &'static str, key: &str, stop: &Stop, say: &Say<'_>) -> Result<Lock, ImageError> {
        let path = self.root.join("locks").join(Self::id(name, key));
        let op = "take the lock";
        let file = File::create(&path).map_err(ImageError::io(op, &path))?;
        let patience = Patience { limit: OTHER_BUILD, every: Duration::from_millis(100), stop: stop.soft.clone() };
        let mut told = false;
        let held = wait(format!("another build of {name}"), &patience, || {
            let look = match file.try_lock() {
                Ok(()) => Look::Done(Ok(())),
                Err(TryLockError::Error(e)) => Look::Done(Err(e)),
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut told, true) {
                        say(Progress::Waiting { stage: name });
                    }
                    Look::NotYet(format!("it still holds {}", path.display()))
                }
            };
            std::future::ready(look)
        });
        held.await.map_err(|source| ImageError::Wait { op: "wait for another build", source })?.map_err(ImageError::io(op, &path))?;
        Ok(Lock { _file: file })
    }

    /// A stage's folder: the finished one, or made now. Two builds that want the same one share the work.
    pub(crate) async fn stage<F>(
        &self,
        name: &'static str,
        key: &str,
        stop: &Stop,
        say: &Say<'_>,
        make: impl FnOnce(PathBuf) -> F,
    ) -> Result<PathBuf, ImageError>
    where
        F: Future<Output = Result<(), ImageError>>,
    {
        let reused = || {
            let path = self.finished(name, key)?;
            say(Progress::Reused { stage: name });
            Some(path)
        };
        if let Some(path) = reused() {
            return Ok(path);
        }
        let held = self.lock(name, key, stop, say).await?;
        if let Some(path) = reused() {
            return Ok(path);
        }
        say(Progress::Started { stage: name });
        let began = Stamp::now();
        let path = self.fresh(name, key, &held)?;
        let done = self.root.join(Self::id(name, key));
        let result = make(path.clone()).await.and_then(|()| std::fs::rename(&path, &done).map_err(ImageError::io("keep the stage", &done)));
        if let Err(error) = result {
            return Err(match remove(&path) {
                Ok(()) => error,
                Err(_) => ImageError::Left { error: Box::new(error), left: vec![path.display().to_string()] },
            });
        }
        say(Progress::Finished { stage: name, took: Stamp::now().since(began) });
        Ok(done)
    }

    fn sweep(&self) -> Result<(), ImageError> {
        let read = ImageError::io("list the cache folder", &self.root);
        let entries = std::fs::read_dir(&self.root).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(read)?;
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(id) = name.strip_suffix(UNFINISHED) else { continue };
            let lock = self.root.join("locks").join(id);
            let file = File::create(&lock).map_err(ImageError::io("take the lock", &lock))?;
            if file.try_lock().is_ok() {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Removes a folder, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), ImageError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(ImageError::io("remove the unfinished folder", path)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn quiet(_: Progress) {}

    #[tokio::test]
    async fn two_builds_share_one_stage() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path()).expect("opened");
        let (count, stop, said) = (AtomicUsize::new(0), Stop::new(), Mutex::new(Vec::new()));
        let say = |p: Progress| said.lock().expect("not poisoned").push(format!("{p:?}"));
        let make = |path: PathBuf| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::time::sleep(Duration::from_millis(250)).await;
                std::fs::write(path.join("file"), "whole").map_err(ImageError::io("write", &path))
            }
        };
        let (a, b) = tokio::join!(cache.stage("x", "0123", &stop, &say, make), cache.stage("x", "0123", &stop, &say, make));
        assert_eq!(a.expect("made"), b.expect("reused"));
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let said = said.into_inner().expect("not poisoned").join("\n");
        assert!(said.contains("Waiting") && said.contains("Reused"), "{said}");
    }

    #[tokio::test]
    async fn a_failed_stage_leaves_nothing_and_can_be_made_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path()).expect("opened");
        let fails = |_| async { Err(ImageError::Stopped { stage: "x".into() }) };
        cache.stage("x", "0123", &Stop::new(), &quiet, fails).await.expect_err("it fails");
        assert!(!dir.path().join("x-0123.tmp").exists() && cache.finished("x", "0123").is_none());
        cache.stage("x", "0123", &Stop::new(), &quiet, |_| async { Ok(()) }).await.expect("made");
    }

    #[test]
    fn what_a_killed_build_left_goes_and_what_a_running_one_makes_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        Cache::open(dir.path()).expect("opened");
        for name in ["dead-1.tmp/sub", "busy-2.tmp", "whole-3"] {
            std::fs::create_dir_all(dir.path().join(name)).expect("made");
        }
        let busy = File::create(dir.path().join("locks/busy-2")).expect("made");
        busy.lock().expect("locked");
        Cache::open(dir.path()).expect("opened again");
        let there = |name: &str| dir.path().join(name).exists();
        assert!(!there("dead-1.tmp") && there("busy-2.tmp") && there("whole-3"));
    }

    #[tokio::test]
    async fn a_stop_ends_the_wait_for_another_build() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(dir.path()).expect("opened");
        let stop = Stop::new();
        let _held = cache.lock("x", "0123", &stop, &quiet).await.expect("free");
        stop.soft.cancel();
        assert!(cache.lock("x", "0123", &stop, &quiet).await.expect_err("stopped").is_stop());
    }
}
