//! `joinder cp`: files into nodes, or out of one.

use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::args::CpArgs;
use super::context::Signals;
use super::diag;
use super::exec::{ATTACH, beside, select};
use super::exit::Exit;
use crate::cluster;
use crate::node;
use crate::runtime::Runtime;

/// A side of a copy: a path here, or nodes and a path in them.
#[derive(Debug, PartialEq, Eq)]
enum Side<'a> {
    Here(&'a str),
    There { nodes: &'a str, path: &'a str },
}

pub(super) async fn cp(args: &CpArgs) -> Exit {
    let (from, to) = match sides(&args.from, &args.to) {
        Ok(sides) => sides,
        Err(e) => return diag::fail(Exit::BadCommandLine, &e),
    };
    let signals = Signals::listen();
    match run(&args.cluster.name, &from, &to, &signals).await {
        Ok(()) => signals.or(Exit::Passed),
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e),
    }
}

/// Just one side names nodes, before its only colon.
fn sides<'a>(from: &'a str, to: &'a str) -> anyhow::Result<(Side<'a>, Side<'a>)> {
    let both = (side(from)?, side(to)?);
    match both {
        (Side::Here(_), Side::Here(_)) => bail!("neither {from:?} nor {to:?} names a node: write one as in cp1:/etc/hosts"),
        (Side::There { .. }, Side::There { .. }) => bail!("both {from:?} and {to:?} name nodes: copy to this machine first"),
        _ => Ok(both),
    }
}

fn side(text: &str) -> anyhow::Result<Side<'_>> {
    match text.split(':').collect::<Vec<_>>()[..] {
        [path] => Ok(Side::Here(path)),
        ["", _] | [_, ""] => Err(anyhow!("{text:?} lacks the nodes or the path: write it as in cp1:/etc/hosts")),
        // a path here may well have a colon in it; kinder refuses it too
        [nodes, path] => Ok(Side::There { nodes, path }),
        _ => Err(anyhow!("{text:?} has more than one colon")),
    }
}

async fn run(name: &str, from: &Side<'_>, to: &Side<'_>, signals: &Signals) -> anyhow::Result<()> {
    let (runtime, _) = signals.engine().await?;
    let ((Side::There { nodes: wanted, .. }, _) | (_, Side::There { nodes: wanted, .. })) = (from, to) else {
        bail!("no side names nodes");
    };
    if let Some(container) = beside(&cluster::find(runtime.as_ref(), name).await?, wanted)? {
        return until_stopped(plain(runtime.as_ref(), &container, from, to), signals).await;
    }
    let cluster = cluster::attach(&runtime, name, ATTACH).await?;
    let (nodes, absent) = select(&cluster, wanted).await?;
    if let Some(absent) = absent.first() {
        bail!("{absent}");
    }
    if nodes.is_empty() {
        bail!(
            "no node {wanted:?} in cluster {name:?}; there are: {}",
            cluster.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>().join(" ")
        );
    }
    let copy = async {
        match (from, to) {
            (Side::There { path, .. }, Side::Here(here)) => {
                let [node] = &nodes[..] else { bail!("{wanted} means {} nodes: files come out of one", nodes.len()) };
                let left = node.copy_out(path, Path::new(here)).await.with_context(|| format!("cannot copy {path} of {}", node.name))?;
                left_out(&format!("{}:{path}", node.name), &left);
            }
            (Side::Here(here), Side::There { path, .. }) => {
                for node in &nodes {
                    let left = node.copy_in(Path::new(here), path).await.with_context(|| format!("cannot copy {here} to {}", node.name))?;
                    left_out(here, &left);
                }
            }
            _ => {}
        }
        Ok(())
    };
    until_stopped(copy, signals).await
}

/// `@lb` and `@etcd`: by the engine alone.
async fn plain(runtime: &dyn Runtime, container: &str, from: &Side<'_>, to: &Side<'_>) -> anyhow::Result<()> {
    match (from, to) {
        (Side::There { path, .. }, Side::Here(here)) => {
            let left = node::get_beside(runtime, container, path, Path::new(here)).await;
            left_out(&format!("{container}:{path}"), &left.with_context(|| format!("cannot copy {path} of {container}"))?);
        }
        (Side::Here(here), Side::There { path, .. }) => {
            let left = node::put_beside(runtime, container, Path::new(here), path).await;
            left_out(here, &left.with_context(|| format!("cannot copy {here} to {container}"))?);
        }
        _ => {}
    }
    Ok(())
}

async fn until_stopped(copy: impl Future<Output = anyhow::Result<()>>, signals: &Signals) -> anyhow::Result<()> {
    tokio::select! {
        copied = copy => copied,
        () = signals.stop.soft.cancelled() => Err(anyhow!("stopped: a file may be there in part")),
    }
}

fn left_out(what: &str, left: &[String]) {
    if !left.is_empty() {
        diag::say(&format!("warning: the copy of {what} leaves out {}", left.join("; ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn just_one_side_names_nodes() {
        let there = |nodes, path| Side::There { nodes, path };
        assert_eq!(sides("./a", "@cp*:/b").expect("fine"), (Side::Here("./a"), there("@cp*", "/b")));
        assert_eq!(sides("cp1:/a", "b").expect("fine"), (there("cp1", "/a"), Side::Here("b")));
        for (from, to, says) in [
            ("a", "b", "neither"),
            ("cp1:/a", "cp2:/a", "both"),
            ("cp1:", "b", "lacks"),
            (":/a", "b", "lacks"),
            ("a:b:c", "d", "more than one"),
        ] {
            let why = sides(from, to).expect_err("wrong").to_string();
            assert!(why.contains(says), "{from} {to}: {why}");
        }
    }
}
