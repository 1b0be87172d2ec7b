//! The user's own kubeconfig, changed under kubectl's rules: which file, its lock, one rename.
//!
//! The rules are client-go's `clientcmd` (`loader.go`, `config.go`), as kind follows them.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::context::engine;
use super::diag;
use super::exit::Exit;
use super::kinder::Called;
use crate::cluster;
use crate::sys::env;
use crate::sys::file::{replaceable, write_atomic};
use crate::sys::wait::{Look, Patience, wait};

const ATTACH: Duration = Duration::from_secs(10);
/// Other programs hold the lock for a read and a write.
const LOCK: Duration = Duration::from_secs(3);

/// `joinder export kubeconfig`.
pub(super) async fn export(name: &str, file: Option<&Path>, internal: bool, called: Called) -> Exit {
    let entry = called.context(name);
    let exported = async {
        let runtime = engine().await?;
        let cluster = cluster::attach(&runtime, name, ATTACH).await?;
        let own = parse(&cluster.kubeconfig(internal).await?).context("kubeadm's kubeconfig is not to be read")?;
        let path = to_merge_into(&paths(file)?);
        change(&path, |there| merge(there, &own, &entry).map(Some)).await?;
        anyhow::Ok(path)
    };
    match exported.await {
        Ok(path) => {
            diag::say(&format!("context {entry} is in {} and is the current one", path.display()));
            Exit::Passed
        }
        Err(e) => diag::fail(Exit::BadEnvironment, &e),
    }
}

/// Takes the entries of a cluster that is gone out of all of the user's files.
pub(super) async fn forget(entry: &str, file: Option<&Path>) -> anyhow::Result<()> {
    // Without a home there is no file that could have entries.
    let Ok(paths) = paths(file) else { return Ok(()) };
    for path in paths.iter().filter(|path| path.is_file()) {
        // Looked at without the lock first: nearly always there is nothing to do, perhaps not even the right to lock.
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.contains(entry) {
            change(path, |there| Ok(without(there, entry))).await?;
        }
    }
    Ok(())
}

/// The files that kubectl would read.
fn paths(explicit: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
    of(explicit, env::var("KUBECONFIG").as_deref(), env::var("HOME").as_deref())
        .ok_or_else(|| anyhow!("neither KUBECONFIG nor HOME is set: name the file with --kubeconfig"))
}

fn of(explicit: Option<&Path>, list: Option<&str>, home: Option<&str>) -> Option<Vec<PathBuf>> {
    // `--kubeconfig ""` is how Go's flags say that there is none
    if let Some(path) = explicit.filter(|path| !path.as_os_str().is_empty()) {
        return Some(vec![path.to_owned()]);
    }
    let mut all: Vec<PathBuf> = Vec::new();
    for path in list.unwrap_or_default().split(':').filter(|path| !path.is_empty()).map(PathBuf::from) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    if all.is_empty() { Some(vec![Path::new(home?).join(".kube/config")]) } else { Some(all) }
}

/// The first that exists, else the last.
fn to_merge_into(paths: &[PathBuf]) -> PathBuf {
    let first = paths.iter().find(|path| path.is_file());
    first.or(paths.last()).cloned().unwrap_or_default()
}

/// Held while a file is changed; other programs wait for it, or give up.
struct Lock(PathBuf);

