//! workflows/kinder: what their scripts demand can fail.

use std::fs;
use std::path::Path;

use crate::support::{Ran, Rig};

/// Why a line of a script cannot fail where it should, or fails where it should not.
fn weak(line: &str) -> Option<&'static str> {
    if line.starts_with("! ") {
        return Some("`set -e` does not end a script for a command with `!`");
    }
    // awk has it too
    let shell: String = line.split('\'').step_by(2).collect();
    if shell.contains(" && ") && !shell.contains(" || ") && !shell.starts_with("if ") {
        return Some("`set -e` does not end a script for what is before `&&`");
    }
    line.contains("| grep -q").then_some("with `pipefail` whoever writes to `grep -q` may fail, as it ends at the first match")
}

#[test]
fn what_a_shapes_script_demands_can_fail() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/kinder");
    let (mut wrong, mut scripts) = (Vec::new(), 0);
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let (name, text) = (path.display(), fs::read_to_string(&path).expect("UTF-8"));
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            if let Some(why) = weak(line.trim()) {
                wrong.push(format!("{name}:{}: {why}: {line}", at + 1));
            }
            if line == "  - |" {
                scripts += 1;
                let (at, first) = lines.next().expect("a script");
                if first.trim() != "set -euo pipefail" {
                    wrong.push(format!("{name}:{}: a script that does not end at a failure", at + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(scripts > 15, "{scripts}");
}

#[test]
fn a_weak_line_is_seen() {
    for line in ["! docker exec x test -e y", "a && ! b", "a | grep -q b"] {
        assert!(weak(line).is_some(), "{line}");
    }
    for line in ["docker exec x test ! -e y", "a && b || { echo no; exit 1; }", "grep -q b <<<\"$a\""] {
        assert_eq!(weak(line), None, "{line}");
    }
}

#[test]
fn every_shape_is_in_the_docs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/kinder.md")).expect("there");
    for entry in fs::read_dir(root.join("workflows/kinder")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // what others import is no shape
        assert!(name.ends_with("-tasks") || docs.contains(&format!("| `{name}` |")), "{name} is not in docs/kinder.md");
    }
}

/// A cluster of one node as kubectl has it, whose API server's pod is ready from the second look on.
const LATE: &str = r#"case "$*" in
*"get nodes"*) echo "one-control-plane-1 Ready control-plane 1m v1.36.3" ;;
*=kube-apiserver*) echo "kube-apiserver-one $ready registry/kube-apiserver:v1.36.3"; ;;
*) part=${*##*component=}; part=${part%% *}; echo "$part-one true registry/$part:v1.36.3" ;;
esac"#;
const INFO: &str = "echo '1f, started, one-control-plane-1, https://172.17.0.2:2380, https://172.17.0.2:2379, VOTER'";

#[test]
fn a_pod_that_is_not_ready_for_a_moment_is_looked_at_again_and_one_that_stays_so_fails() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows/kinder");
    for (tasks, version) in [("check-tasks", "kubernetesVersion"), ("check-upgraded-tasks", "upgradeVersion")] {
        let vars = format!("vars: {{clusterName: one, nodes: 1, voters: 1, {version}: v1.36.3}}");
        let rig = Rig::with(&format!("version: 1\n{vars}\ntasks:\n- import: {tasks}.yaml\n"));
        rig.write(&format!("{tasks}.yaml"), &fs::read_to_string(root.join(format!("{tasks}.yaml"))).expect("there"));
        rig.program("kinder", &INFO.replace("VOTER", "voter"));
        let pod_is = |ready: &str| rig.program("docker", &format!("{ready}\n{LATE}"));

        pod_is("ready=$(cat looked 2>/dev/null || echo false); case \"$*\" in *=kube-apiserver*) echo true >looked ;; esac");
        rig.test(&[]).ends(0);

        pod_is("ready=false");
        // its wait is over as it begins
        let ran = Ran::of(rig.command(&["test", "workflow", "w.yaml", "art"]).env("SECONDS", "3600").output().expect("joinder starts"));
        ran.ends(1);
        let log = rig.read("art/task-00-check-cluster-log.txt");
        assert!(log.contains("kube-apiserver is ready in v1.36.3 on 0 control planes, and not on 1\nand it was still so"), "{log}");

        rig.program("kinder", &INFO.replace("VOTER", "learner"));
        pod_is("ready=true");
        Ran::of(rig.command(&["test", "workflow", "w.yaml", "art"]).env("SECONDS", "3600").output().expect("joinder starts")).ends(1);
        let log = rig.read("art/task-00-check-cluster-log.txt");
        assert!(log.contains("etcd has 0 voters, and not 1"), "{log}");
    }
}
