//! `kubeadm-upgrade`: kubeadm's upgrade on one node after the other, then all kubelets.

use std::time::Duration;

use super::error::ActionError;
use super::ground::Ground;
use super::settle::{COMPONENTS, pod, settled};
use crate::node::{Node, Role, path};
use crate::step;
use crate::sys::wait::{Look, wait};

/// Importing some images of 100 MB.
const IMPORT_LIMIT: Duration = Duration::from_mins(5);
const LIMIT: Duration = Duration::from_mins(1);

/// Images of a release are called after their architecture too.
const IMPORT: &str = r#"set -eu
arch=$(case $(uname -m) in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac)
for tar in "$1"/*.tar; do
  [ -e "$tar" ] || { echo "there is no image in $1"; exit 1; }
  ctr -n k8s.io images import --local --all-platforms "$tar" 2>&1 || ctr -n k8s.io images import --all-platforms "$tar" 2>&1
done
ctr -n k8s.io images ls -q | grep -- "-$arch:" | while read -r name; do
  ctr -n k8s.io images tag --force "$name" "$(echo "$name" | sed "s/-$arch:/:/")" >/dev/null
done"#;
const LINK: &str = r#"set -eu
dir=$1; shift
for name in "$@"; do [ -x "$dir/$name" ] || { echo "$dir/$name is not there"; exit 1; }; ln -sf "$dir/$name" "/usr/bin/$name"; done"#;
const KUBELET: &str = "systemctl daemon-reload && systemctl restart kubelet";
/// As the kubelet, which kubeadm is on the other nodes.
const CAN_READ: &str = r#"for map in kubelet-config kube-proxy; do
kubectl --kubeconfig /etc/kubernetes/kubelet.conf auth can-i get "configmaps/$map" -n kube-system; done 2>&1"#;

/// From the version that runs to the one in the nodes' upgrade folder.
pub(super) async fn upgrade(ground: &Ground) -> Result<(), ActionError> {
    let version = wanted(ground)?;
    let nodes = ground.meant()?;
    for node in &nodes {
        check(node, &version).await?;
    }
    let dir = format!("{}/{version}", path::UPGRADE);
    ground.patches(&nodes).await?;
    for node in &nodes {
        ground.note(format!("{}: images of {version}", node.name));
        ground.script(node, IMPORT, &[&dir], IMPORT_LIMIT).await?;
        ground.script(node, LINK, &[&dir, "kubeadm"], LIMIT).await?;
        control(ground, node, &version).await?;
        if node.role == Role::ControlPlane {
            static_pods(ground, node, &version).await?;
        }
    }
    for node in &nodes {
        ground.script(node, LINK, &[&dir, "kubectl", "kubelet"], LIMIT).await?;
        ground.script(node, KUBELET, &[], LIMIT).await?;
        node.write(path::VERSION, 0o644, format!("{version}\n").as_bytes()).await?;
        kubelet(ground, node, &version).await?;
    }
    // a kubelet that has begun anew takes pods for not Ready until it has asked each of them
    for node in &nodes {
        settled(ground, node).await?;
    }
    Ok(())
}

/// With a `v`; labels are for whoever fills the folder.
fn wanted(ground: &Ground) -> Result<String, ActionError> {
    let text = ground.options.upgrade.as_deref().unwrap_or_default();
    if text.is_empty() {
        return Err(ActionError::Not("--upgrade-version is needed: the version in the nodes' folder /kinder/upgrade".into()));
    }
    let version = text.trim_start_matches('v');
    semver::Version::parse(version)
        .map_err(|e| ActionError::Not(format!("--upgrade-version {text:?} is no version such as v1.37.2: {e}")))?;
    Ok(format!("v{version}"))
}

/// Nothing is begun that one of the nodes could not go through with.
async fn check(node: &Node, version: &str) -> Result<(), ActionError> {
    let file = format!("{}/version", path::UPGRADE);
    let there = node.read_if_there(&file).await?.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    match there {
        Some(there) if there == version => Ok(()),
        Some(there) => Err(ActionError::Not(format!("{}:{file} says {there}, and not {version}", node.name))),
        None => Err(ActionError::Not(format!(
            "{} has no {file}: {version} is not in it. docs/kinder.md says what an upgrade needs there",
            node.name
        ))),
    }
}

/// kubeadm's part.
async fn control(ground: &Ground, node: &Node, version: &str) -> Result<(), ActionError> {
    let documents = step::upgrade_documents(&ground.world, &ground.cluster, node, version, &ground.stop)?;
    let with = documents.as_deref();
    let run = async |command: &str, args: &[&str]| {
        let (world, cluster) = (&ground.world, &ground.cluster);
        step::kubeadm(world, cluster, node, command, (with, if with.is_some() { &[] } else { args }), &ground.stop).await
    };
    if node.index == ground.cluster.first().index {
        let wide = ["--allow-experimental-upgrades", "--allow-release-candidate-upgrades", version];
        run("upgrade plan", &wide).await?;
        run("upgrade diff", &[version]).await?;
        run("upgrade apply", &[&["-f"], &wide[..]].concat()).await?;
        return Ok(());
    }
    if !ground.waits_for_nothing() {
        let patience = ground.patience();
        wait(format!("{} may read kubeadm's configuration", node.name), &patience, || async {
            match node.script(CAN_READ, &[], LIMIT).await {
                Ok(said) if said.lines().filter(|line| *line == "yes").count() == 2 => Look::Done(()),
                Ok(said) => Look::NotYet(said.trim().to_owned()),
                Err(e) => Look::NotYet(e.to_string()),
            }
        })
        .await?;
    }
    Ok(run("upgrade node", &[]).await?)
}

/// Waits until the node's static pods run the version's images.
async fn static_pods(ground: &Ground, node: &Node, version: &str) -> Result<(), ActionError> {
    if ground.waits_for_nothing() {
        return Ok(());
    }
    wait(format!("static pods of {} at {version}", node.name), &ground.patience(), || async {
        for component in COMPONENTS {
            match pod(ground, component, node).await {
                Ok(pod) => {
                    let image = pod["status"]["containerStatuses"][0]["image"].as_str().unwrap_or_default();
                    if !image.ends_with(&format!(":{version}")) {
                        return Look::NotYet(format!("{component} runs {image:?}"));
                    }
                }
                Err(saw) => return Look::NotYet(saw),
            }
        }
        Look::Done(())
    })
    .await?;
    ground.note(format!("{}: static pods run {version}", node.name));
    Ok(())
}

/// Waits until the node's kubelet has told its new version.
async fn kubelet(ground: &Ground, node: &Node, version: &str) -> Result<(), ActionError> {
    if ground.waits_for_nothing() {
        return Ok(());
    }
    wait(format!("kubelet of {} at {version}", node.name), &ground.patience(), || async {
        let told = ground.cluster.ask_api(&format!("/api/v1/nodes/{}", node.name)).await;
        let told = told.and_then(|body| serde_json::from_str::<serde_json::Value>(&body).map_err(|e| e.to_string()));
        match told {
            Ok(object) if object["status"]["nodeInfo"]["kubeletVersion"] == version => Look::Done(()),
            Ok(object) => Look::NotYet(format!("it says {}", object["status"]["nodeInfo"]["kubeletVersion"])),
            Err(saw) => Look::NotYet(saw),
        }
    })
    .await?;
    ground.note(format!("{}: kubelet runs {version}", node.name));
    Ok(())
}
