//! A static pod's manifest that is not what kubeadm wrote: another image, or one flag more.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::super::ground::Ground;
use super::each;
use super::guard::{Down, Guard, Refused};
use crate::node::Node;
use crate::spec::EditedManifest;

/// kubeadm may be about to write it.
const WRITTEN: Duration = Duration::from_secs(30);

/// Changes the manifest of `$1`, its image to `$2` or its command by `$3`, and keeps what it was. The kubelet sees a new file at once.
const EDIT: &str = r#"set -eu
of=/etc/kubernetes/manifests/$1.yaml kept=/etc/kubernetes/joinder-$1
n=0
until [ -s "$of" ]; do
  n=$((n + 1)); [ "$n" -lt 1000 ] || { echo "there is no $of: kubeadm has not written it within 20 s"; exit 3; }
  sleep 0.02
done
cp -p "$of" "$kept.was"
cp -p "$of" "$kept.now"
if [ -n "$2" ]; then sed -i "s#^\( *image:\) .*#\1 $2#" "$kept.now"
else sed -i "s#^\( *- \)$1\$#&\n\1$3#" "$kept.now"; fi
! cmp -s "$kept.was" "$kept.now" || { rm "$kept.was" "$kept.now"; echo "$of has no line for it, or is so already"; exit 4; }
cp -p "$kept.now" "$kept.new"
mv "$kept.new" "$of""#;

/// A container of `$1` that was made by it, else what the kubelet says of the image `$2`.
const SAID: &str = r#"for id in $(crictl ps -aq --name "^$1\$"); do
  ! crictl inspect "$id" | grep -qF -- "$2" || { echo "a container of $1 was made with $2"; exit 0; }
done
! journalctl -b -u kubelet -o cat -n 3000 | grep -F -- "$2" | grep -qE 'ErrImage|ImagePullBackOff|Failed to pull|ErrImageNeverPull' ||
  echo "the kubelet cannot get image $2""#;

/// Puts the manifest back, where it is still the changed one.
const RESTORE: &str = r#"of=/etc/kubernetes/manifests/$1.yaml kept=/etc/kubernetes/joinder-$1
if [ -e "$kept.was" ]; then
  if cmp -s "$of" "$kept.now"; then mv "$kept.was" "$of"; fi
  rm -f "$kept.was" "$kept.now" "$kept.new"
fi"#;

/// Nodes with a changed manifest.
pub(super) struct Edited {
    wanted: EditedManifest,
    nodes: Vec<Arc<Node>>,
}

impl Edited {
    pub(super) async fn strike(wanted: &EditedManifest, ground: &Ground) -> Result<Box<dyn Guard>, Refused> {
        let nodes = ground.nodes(&wanted.nodes).await?;
        let mut this = Self { wanted: wanted.clone(), nodes: Vec::new() };
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let (image, flag) = (part(&wanted.image), part(&wanted.flag));
        for node in nodes {
            this.nodes.push(node.clone());
            if let Err(e) = node.script(EDIT, &[wanted.of.as_str(), &image, &flag], WRITTEN).await {
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
        let args = [self.wanted.of.as_str(), trace];
        each::proof(each::said(&self.nodes, SAID, &args).await.into_iter().map(|(node, said)| format!("{node}: {said}")))
    }

    async fn heal(&mut self) -> Result<(), String> {
        each::undo(&self.nodes, RESTORE, &[self.wanted.of.as_str()]).await
    }
}