impl Lock {
    async fn of(file: &Path) -> anyhow::Result<Self> {
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir).with_context(|| format!("cannot make folder {}", dir.display()))?;
        }
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let patience = Patience { limit: LOCK, every: Duration::from_millis(100), stop: CancellationToken::new() };
        let look = || async {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => Look::Done(()),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Look::NotYet("another program has it".into()),
                Err(e) => Look::Never(e.to_string()),
            }
        };
        wait(format!("lock {}", path.display()), &patience, look)
            .await
            .with_context(|| format!("cannot lock {}; when no program is changing it, remove {}", file.display(), path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Reads, changes and writes a file under its lock; `None` leaves it as it is.
async fn change(path: &Path, edit: impl FnOnce(Value) -> anyhow::Result<Option<Value>>) -> anyhow::Result<()> {
    // Before anything is made beside it: a lock in /dev, or one that stays while a FIFO is read.
    replaceable(path).with_context(|| format!("cannot write {}", path.display()))?;
    let _lock = Lock::of(path).await?;
    let text = match fs::read_to_string(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let there = parse(&text).with_context(|| format!("{} is no kubeconfig", path.display()))?;
    let Some(changed) = edit(there).with_context(|| format!("cannot change {}", path.display()))? else { return Ok(()) };
    let text = serde_saphyr::to_string(&changed).context("cannot write YAML")?;
    // A rename over a link would replace the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write_atomic(&target, text.as_bytes(), 0o600).with_context(|| format!("cannot write {}", target.display()))
}

fn parse(text: &str) -> anyhow::Result<Value> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_saphyr::from_str::<Value>(text)? {
        Value::Null => Ok(json!({})),
        map @ Value::Object(_) => Ok(map),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => bail!("it holds no map"),
    }
}

/// Lists of named entries, and what is inside of each.
const LISTS: [(&str, &str); 3] = [("clusters", "cluster"), ("users", "user"), ("contexts", "context")];

/// `there` with cluster, user and context of `own`, which kubeadm made with one of each, and that context the current one.
fn merge(there: Value, own: &Value, name: &str) -> anyhow::Result<Value> {
    let Value::Object(mut there) = there else { bail!("it holds no map") };
    for (list, inside) in LISTS {
        let mut body = match own[list].as_array().map(Vec::as_slice) {
            Some([only]) => only[inside].clone(),
            Some(_) | None => bail!("kubeadm's kubeconfig has not just one of {list}"),
        };
        if list == "contexts" {
            body["cluster"] = name.into();
            body["user"] = name.into();
        }
        let mut ours = Map::new();
        ours.insert(inside.into(), body);
        ours.insert("name".into(), name.into());
        // kubectl writes `null` for an empty list
        let entries = there.entry(list).or_insert(Value::Null);
        if entries.is_null() {
            *entries = json!([]);
        }
        let Some(entries) = entries.as_array_mut() else { bail!("its {list} are no list") };
        match entries.iter_mut().find(|e| e["name"] == name) {
            Some(old) => *old = ours.into(),
            None => entries.push(ours.into()),
        }
    }
    there.insert("current-context".into(), name.into());
    for key in ["apiVersion", "kind"] {
        there.entry(key).or_insert_with(|| own[key].clone());
    }
    Ok(there.into())
}

/// `there` without the cluster's entries; `None` where it has none.
fn without(mut there: Value, name: &str) -> Option<Value> {
    let mut changed = false;
    for (list, _) in LISTS {
        if let Some(entries) = there[list].as_array_mut() {
            let before = entries.len();
            entries.retain(|e| e["name"] != name);
            changed |= entries.len() != before;
        }
    }
    if there["current-context"] == name {
        there["current-context"] = "".into();
        changed = true;
    }
    changed.then_some(there)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const KUBEADM: &str = "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: https://127.0.0.1:4000\n  name: a\ncontexts:\n- context:\n    cluster: a\n    user: kubernetes-admin\n  name: kubernetes-admin@a\ncurrent-context: kubernetes-admin@a\nusers:\n- name: kubernetes-admin\n  user:\n    client-key-data: S0VZ\n";

    const OTHERS: &str = "apiVersion: v1\nkind: Config\npreferences:\n  colors: true\nextensions:\n- name: x\n  extension: {deep: [1, 2.5, null, \"yes\", \"0123\", \"1e3\", \"2026-12-01\", \"~\", \"\", \" a\", \"a: b\", \"#\"]}\nclusters:\n- name: other\n  cluster:\n    server: https://other:6443\n    insecure-skip-tls-verify: true\n    new-field: kept\ncontexts: []\ncurrent-context: other\nusers:\n- name: other\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: login\n      args: [\"-n\", \"on\"]\n      env: [{name: N, value: \"1\"}]\n      interactiveMode: IfAvailable\n";

    fn own() -> Value {
        parse(KUBEADM).expect("read")
    }

    #[test]
    fn which_file_is_kubectls_choice() {
        let home = Some("/h");
        for (explicit, list, want) in [
            (Some("/e"), Some("/a"), &["/e"][..]),
            (Some(""), Some("/a::/b:/a"), &["/a", "/b"]),
            (None, Some(":"), &["/h/.kube/config"]),
            (None, None, &["/h/.kube/config"]),
        ] {
            let found = of(explicit.map(Path::new), list, home).expect("some");
            assert_eq!(found, want.iter().map(PathBuf::from).collect::<Vec<_>>());
        }
        assert_eq!(of(None, None, None), None);
        let dir = tempfile::tempdir().expect("a folder");
        let [a, b, c] = ["a", "b", "c"].map(|n| dir.path().join(n));
        assert_eq!(to_merge_into(&[a.clone(), b.clone(), c.clone()]), c, "the last where none exists");
        fs::write(&b, "").expect("written");
        assert_eq!(to_merge_into(&[a, b.clone(), c]), b, "else the first that does");
    }

    #[test]
    fn a_merge_keeps_everything_else_and_removing_undoes_it() {
        let before = parse(OTHERS).expect("read");
        let merged = merge(before.clone(), &own(), "joinder-a").expect("merged");
        assert_eq!(merged["current-context"], "joinder-a");
        assert_eq!(merged["contexts"], json!([{"name": "joinder-a", "context": {"cluster": "joinder-a", "user": "joinder-a"}}]));
        assert_eq!(merged["users"][1], json!({"name": "joinder-a", "user": {"client-key-data": "S0VZ"}}));
        assert_eq!(merged["clusters"][0], before["clusters"][0]);
        assert_eq!(merge(merged.clone(), &own(), "joinder-a").expect("again"), merged, "a second time changes nothing");
        let after = without(merged.clone(), "joinder-a").expect("it had entries");
        assert_eq!(after, {
            let mut same = before.clone();
            same["current-context"] = "".into();
            same
        });
        assert_eq!(without(before, "joinder-a"), None);
        assert_eq!(without(merged.clone(), "joinder-b"), None, "another cluster's entries stay");
        let empty = merge(json!({"clusters": null}), &own(), "joinder-a").expect("merged");
        assert_eq!((&empty["apiVersion"], &empty["kind"]), (&json!("v1"), &json!("Config")));
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        let before = parse(OTHERS).expect("read");
        let text = serde_saphyr::to_string(&before).expect("written");
        assert_eq!(parse(&text).expect("read again"), before, "{text}");
        // kubectl reads YAML 1.1, where these are no strings unless quoted
        for word in ["yes", "0123", "1e3", "2026-12-01", "~", "on", "1", ""] {
            assert!(text.contains(&format!("\"{word}\"")) || text.contains(&format!("'{word}'")), "{word:?} in {text}");
        }
    }

    #[tokio::test]
    async fn a_file_is_changed_under_its_lock_through_links_and_only_if_it_is_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let (real, link) = (dir.path().join("real"), dir.path().join("sub/config"));
        fs::write(&real, OTHERS).expect("written");
        fs::create_dir(dir.path().join("sub")).expect("made");
        symlink("../real", &link).expect("linked");
        let add = |there| merge(there, &own(), "joinder-a").map(Some);
        change(&link, add).await.expect("changed");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert!(fs::read_to_string(&real).expect("read").contains("joinder-a"));
        assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o600);
        forget("joinder-a", Some(&link)).await.expect("forgotten");
        assert!(!fs::read_to_string(&real).expect("read").contains("joinder-a"));
        forget("joinder-a", Some(&link)).await.expect("nothing to forget");
        forget("joinder-a", Some(&dir.path().join("none"))).await.expect("no file");

        fs::write(&real, "just words").expect("written");
        let error = format!("{:#}", change(&link, add).await.expect_err("no kubeconfig"));
        assert!(error.contains("is no kubeconfig"), "{error}");
        assert_eq!(fs::read_to_string(&real).expect("read"), "just words");
        let mut left: Vec<_> = fs::read_dir(dir.path().join("sub")).expect("listed").map(|e| e.expect("one").file_name()).collect();
        left.sort();
        assert_eq!(left, ["config"], "no lock stays");
    }

    #[tokio::test]
    async fn what_is_no_file_is_left_alone_and_not_locked() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("config");
        let _bound = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        // A lock that another holds would be waited for.
        fs::write(dir.path().join("config.lock"), "").expect("written");
        let error = format!("{:#}", change(&path, |v| Ok(Some(v))).await.expect_err("a socket"));
        assert_eq!(error, format!("cannot write {0}: {0} is no regular file", path.display()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_stays_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("config");
        fs::write(dir.path().join("config.lock"), "").expect("written");
        let error = format!("{:#}", change(&path, |v| Ok(Some(v))).await.expect_err("locked"));
        assert!(error.contains("config.lock") && error.contains("remove"), "{error}");
        assert!(!path.exists() && dir.path().join("config.lock").exists());
    }
}
