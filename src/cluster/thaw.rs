//! Frozen groups below a container's own: what stands still in one does not end when it is killed, so on cgroup v1 the engine waits for
//! minutes for a container that has such a group. Only where the engine is on this machine can anybody reach them from outside.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel shows them.
pub(super) const ROOT: &str = "/sys/fs/cgroup";
/// So deep below the root engines put a container's group, as in `system.slice/docker-ID.scope`.
const DEEP: usize = 4;
/// Groups that are looked at: a node has some hundred.
const MOST: usize = 10_000;

/// Thaws all below the group of the container with this id, but not that itself, which is the engine's. Returns how many it were.
pub(super) fn thaw(root: &Path, id: &str) -> usize {
    // an engine that does not say must not mean all
    if id.len() < 12 || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return 0;
    }
    // v1 has a tree of its own for it
    let tree = Some(root.join("freezer")).filter(|freezer| freezer.is_dir()).unwrap_or_else(|| root.to_owned());
    let Some(own) = find(&tree, id, DEEP) else { return 0 };
    let mut open = folders(&own);
    let (mut looked, mut thawed) = (0, 0);
    while let Some(group) = open.pop() {
        looked += 1;
        if looked > MOST {
            break;
        }
        for (file, frozen, thaw) in [("freezer.state", &["FROZEN", "FREEZING"][..], "THAWED"), ("cgroup.freeze", &["1"], "0")] {
            let file = group.join(file);
            let stands = fs::read_to_string(&file).is_ok_and(|state| frozen.contains(&state.trim()));
            // whoever may not is not root here; then the engine has to wait
            thawed += usize::from(stands && fs::write(&file, thaw).is_ok());
        }
        open.extend(folders(&group));
    }
    thawed
}

fn find(tree: &Path, id: &str, deep: usize) -> Option<PathBuf> {
    let all = folders(tree);
    let named = all.iter().find(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().contains(id))).cloned();
    named.or_else(|| if deep > 1 { all.iter().find_map(|folder| find(folder, id, deep - 1)) } else { None })
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1577ecf69d9a1577ecf69d9a";

    /// Groups with what their file holds before and behind.
    fn thawed(file: &str, groups: &[(&str, &str, &str)]) -> usize {
        let root = tempfile::tempdir().expect("a folder");
        for (group, before, _) in groups {
            fs::create_dir_all(root.path().join(group)).expect("made");
            fs::write(root.path().join(group).join(file), before).expect("written");
        }
        let count = thaw(root.path(), ID);
        for (group, _, behind) in groups {
            assert_eq!(&fs::read_to_string(root.path().join(group).join(file)).expect("there"), behind, "{group}");
        }
        count
    }

    #[test]
    fn what_is_frozen_below_the_container_is_thawed_and_nothing_else() {
        let own = format!("freezer/docker/{ID}");
        let (pod, inner) = (format!("{own}/kubepods/pod1"), format!("{own}/kubepods/pod1/c1"));
        let v1 = [
            (own.as_str(), "FROZEN\n", "FROZEN\n"),
            (&pod, "FROZEN\n", "THAWED"),
            (&inner, "THAWED\n", "THAWED\n"),
            ("freezer/docker/abcdefabcdef/pod2", "FROZEN\n", "FROZEN\n"),
        ];
        assert_eq!(thawed("freezer.state", &v1), 1);
        let own = format!("system.slice/docker-{ID}.scope");
        let pod = format!("{own}/kubelet.slice/pod1");
        assert_eq!(thawed("cgroup.freeze", &[(&own, "0\n", "0\n"), (&pod, "1\n", "0"), ("other/pod", "1\n", "1\n")]), 1);
    }

    #[test]
    fn without_an_id_nothing_is_touched() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("docker/x")).expect("made");
        fs::write(root.path().join("docker/x/cgroup.freeze"), "1").expect("written");
        assert_eq!(thaw(root.path(), "") + thaw(root.path(), "docker") + thaw(root.path(), "../../../../../etc"), 0);
    }
}
