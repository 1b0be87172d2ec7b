//! Where the user's programs are.

use std::path::{Path, PathBuf};

use crate::image::{arch, executable};

/// A program of Kubernetes' tests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The file's name.
    pub(super) name: &'static str,
    /// What `make` calls it.
    pub(super) goal: &'static str,
}

pub(super) const GINKGO: Wanted = Wanted { name: "ginkgo", goal: "github.com/onsi/ginkgo/v2/ginkgo" };
pub(super) const KUBERNETES: Wanted = Wanted { name: "e2e.test", goal: "test/e2e/e2e.test" };
pub(super) const KUBEADM: Wanted = Wanted { name: "e2e_kubeadm.test", goal: "test/e2e_kubeadm/e2e_kubeadm.test" };

impl Wanted {
    /// The newest of those that are there.
    pub(super) fn find(&self, root: &Path) -> Option<PathBuf> {
        let platform = format!("platforms/linux/{}", arch());
        let dirs = ["_output/bin", "_output/dockerized/bin", "_output/dockerized/go/bin", "_output/local/bin", "_output/local/bin/go"];
        // the last two are how the test archive of a release is unpacked
        let dirs = dirs.into_iter().chain([platform.as_str(), "test/bin", ""]);
        let there = dirs.map(|dir| root.join(dir).join(self.name)).filter(|path| executable(path));
        there.max_by_key(|path| path.metadata().and_then(|found| found.modified()).ok())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn the_newest_program_counts_wherever_it_is_and_a_file_is_none() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        assert_eq!(GINKGO.find(root), None);
        for (age, dir) in ["_output/local/bin", "test/bin", "", "_output/bin"].into_iter().enumerate() {
            let path = root.join(dir).join("ginkgo");
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let file = File::create(&path).expect("made");
            file.set_modified(UNIX_EPOCH + Duration::from_hours(age as u64)).expect("aged");
            let before = GINKGO.find(root);
            assert!(before.as_ref() != Some(&path), "it cannot be run");
            fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("made executable");
            assert_eq!(GINKGO.find(root), Some(path), "{before:?}");
        }
    }
}
