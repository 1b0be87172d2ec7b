//! `joinder build node-image` and `joinder build etcd-image`.

use anyhow::anyhow;
use clap::Args;

use super::args::{EtcdImageArgs, NodeImageArgs};
use super::context::Signals;
use super::diag;
use super::exit::Exit;
use crate::image::{self, Built, EtcdPlan, EtcdSource, ImageError, ImagePlan, ImageRequest, Progress};
use crate::sys::clock::human;
use crate::sys::env;

/// kinder's flags, which nobody reads.
#[derive(Debug, Args)]
pub(super) struct BaseImageArgs {
    #[arg(long)]
    source: Option<String>,
    #[arg(long)]
    image: Option<String>,
    #[arg(long)]
    cri: Option<String>,
}

/// kinder builds one for Docker in nodes alone, which Kubernetes has left, and refuses for containerd.
pub(super) fn base_image() -> Exit {
    let why = "there is no base image to build: `joinder build node-image` builds a node image from Debian's packages up, with containerd and Kubernetes in it, and `create cluster --image` takes that";
    diag::fail(Exit::BadCommandLine, &anyhow!(why))
}

pub(super) async fn node_image(args: NodeImageArgs) -> Exit {
    let request = ImageRequest { kubernetes: args.kubernetes, etcd: args.etcd, tag: args.tag, mirror: args.mirror };
    let plan = match ImagePlan::new(&request) {
        Ok(plan) => plan,
        Err(e) => return diag::fail(Exit::BadCommandLine, &e.into()),
    };
    if args.print_plan {
        diag::say(&plan.to_string());
        return Exit::Passed;
    }
    let signals = Signals::listen();
    let built = match signals.engine().await {
        Ok((runtime, _)) => image::build(&plan, runtime.as_ref(), &env::cache_dir(), &signals.stop, &show).await,
        Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    };
    finish(built, &signals, |built| format!("with {}", built.load_balancer))
}

pub(super) async fn etcd_image(args: EtcdImageArgs) -> Exit {
    let tag = args.tag.as_deref();
    let plan = match args.source.as_str() {
        "go" => EtcdPlan::new(&EtcdSource::Go { version: args.version }, tag),
        "debian" => EtcdPlan::of_debian(tag),
        path => EtcdPlan::new(&EtcdSource::Path { path: path.trim_start_matches("path:").into() }, tag),
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(e) => return diag::fail(Exit::BadCommandLine, &e.into()),
    };
    if args.print_plan {
        diag::say(&plan.to_string());
        return Exit::Passed;
    }
    let signals = Signals::listen();
    let built = match signals.engine().await {
        Ok((runtime, _)) => image::build_etcd(&plan, runtime.as_ref(), &env::cache_dir(), &signals.stop, &show).await,
        Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    };
    finish(built, &signals, |_| format!("with etcd {}", plan.version))
}

fn finish(built: Result<Built, ImageError>, signals: &Signals, with: impl Fn(&Built) -> String) -> Exit {
    match built {
        Ok(built) => {
            let how = if built.reused { "is there already" } else { "is built" };
            diag::say(&format!("{} {how}, {}", built.node, with(&built)));
            if built.left.is_empty() {
                return Exit::Passed;
            }
            diag::say(&format!("error: could not remove {}", built.left.join("; ")));
            Exit::Left
        }
        Err(e) => diag::fail(exit(&e, signals), &e.into()),
    }
}

fn exit(error: &ImageError, signals: &Signals) -> Exit {
    match signals.caught() {
        Some(caught) if error.is_stop() => Exit::Signal(caught),
        Some(_) | None => Exit::BadEnvironment,
    }
}

fn show(progress: Progress) {
    let line = match progress {
        Progress::Waiting { stage } => format!("  {stage}: another build makes it, waiting"),
        Progress::Reused { stage } => format!("  {stage}: there already"),
        Progress::Started { stage } => format!("  {stage} …"),
        Progress::Finished { stage, took } => format!("  {stage}: made in {}", human(took)),
    };
    diag::say(&line);
}
