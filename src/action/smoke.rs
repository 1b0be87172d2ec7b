//! `smoke-test`: one pod behind a service, asked from each node, and asked for names from inside the cluster. Its image is CoreDNS', which
//! each node has: nothing is pulled.

use std::time::Duration;

use super::error::ActionError;
use super::ground::Ground;
use crate::node::{Node, path};
use crate::sys::wait::{Look, Patience, wait};

const LIMIT: Duration = Duration::from_secs(30);
/// The rules of a new service come within seconds.
const REACHED: Duration = Duration::from_secs(30);
/// When nobody says how long: as kinder's default.
const ROLLOUT: Duration = Duration::from_mins(5);
const NAME: &str = "smoke-test";

const APPLY: &str = r#"set -eu
export KUBECONFIG="$1"
image=$(kubectl -n kube-system get deployment coredns -o 'jsonpath={.spec.template.spec.containers[0].image}')
kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: $2}
data:
  Corefile: |
    .:5353 {
      errors
      log
      health :8080
      forward . /etc/resolv.conf
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $2}
spec:
  selector: {matchLabels: {app: $2}}
  template:
    metadata: {labels: {app: $2}}
    spec:
      tolerations: [{operator: Exists}]
      # whole pods of another user need more of a node than others
      securityContext: {runAsUser: 65534, runAsGroup: 65534}
      containers:
      - name: dns
        image: $image
        imagePullPolicy: IfNotPresent
        args: ["-conf", "/etc/coredns/Corefile"]
        readinessProbe: {httpGet: {path: /health, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/coredns}]
      volumes: [{name: config, configMap: {name: $2}}]
---
apiVersion: v1
kind: Service
metadata: {name: $2}
spec:
  type: NodePort
  selector: {app: $2}
  ports: [{port: 80, targetPort: 8080}]
EOF"#;
const REMOVE: &str = r#"kubectl --kubeconfig "$1" delete deployment,service,configmap "$2" --ignore-not-found --timeout 20s 2>&1"#;
const PORT: &str = r#"kubectl --kubeconfig "$1" get service "$2" -o 'jsonpath={.spec.ports[0].nodePort}'"#;
const POD: &str = r#"kubectl --kubeconfig "$1" get pods -l "app=$2" -o 'jsonpath={.items[0].metadata.name} {.items[0].status.podIP}'"#;
/// A question for the address of the cluster's own service, and what the answer's head says: its code, and how many records there are.
/// It goes through `dd`, since bash would send it in two pieces, one up to the byte that is a line feed.
const LOOK_UP: &str = r#"exec 3<>"/dev/udp/$1/5353"
printf '\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0akubernetes\x07default\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01' | dd obs=512 status=none >&3
answer=$(timeout 5 dd bs=512 count=1 <&3 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
echo "code ${answer:7:1} records $((16#0${answer:12:4}))""#;
const ASKED_FOR: &str = "kubernetes.default.svc.cluster.local.";

/// Makes it, tries it, and takes it away, also when it failed.
pub(super) async fn test(ground: &Ground) -> Result<(), ActionError> {
    let node = ground.serving().await?;
    ground.script(&node, REMOVE, &[path::ADMIN_CONF, NAME], LIMIT).await?;
    let tried = tried(ground, &node).await;
    let removed = node.script(REMOVE, &[path::ADMIN_CONF, NAME], LIMIT).await;
    tried?;
    removed?;
    ground.say(&node.name, "Smoke test passed!");
    Ok(())
}

async fn tried(ground: &Ground, node: &Node) -> Result<(), ActionError> {
    ground.note(format!("{}: a pod and a service {NAME}", node.name));
    ground.script(node, APPLY, &[path::ADMIN_CONF, NAME], LIMIT).await?;
    let limit = if ground.waits_for_nothing() { ROLLOUT } else { ground.options.wait };
    let rollout = ["kubectl", "--kubeconfig", path::ADMIN_CONF, "rollout", "status", "deployment/smoke-test"];
    let within = format!("--timeout={}s", limit.as_secs());
    ground.run(node, &[&rollout[..], &[&within]].concat()).await?;
    if ground.options.dry_run {
        ground.note("then: ask the service on each node, ask the pod for a name, read its log, run a command in it");
        return Ok(());
    }
    let port = ground.script(node, PORT, &[path::ADMIN_CONF, NAME], LIMIT).await?;
    let patience = Patience { limit: REACHED, ..ground.patience() };
    for from in &ground.cluster.nodes {
        let url = format!("http://{}:{}/health", from.address, port.trim());
        wait(format!("{} serves {url}", from.name), &patience, || async {
            match from.run_quietly(&["curl", "-fsS", "--max-time", "5", &url], LIMIT).await {
                Ok(body) if body.trim() == "OK" => Look::Done(()),
                Ok(body) => Look::NotYet(format!("it answered {body:?}")),
                Err(e) => Look::NotYet(e.to_string()),
            }
        })
        .await?;
        ground.say(&from.name, &format!("{url}: OK"));
    }
    let pod = ground.script(node, POD, &[path::ADMIN_CONF, NAME], LIMIT).await?;
    let Some((pod, address)) = pod.trim().split_once(' ') else {
        return Err(ActionError::Saw { what: "a pod with an address".into(), saw: pod });
    };
    // the pod asks the cluster's DNS in turn
    let answer = ground.script_by("bash", node, LOOK_UP, &[address], LIMIT).await?;
    if !resolved(answer.trim()) {
        return Err(ActionError::Saw { what: format!("the pod finds {ASKED_FOR}"), saw: answer.trim().to_owned() });
    }
    ground.say(&node.name, &format!("the pod finds {ASKED_FOR}"));
    let logs = ground.run(node, &["kubectl", "--kubeconfig", path::ADMIN_CONF, "logs", pod]).await?;
    if !logs.contains(ASKED_FOR) {
        return Err(ActionError::Saw { what: format!("{ASKED_FOR} in the pod's log"), saw: logs });
    }
    let version = ground.run(node, &["kubectl", "--kubeconfig", path::ADMIN_CONF, "exec", pod, "--", "/coredns", "-version"]).await?;
    if !version.contains("CoreDNS") {
        return Err(ActionError::Saw { what: "a command in the pod says its version".into(), saw: version });
    }
    Ok(())
}

fn resolved(answer: &str) -> bool {
    answer.strip_prefix("code 0 records ").and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_a_record_is_none() {
        for (answer, good) in
            [("code 0 records 1", true), ("code 0 records 0", false), ("code 3 records 0", false), ("code  records 0", false)]
        {
            assert_eq!(resolved(answer), good, "{answer}");
        }
    }
}
