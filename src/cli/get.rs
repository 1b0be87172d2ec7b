//! `joinder get clusters|nodes|kubeconfig`: data on standard output.

use std::time::Duration;

use serde_json::{Value, json};

use super::args::Output;
use super::context::engine;
use super::diag;
use super::exit::Exit;
use super::kinder::Called;
use super::show;
pub(super) use super::show::write;
use crate::cluster::{self, Found};
use crate::runtime::{Container, label};

const ATTACH: Duration = Duration::from_secs(10);

pub(super) async fn clusters(output: Output) -> Exit {
    let found = match engine().await {
        Ok(runtime) => cluster::clusters(runtime.as_ref()).await,
        Err(e) => Err(e),
    };
    match found {
        Err(e) => diag::fail(Exit::BadEnvironment, &e.into()),
        Ok(all) => {
            if all.is_empty() && matches!(output, Output::Name | Output::Wide) {
                diag::say("there is no cluster");
            }
            let rows = all.iter().map(|c| [c.name.clone(), c.nodes.len().to_string(), states(c), c.run.clone()]);
            show::rows(output, ["NAME", "NODES", "STATE", "RUN"], rows.collect(), &all.iter().map(cluster_json).collect())
        }
    }
}

pub(super) async fn nodes(name: &str, output: Output, called: Called) -> Exit {
    let found = match engine().await {
        Ok(runtime) => cluster::find(runtime.as_ref(), name).await,
        Err(e) => Err(e.into()),
    };
    match found {
        Err(e) => diag::fail(Exit::BadEnvironment, &e.into()),
        Ok(found) => {
            let Found { nodes, load_balancer, external_etcd, .. } = &found;
            let all: Vec<&Container> = match called {
                Called::Joinder => nodes.iter().chain(load_balancer).chain(external_etcd).collect(),
                Called::Kinder => external_etcd.iter().chain(load_balancer).chain(nodes).collect(),
            };
            let rows = all.iter().map(|n| [n.name.clone(), role(n), n.state.clone(), address(n)]);
            show::rows(output, ["NAME", "ROLE", "STATE", "ADDRESS"], rows.collect(), &all.iter().map(|n| node_json(n)).collect())
        }
    }
}

pub(super) async fn kubeconfig(name: &str, internal: bool) -> Exit {
    let text = async {
        let runtime = engine().await?;
        let cluster = cluster::attach(&runtime, name, ATTACH).await?;
        anyhow::Ok(cluster.kubeconfig(internal).await?)
    };
    match text.await {
        Ok(text) => write(&text),
        Err(e) => diag::fail(Exit::BadEnvironment, &e),
    }
}

fn states(cluster: &Found) -> String {
    let running = cluster.nodes.iter().filter(|n| n.state == "running").count();
    format!("{running} running")
}

fn role(node: &Container) -> String {
    node.labels.get(label::ROLE).cloned().unwrap_or_default()
}

fn address(node: &Container) -> String {
    node.address.map(|a| a.to_string()).unwrap_or_default()
}

fn cluster_json(cluster: &Found) -> Value {
    let nodes: Vec<Value> = cluster.nodes.iter().map(node_json).collect();
    json!({"name": cluster.name, "run": cluster.run, "owner": cluster.owner, "nodes": nodes})
}

fn node_json(node: &Container) -> Value {
    json!({"name": node.name, "role": role(node), "state": node.state, "address": node.address, "image": node.image})
}
