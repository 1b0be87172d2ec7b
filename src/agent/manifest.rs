//! etcd's manifest, as kubeadm writes it: which members a joiner was told of.

use std::path::{Path, PathBuf};

use crate::event::Notice;

const MANIFEST: &str = "/etc/kubernetes/manifests/etcd.yaml";
const FLAG: &str = "--initial-cluster=";

/// Tells of the manifest each time that it was written with other members.
pub(super) struct Manifest {
    path: PathBuf,
    told: Option<Vec<String>>,
}

impl Manifest {
    /// The node's own.
    pub(super) fn of_node() -> Self {
        Self::at(Path::new(MANIFEST))
    }

    fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), told: None }
    }

    /// What is new since the last look. A manifest that was taken away is new when it comes again.
    pub(super) fn look(&mut self) -> Option<Notice> {
        let entries = std::fs::read_to_string(&self.path).ok().and_then(|text| initial_cluster(&text));
        if entries == self.told {
            return None;
        }
        self.told = entries;
        Some(Notice::InitialCluster { entries: self.told.clone()? })
    }
}

/// `NAME=URL` of each member; a manifest that is only half written has none.
fn initial_cluster(manifest: &str) -> Option<Vec<String>> {
    let mut lines = manifest.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let value = lines.find_map(|line| line.trim().trim_start_matches("- ").strip_prefix(FLAG))?;
    Some(value.split(',').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_are_told_once_they_are_whole_and_again_when_they_differ() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("etcd.yaml");
        let mut manifest = Manifest::at(&path);
        assert_eq!(manifest.look(), None);
        let write = |text: &str| std::fs::write(&path, text).expect("written");
        let told = |entries: &[&str]| Some(Notice::InitialCluster { entries: entries.iter().map(|e| (*e).to_owned()).collect() });
        write("  - command:\n    - --initial-cluster=b=https://10.0.0.2:2380,a=htt");
        assert_eq!(manifest.look(), None, "half of it");
        let whole = "  - command:\n    - --initial-cluster-state=existing\n    - --initial-cluster=b=https://10.0.0.2:2380,a=https://10.0.0.1:2380\n";
        write(whole);
        assert_eq!(manifest.look(), told(&["b=https://10.0.0.2:2380", "a=https://10.0.0.1:2380"]));
        assert_eq!(manifest.look(), None);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(manifest.look(), None);
        write(whole);
        assert!(manifest.look().is_some(), "after a reset it is a new one");
    }
}
