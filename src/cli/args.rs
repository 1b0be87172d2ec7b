//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Grows real kubeadm control planes in containers, watches etcd while they join, and judges what it saw.
#[derive(Debug, Parser)]
#[command(name = "joinder", version, propagate_version = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run workflows and judge them
    Run(RunArgs),
    /// Serve inside a node (not for people)
    #[command(hide = true)]
    Agent,
}

/// Examples:
///   joinder run workflows/join/parallel.yaml
///   joinder run workflows/join/serial.yaml --kubeadm ./kubeadm
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct RunArgs {
    /// Workflow files, or folders with *.yaml files
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) nodes: NodeArgs,
    /// Where events and logs go [default: $ARTIFACTS, else ./_artifacts/RUN]
    #[arg(long, value_name = "DIR")]
    pub(super) artifacts: Option<PathBuf>,
    /// Print the plan and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Show phases and the times of each node too
    #[arg(long, short)]
    pub(super) verbose: bool,
}

/// What the nodes are made of.
#[derive(Clone, Debug, Args)]
pub(super) struct NodeArgs {
    /// Name of the cluster [default: the workflow's, else joinder]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Node image, in place of choosing one by version
    #[arg(long, value_name = "IMAGE")]
    pub(super) image: Option<String>,
    /// Keep the cluster, also after a failure
    #[arg(long)]
    pub(super) retain: bool,
    /// Use this kubeadm in all nodes
    #[arg(long, value_name = "PATH")]
    pub(super) kubeadm: Option<PathBuf>,
    /// Use this kubelet in all nodes
    #[arg(long, value_name = "PATH")]
    pub(super) kubelet: Option<PathBuf>,
}
