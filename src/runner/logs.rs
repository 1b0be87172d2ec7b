//! Looks for texts in the nodes' logs.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use crate::agent::Output;
use crate::cluster::Cluster;
use crate::expect::{Findings, Found, Window};
use crate::node::Node;
use crate::observe::Record;
use crate::spec::Logs;

/// One search in one node.
const SEARCH: Duration = Duration::from_secs(20);
/// Ends well where the text is in a line that is not older than `$3`: of a static pod's log, each of whose lines begins with its
/// time as containerd writes it, or of the kubelet's journal, which knows its lines' times. 3 where there is no log.
const SCRIPT: &str = r#"
if [ "$1" = kubelet ]; then
  journalctl --unit=kubelet --since="@$4" --output=cat --quiet | grep --quiet --fixed-strings -e "$2"
  exit $((${PIPESTATUS[1]}))
fi
ls /var/log/pods/kube-system_"$1"-*/"$1"/*.log >/dev/null 2>&1 || exit 3
cat /var/log/pods/kube-system_"$1"-*/"$1"/*.log | awk -v from="$3" '$1 >= from' | grep --quiet --fixed-strings -e "$2"
exit $((${PIPESTATUS[2]}))
"#;

/// Looks for each text in the logs of all nodes that have such a log.
pub(super) async fn find(cluster: &Cluster, wanted: &Logs, record: &Record, window: Window) -> Findings {
    let mut all = Findings::new();
    for (component, texts) in wanted.each() {
        for text in texts.some.iter().chain(&texts.none) {
            let found =
                if component == "kubeadm" { by_kubeadm(record, text, window) } else { in_nodes(cluster, component, text, window).await };
            all.insert((component.to_owned(), text.clone()), found);
        }
    }
    all
}

fn by_kubeadm(record: &Record, text: &str, window: Window) -> Found {
    let holds =
        |lines: &std::collections::VecDeque<_>| lines.iter().any(|(at, line): &(_, String)| window.from <= *at && line.contains(text));
    let nodes = record.story.lines.iter().filter(|(_, lines)| holds(lines)).map(|(node, _)| node.clone()).collect();
    Found { nodes, unread: Vec::new() }
}

async fn in_nodes(cluster: &Cluster, component: &str, text: &str, window: Window) -> Found {
    let has_it = |node: &&std::sync::Arc<Node>| component == "kubelet" || node.role.has_member();
    let looks = cluster.nodes.iter().filter(has_it).map(async |node| (node.name.clone(), in_node(node, component, text, window).await));
    let mut found = Found::default();
    for (node, holds) in join_all(looks).await {
        match holds {
            Ok(true) => found.nodes.push(node),
            Ok(false) => {}
            Err(why) => found.unread.push(format!("{node}: {why}")),
        }
    }
    found
}

async fn in_node(node: &Node, component: &str, text: &str, window: Window) -> Result<bool, String> {
    let from = window.from.wall;
    if let Some(log) = node.etcd_log() {
        let bytes = node.read(log).await.map_err(|e| e.to_string())?;
        return Ok(since(&String::from_utf8_lossy(&bytes), from).any(|line| line.contains(text)));
    }
    let args = ["bash", "-c", SCRIPT, "joinder", component, text, &from.to_string(), &from.as_second().to_string()];
    let mut process = node.agent().run(args.map(str::to_owned).into());
    let end = async {
        loop {
            if let Output::Exited { code, .. } = process.next().await.map_err(|e| e.to_string())? {
                return Ok(code);
            }
        }
    };
    match timeout(SEARCH, end).await {
        Ok(Ok(Some(0))) => Ok(true),
        Ok(Ok(Some(1))) => Ok(false),
        Ok(Ok(Some(3))) => Err("it has no such log".into()),
        Ok(Ok(code)) => Err(format!("the search ended with {code:?}")),
        Ok(Err(why)) => Err(why),
        Err(_) => Err("the search did not end in time".into()),
    }
}

/// The lines of etcd's own log that are not older. One without a time, as of a panic, belongs to the one before it.
fn since(log: &str, from: jiff::Timestamp) -> impl Iterator<Item = &str> {
    let time = |line: &str| line.split_once(r#""ts":""#)?.1.split('"').next()?.parse::<jiff::Timestamp>().ok();
    let mut fresh = false;
    log.lines().filter(move |line| {
        fresh = time(line).map_or(fresh, |at| at >= from);
        fresh
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_count_from_their_own_time_on() {
        let log = "{\"level\":\"info\",\"ts\":\"2026-12-01T10:00:00.5Z\",\"msg\":\"old\"}\nold too\n{\"ts\":\"2026-12-01T10:00:01Z\",\"msg\":\"new\"}\npanic: new";
        let from = "2026-12-01T10:00:01Z".parse().expect("a time");
        let lines: Vec<&str> = super::since(log, from).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.contains("new")), "{lines:?}");
    }
}
