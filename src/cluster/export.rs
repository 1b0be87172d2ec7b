//! Logs of all nodes, as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;

use super::create::Cluster;
use crate::node::{Node, NodeError, Role, path};
use crate::runtime::Fault;
use crate::sys::redact::Redactor;

/// A journal of some minutes is a few megabytes.
const LIMIT: Duration = Duration::from_mins(1);

/// Commands whose output is kept, by file name.
const COMMANDS: &[(&str, &[&str])] = &[
    ("journal.log", &["journalctl", "--no-pager", "-o", "short-precise"]),
    ("kubelet.log", &["journalctl", "--no-pager", "-o", "short-precise", "-u", "kubelet"]),
    ("containerd.log", &["journalctl", "--no-pager", "-o", "short-precise", "-u", "containerd"]),
    ("containers.txt", &["crictl", "ps", "-a"]),
    ("images.txt", &["crictl", "images"]),
];

/// Folders that are copied.
const FOLDERS: &[(&str, &str)] = &[("pods", "/var/log/pods"), ("manifests", "/etc/kubernetes/manifests")];

impl Cluster {
    /// Writes `DIR/NODE/…` for every running node; returns what could not be read, with the reason.
    pub async fn export_logs(&self, dir: &Path) -> Vec<String> {
        let redact = Redactor::new([self.secrets.token.clone(), self.secrets.certificate_key.clone()]);
        let work = self.nodes.iter().map(|node| export_node(node, dir.join(&node.name), &redact));
        let mut missing = join_all(work).await.concat();
        missing.extend(self.absent.iter().map(ToString::to_string));
        missing
    }
}

/// Of a node with etcd alone.
const ETCD_FOLDERS: &[(&str, &str)] = &[("etcd", path::ETCD_LOGS)];

async fn export_node(node: &Node, dir: PathBuf, redact: &Redactor) -> Vec<String> {
    let mut missing = Vec::new();
    if let Ok(Some(state)) = node.trouble().await {
        return vec![format!("{} {state}", node.name)];
    }
    if let Err(e) = fs::create_dir_all(&dir) {
        return vec![format!("{}: {e}", dir.display())];
    }
    // beside etcd alone there is no system that could be asked
    let (commands, folders) = match node.role {
        Role::Etcd => (&[][..], ETCD_FOLDERS),
        Role::ControlPlane | Role::Worker => (COMMANDS, FOLDERS),
    };
    for (file, argv) in commands {
        let kept = match node.run_quietly(argv, LIMIT).await {
            Ok(text) => fs::write(dir.join(file), redact.apply(&text)).map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        };
        missing.extend(kept.err().map(|why| format!("{}/{file}: {why}", node.name)));
    }
    for (name, from) in folders {
        let kept = match node.read_tar(from).await {
            Ok(tar) => unpack(&tar, &dir.join(name), redact).map_err(|e| e.to_string()),
            // Before kubeadm has run, or etcd was started, there are none.
            Err(NodeError::Engine(e)) if e.is(Fault::NotFound) => Ok(()),
            Err(e) => Err(e.to_string()),
        };
        missing.extend(kept.err().map(|why| format!("{}:{from}: {why}", node.name)));
    }
    missing
}

/// Regular files only, below `dir`: names come from a container and may be hostile.
fn unpack(tar: &[u8], dir: &Path, redact: &Redactor) -> io::Result<()> {
    use std::io::Read;
    let mut archive = tar::Archive::new(tar);
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        // The first part is the folder itself.
        let inside: PathBuf = entry.path()?.components().skip(1).collect();
        let plain = inside.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        let Some(parent) = dir.join(&inside).parent().map(Path::to_owned).filter(|_| plain) else { continue };
        fs::create_dir_all(parent)?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        fs::write(dir.join(inside), redact.apply(&String::from_utf8_lossy(&bytes)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_inside() {
        let mut tar = tar::Builder::new(Vec::new());
        for name in ["pods/a/0.log", "pods/b.log"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(6);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &b"secret"[..]).expect("added");
        }
        let mut hostile = tar::Header::new_gnu();
        hostile.set_size(1);
        hostile.as_old_mut().name[..14].copy_from_slice(b"pods/../../out");
        hostile.set_cksum();
        tar.append(&hostile, &b"x"[..]).expect("added");
        let dir = tempfile::tempdir().expect("a folder");
        let to = dir.path().join("node/pods");
        unpack(&tar.into_inner().expect("a tar"), &to, &Redactor::new(["secret".into()])).expect("unpacked");
        assert_eq!(fs::read_to_string(to.join("a/0.log")).expect("there"), "[redacted]");
        assert!(!dir.path().join("out").exists() && !dir.path().join("node/out").exists());
    }
}
