//! A static pod's manifest that is not what kubeadm wrote: another image, or one flag more.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::super::ground::Ground;
use super::each;
use super::guard::{Down, Guard, Refused, name_in_nodes};
use crate::node::Node;
use crate::spec::EditedManifest;

/// kubeadm may be about to write it.
const WRITTEN: Duration = Duration::from_secs(30);

/// Changes the manifest of `$1`, its image to `$2` or its command by `$3`, and keeps what it was under the name `$4`. The kubelet sees a
/// new file at once. A flag that is there already gets the new value; another one comes last, since of two the last counts.
const EDIT: &str = r#"set -eu
of=/etc/kubernetes/manifests/$1.yaml kept=/etc/kubernetes/joinder-$1-$4
for other in /etc/kubernetes/joinder-"$1"-*.was; do
  [ ! -e "$other" ] || { echo "another fault has changed $of, and has not ended yet"; exit 5; }
done
n=0
until [ -s "$of" ]; do
  n=$((n + 1)); [ "$n" -lt 1000 ] || { echo "there is no $of: kubeadm has not written it within 20 s"; exit 3; }
  sleep 0.02
done
crictl ps -aq --name "^$1\$" >"$kept.before"
cp -p "$of" "$kept.was"
cp -p "$of" "$kept.now"
flag=${3%%=*}
if [ -n "$2" ]; then sed -i "s#^\( *image:\) .*#\1 $2#" "$kept.now"
elif grep -q "^ *- $flag=" "$of"; then sed -i "s#^\( *- \)$flag=.*#\1$3#" "$kept.now"
else
  last=$(grep -n '^ *- --' "$of" | tail -n 1 | cut -d: -f1)
  sed -i "${last:-1}s#^\( *- \)--.*#&\n\1$3#" "$kept.now"
fi
! cmp -s "$kept.was" "$kept.now" || { rm "$kept".*; echo "$of has no line for it, or is so already"; exit 4; }
cp -p "$kept.now" "$kept.new"
mv "$kept.new" "$of""#;

/// A container of `$1` that was made by it since, else what the kubelet says since of the image `$2`. `$3` is the name of what was kept.
const SAID: &str = r#"kept=/etc/kubernetes/joinder-$1-$3
for id in $(crictl ps -aq --name "^$1\$"); do
  ! grep -qxF "$id" "$kept.before" || continue
  ! crictl inspect "$id" | grep -qF -- "\"$2\"" || { echo "a container of $1 was made with $2"; exit 0; }
done
! journalctl --since "@$(stat -c %Z "$kept.was")" -u kubelet -o cat | grep -F -- "$2" |
  grep -qE 'ErrImage|ImagePullBackOff|Failed to pull|ErrImageNeverPull' || echo "the kubelet cannot get image $2""#;

/// Puts the manifest back, where it is still the changed one. `$2` is the name of what was kept.
const RESTORE: &str = r#"of=/etc/kubernetes/manifests/$1.yaml kept=/etc/kubernetes/joinder-$1-$2
if [ -e "$kept.was" ]; then
  if cmp -s "$of" "$kept.now"; then mv "$kept.was" "$of"; fi
fi
rm -f "$kept".*"#;

/// Nodes with a changed manifest.
pub(super) struct Edited {
    wanted: EditedManifest,
    /// Of what is kept in the nodes.
    name: String,
    nodes: Vec<Arc<Node>>,
}

impl Edited {
    pub(super) async fn strike(wanted: &EditedManifest, key: &str, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        let nodes = ground.nodes(&wanted.nodes).await?;
        let mut this = Self { wanted: wanted.clone(), name: name_in_nodes(key), nodes: Vec::new() };
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let (image, flag) = (part(&wanted.image), part(&wanted.flag));
        for node in nodes {
            this.nodes.push(node.clone());
            if let Err(e) = node.script(EDIT, &[wanted.of.as_str(), &image, &flag, &this.name], WRITTEN).await {
                let _ = this.heal().await;
                return Err(e.into());
            }
        }
        Ok(Box::new(this))
    }
}

#[async_trait]
impl Guard for Edited {
    // it is for a pod that starts: no voter yet
    fn down(&self) -> Down {
        Down::default()
    }

    async fn proof(&mut self) -> Option<String> {
        let trace = self.wanted.image.as_deref().or(self.wanted.flag.as_deref()).unwrap_or_default();
        let args = [self.wanted.of.as_str(), trace, &self.name];
        each::proof(each::said(&self.nodes, SAID, &args).await.into_iter().map(|(node, said)| format!("{node}: {said}")))
    }

    async fn heal(&mut self) -> Result<(), String> {
        each::undo(&self.nodes, RESTORE, &[self.wanted.of.as_str(), &self.name]).await
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    const ETCD: &str =
        "spec:\n  containers:\n  - command:\n    - etcd\n    - --data-dir=/var/lib/etcd\n    - --name=cp1\n    image: etcd:1\n";

    /// Runs a script of a node here, with `dir` for its folder of Kubernetes.
    fn run(dir: &Path, script: &str, args: &[&str]) -> Option<i32> {
        let here = script.replace("/etc/kubernetes", &dir.display().to_string());
        // no container was made yet
        let script = format!("crictl() {{ :; }}\n{here}");
        Command::new("sh").args(["-c", &script, "joinder"]).args(args).output().expect("sh").status.code()
    }

    #[test]
    fn a_flag_gets_its_value_or_comes_last_and_one_fault_at_a_time_has_the_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("manifests/etcd.yaml");
        std::fs::create_dir(dir.path().join("manifests")).expect("made");
        std::fs::write(&file, ETCD).expect("written");
        let text = || std::fs::read_to_string(&file).expect("read");
        for (image, flag, wanted) in [
            ("", "--data-dir=/elsewhere", ETCD.replace("/var/lib/etcd", "/elsewhere")),
            ("", "--v=1", ETCD.replace("--name=cp1\n", "--name=cp1\n    - --v=1\n")),
            ("none:2", "", ETCD.replace("etcd:1", "none:2")),
        ] {
            assert_eq!(run(dir.path(), EDIT, &["etcd", image, flag, "a"]), Some(0), "{image}{flag}");
            assert_eq!(text(), wanted);
            assert_eq!(run(dir.path(), EDIT, &["etcd", "", "--other=1", "b"]), Some(5), "another one has it");
            assert_eq!(run(dir.path(), RESTORE, &["etcd", "b"]), Some(0));
            assert_eq!(text(), wanted, "whoever has changed nothing undoes nothing");
            assert_eq!(run(dir.path(), RESTORE, &["etcd", "a"]), Some(0));
            assert_eq!(text(), ETCD);
        }
        assert_eq!(run(dir.path(), EDIT, &["etcd", "", "--name=cp1", "a"]), Some(4), "it is so already");
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 1, "nothing but the manifests is left");
    }
}
