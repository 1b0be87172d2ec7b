//! What can be typed.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::build::BaseImageArgs;
use super::create_args::CreateArgs;
use super::doing::Do;
use super::e2e::{E2eArgs, E2eKubeadmArgs};
use super::value::{Partition, pair, path, rounds, seed};
use super::variant::{FilesArgs, VariantArgs};
use crate::image::{EtcdSource, Source, default_versions};
use crate::workflow::Choice;

/// Grows real kubeadm control planes in containers, watches etcd while they join, and judges what it saw.
#[derive(Debug, Parser)]
#[command(name = "joinder", version, propagate_version = true)]
#[command(
    after_help = "Start:\n  joinder build node-image\n  joinder run workflows/join/parallel.yaml\n\nExit codes: 0 passed, 100 failed, 102 undecided, 2 to 4 not started, 130 and 143 stopped; all in docs/exit-codes.md"
)]
pub(super) struct Cli {
    /// kinder's level of what it says; joinder's is `--verbose`
    #[arg(long, global = true, hide = true, value_name = "LEVEL")]
    pub(super) loglevel: Option<String>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run workflows and judge them
    Run(RunArgs),
    /// Run kinder's tests
    #[command(subcommand)]
    Test(Test),
    /// Say everything that is wrong with workflows, and touch nothing
    Lint(LintArgs),
    /// Write a workflow of version 1, kinder's language, in version 2
    Migrate(MigrateArgs),
    /// Print the JSON Schema of workflows
    Schema,
    /// Build the images that nodes are made of
    #[command(subcommand)]
    Build(Build),
    /// Make a cluster that stays
    #[command(subcommand)]
    Create(Create),
    /// Remove a cluster
    #[command(subcommand)]
    Delete(Delete),
    /// Show clusters, nodes, runs, or a kubeconfig
    #[command(subcommand)]
    Get(Get),
    /// Run one of kinder's actions on a cluster: kubeadm's commands, and what belongs around them
    #[command(subcommand)]
    Do(Do),
    /// Run a command in nodes (its standard input is empty)
    Exec(ExecArgs),
    /// Copy files into nodes, or out of one
    Cp(CpArgs),
    /// Write logs to a folder, or a kubeconfig into the user's own
    #[command(subcommand)]
    Export(Export),
    /// Watch a running cluster: members, leader, learner slot, what is used
    Watch(WatchArgs),
    /// Say whether the next control plane may join a cluster now, and why not
    Advise(AdviseArgs),
    /// Make a run's pages, traces and JUnit files anew, from its events alone
    Report(ReportArgs),
    /// Remove what dead joinder processes have left
    Gc,
    /// Check that engine, kernel and machine are fit, and say what to do where they are not
    Doctor(DoctorArgs),
    /// Print versions: joinder's, the default ones, the engine's
    Version(VersionArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
    /// Write man pages, one a verb, to a folder
    Man(ManArgs),
    /// Serve inside a node (not for people)
    #[command(hide = true)]
    Agent {
        /// Be the first process of a container without a system
        #[arg(long)]
        idle: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Test {
    /// Run a workflow as kinder does: any failure is exit code 1
    Workflow(WorkflowArgs),
    /// Run Kubernetes' own tests against a cluster, by your own ginkgo and suite
    #[command(name = "e2e")]
    E2e(E2eArgs),
    /// Run kubeadm's own tests against a cluster, by your own ginkgo and suite
    #[command(name = "e2e-kubeadm")]
    E2eKubeadm(E2eKubeadmArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Files of version 1 and 2 are run.\n\nExamples:\n  joinder test workflow regular-1.36.yaml\n  joinder test workflow regular-1.36.yaml \"$ARTIFACTS\" --verbose"
)]
pub(super) struct WorkflowArgs {
    /// The workflow's file
    #[arg(value_name = "CONFIG")]
    pub(super) config: PathBuf,
    /// Where logs and JUnit go, made if missing; empty is as if not given [default: the workflow's or $ARTIFACTS, else a new ./kinder-test-workflow*]
    // a text: for paths clap refuses what is empty
    #[arg(value_name = "ARTIFACTS")]
    pub(super) artifacts: Option<String>,
    /// Print the plan and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Show what the tasks write too
    #[arg(long)]
    pub(super) verbose: bool,
    /// Only cleanup comes after a failure, as without this flag
    #[arg(long)]
    pub(super) exit_on_task_error: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder migrate kinders.yaml\n  joinder migrate kinders.yaml -o workflow.yaml && joinder lint workflow.yaml"
)]
pub(super) struct MigrateArgs {
    /// The file of version 1
    pub(super) file: PathBuf,
    /// Where the new one goes, which must not be there yet [default: standard output]
    #[arg(long, short, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Build {
    /// Build a node image, and the load balancer's beside it
    NodeImage(NodeImageArgs),
    /// Build an image with etcd alone
    EtcdImage(EtcdImageArgs),
    /// kinder's: says what is there in its place
    #[command(name = "base-image", hide = true)]
    Base(BaseImageArgs),
    /// Make a variant of a node image: with another release, an upgrade, further images or files in it
    #[command(visible_aliases = ["node-variant", "variant", "nv"])]
    NodeImageVariant(VariantArgs),
}

#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "Examples:\n  joinder build etcd-image\n  joinder build etcd-image --version 3.5.16\n  joinder build etcd-image --source debian\n  joinder build etcd-image --source ./bin --tag etcd:mine"
)]
pub(super) struct EtcdImageArgs {
    /// etcd's version, built from its Go modules
    #[arg(long, value_name = "VERSION", default_value = default_versions::ETCD)]
    pub(super) version: String,
    /// go; debian, in the version that apt has; or the path of a folder with etcd and etcdctl, whose version is asked of them
    #[arg(long, value_name = "go|debian|PATH", default_value = "go", conflicts_with = "version")]
    pub(super) source: String,
    /// Name of the image [default: joinder/etcd:vVERSION]
    #[arg(long, value_name = "IMAGE")]
    pub(super) tag: Option<String>,
    /// Print what would be done and touch nothing
    #[arg(long)]
    pub(super) print_plan: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder build node-image\n  joinder build node-image --kubernetes v1.37.2 --etcd 3.7.3\n  joinder build node-image --kubernetes ./_output/bin --etcd ./bin"
)]
pub(super) struct NodeImageArgs {
    /// Kubernetes: a version, built from its Go modules, or a folder with the binaries
    #[arg(long, value_name = "VERSION|DIR", default_value = default_versions::KUBERNETES)]
    pub(super) kubernetes: Source,
    /// etcd: a version, built from its Go modules, or a path
    #[arg(long, value_name = "VERSION|PATH", default_value = default_versions::ETCD)]
    pub(super) etcd: EtcdSource,
    /// Name of the image [default: joinder/node:KUBERNETES-etcdETCD]
    #[arg(long, value_name = "IMAGE")]
    pub(super) tag: Option<String>,
    /// Debian mirror [default: the one of this machine's apt]
    #[arg(long, value_name = "URL")]
    pub(super) mirror: Option<String>,
    /// Print what would be done and touch nothing
    #[arg(long)]
    pub(super) print_plan: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Create {
    /// Make the nodes, run kubeadm init, and join all nodes
    Cluster(CreateArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum Delete {
    /// Remove a cluster with all that belongs to it, and its entries in a kubeconfig
    Cluster(DeleteArgs),
    /// Remove several clusters
    Clusters(DeleteManyArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  joinder delete clusters a b\n  joinder delete clusters --all")]
pub(super) struct DeleteManyArgs {
    /// Their names
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub(super) names: Vec<String>,
    /// All that there are
    #[arg(long, short = 'A', conflicts_with = "names")]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) kubeconfig: KubeconfigArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  joinder delete cluster\n  joinder delete cluster --name b")]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    pub(super) cluster: NameArgs,
    #[command(flatten)]
    pub(super) kubeconfig: KubeconfigArgs,
}

/// Which kubeconfig of the user's is meant.
#[derive(Clone, Debug, Args)]
pub(super) struct KubeconfigArgs {
    /// The kubeconfig file [default: $KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub(super) kubeconfig: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Get {
    /// All clusters
    #[command(after_help = "Examples:\n  joinder get clusters\n  joinder get clusters -o wide")]
    Clusters(OutputArgs),
    /// A cluster's nodes
    #[command(after_help = "Examples:\n  joinder get nodes --name b -o wide\n  joinder get nodes -o json")]
    Nodes {
        #[command(flatten)]
        cluster: NameArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Runs whose artifacts are in a folder, oldest first
    #[command(after_help = "Examples:\n  joinder get artifacts -o wide\n  joinder get artifacts /ci/artifacts -o json")]
    Artifacts {
        /// The folder
        #[arg(default_value = "_artifacts")]
        dir: PathBuf,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// kubeadm, kubelet, kubectl and the images of a release, of a build of CI, or out of a node image
    #[command(visible_aliases = ["release-artifacts", "ci-artifacts"])]
    BuildArtifacts(FilesArgs),
    /// Where kinder keeps a cluster's kubeconfig, whether or not it is there
    #[command(after_help = "Examples:\n  joinder get kubeconfig-path --name b")]
    KubeconfigPath {
        #[command(flatten)]
        cluster: NameArgs,
    },
    /// The administrator's kubeconfig
    #[command(after_help = "Examples:\n  joinder get kubeconfig > kubeconfig\n  joinder get kubeconfig --name b --internal")]
    Kubeconfig {
        #[command(flatten)]
        cluster: NameArgs,
        /// With the address inside the cluster's network
        #[arg(long)]
        internal: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Export {
    /// Write the nodes' journals, pod logs and manifests to a folder, secrets removed
    #[command(after_help = "Examples:\n  joinder export logs\n  joinder export logs --name b ./logs")]
    Logs {
        #[command(flatten)]
        cluster: NameArgs,
        /// The folder [default: ./_artifacts/logs-NAME]
        dir: Option<PathBuf>,
    },
    /// Merge the administrator's kubeconfig into the user's and make it the current context
    #[command(
        after_help = "Cluster, user and context are called joinder-NAME. Everything else in the file stays.\n\nExamples:\n  joinder export kubeconfig\n  joinder export kubeconfig --name b --kubeconfig ./kubeconfig"
    )]
    Kubeconfig {
        #[command(flatten)]
        cluster: NameArgs,
        #[command(flatten)]
        kubeconfig: KubeconfigArgs,
        /// With the address inside the cluster's network
        #[arg(long)]
        internal: bool,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Any cluster of joinder's, also one that is half joined or that another run works on. On a terminal it is drawn anew; else a block is printed where something changes. docs/watch.md describes the JSON.\n\nExamples:\n  joinder watch\n  joinder watch b --once\n  joinder watch b -o json | jq -c '[.at, .leader, .slot.holder]'"
)]
pub(super) struct WatchArgs {
    /// Name of the cluster
    #[arg(default_value = crate::cluster::DEFAULT_NAME)]
    pub(super) name: String,
    /// Show it once and end
    #[arg(long)]
    pub(super) once: bool,
    /// A line of JSON a second [default: for people]
    #[arg(long, short, value_enum)]
    pub(super) output: Option<WatchOutput>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "By the rules of kubeadm and etcd in the versions that run; docs/watch.md lists them. It looks for up to 8 s: etcd wants connections between voters to be 5 s old.\n\nExit codes: 0 yes, 100 no, 102 cannot tell.\n\nExamples:\n  joinder advise\n  joinder advise b -o json"
)]
pub(super) struct AdviseArgs {
    /// Name of the cluster
    #[arg(default_value = crate::cluster::DEFAULT_NAME)]
    pub(super) name: String,
    /// As JSON [default: for people]
    #[arg(long, short, value_enum)]
    pub(super) output: Option<WatchOutput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WatchOutput {
    /// JSON
    Json,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Prints the page to open. All is drawn anew from events.jsonl, and nothing is judged again: the verdicts are those of the run.\n\nExamples:\n  joinder report _artifacts/latest\n  joinder report _artifacts/k3v9x2ab --compare _artifacts/m7q2c4yd"
)]
pub(super) struct ReportArgs {
    /// A folder that a run has left: it holds events.jsonl
    pub(super) dir: PathBuf,
    /// Another one: a page with both side by side is written to the first
    #[arg(long, value_name = "DIR")]
    pub(super) compare: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  joinder doctor\n  joinder doctor --nodes 7 -o json")]
pub(super) struct DoctorArgs {
    /// For clusters of so many nodes
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) nodes: u8,
    /// How to show it [default: for people]
    #[arg(long, short, value_enum)]
    pub(super) output: Option<Output>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  joinder version\n  joinder version -o json")]
pub(super) struct VersionArgs {
    /// How to show it [default: for people]
    #[arg(long, short, value_enum)]
    pub(super) output: Option<Output>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder completion bash > /etc/bash_completion.d/joinder\n  joinder completion zsh > \"${fpath[1]}/_joinder\"\n  joinder completion fish > ~/.config/fish/completions/joinder.fish"
)]
pub(super) struct CompletionArgs {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  joinder man /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// The folder, made if missing
    #[arg(default_value = "man")]
    pub(super) dir: PathBuf,
}

#[derive(Clone, Debug, Args)]
pub(super) struct NameArgs {
    /// Name of the cluster
    #[arg(long, short, value_name = "NAME", default_value = crate::cluster::DEFAULT_NAME)]
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct OutputArgs {
    /// How to show it
    #[arg(long, short, value_enum, default_value_t = Output::Name)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// Names only
    Name,
    /// A table
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder exec joinder-control-plane-1 -- kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes\n  joinder exec @all -- crictl ps"
)]
pub(super) struct ExecArgs {
    #[command(flatten)]
    pub(super) cluster: NameArgs,
    /// all, first, secondaries, control-planes, workers, leader, followers, learner, cp2, worker1, etcd2, a node's name, or kinder's @all, '@cp*', @w1; several with commas;
    /// or @lb or @etcd, the load balancer or an etcd outside
    pub(super) node: String,
    /// Program and arguments; behind `--` where they have flags of their own
    #[arg(required = true)]
    pub(super) command: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder cp ./script.sh '@cp*:/kinder/script.sh'\n  joinder cp --name b cp1:/etc/kubernetes/admin.conf ./admin.conf"
)]
pub(super) struct CpArgs {
    #[command(flatten)]
    pub(super) cluster: NameArgs,
    /// A file or folder here, or `NODE:/PATH` of one node
    #[arg(value_name = "SRC")]
    pub(super) from: String,
    /// A path here, or `NODES:/PATH`; nodes, @lb and @etcd are named as in exec
    #[arg(value_name = "DEST")]
    pub(super) to: String,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  joinder run workflows/join/parallel.yaml\n  joinder run workflows/join/serial.yaml --kubeadm ./kubeadm\n  joinder run workflows/join/matrix.yaml --case order=parallel,controlPlanes=3 --var kubernetes=v1.37.2\n  joinder run workflows/ --list -o wide\n\nWhat a run says goes to standard error; --list and --dry-run go to standard output."
)]
pub(super) struct RunArgs {
    /// Workflow files, or folders with *.yaml and *.yml files, at any depth
    #[arg(required_unless_present = "rerun_failed", value_name = "FILE|DIR")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) vars: VarArgs,
    #[command(flatten)]
    pub(super) select: SelectArgs,
    #[command(flatten)]
    pub(super) rounds: RoundArgs,
    #[command(flatten)]
    pub(super) nodes: NodeArgs,
    /// Where events and logs go [default: $ARTIFACTS, else ./_artifacts/RUN]
    #[arg(long, value_name = "DIR")]
    pub(super) artifacts: Option<PathBuf>,
    /// Print the plan of each case and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// List the cases and touch nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) list: bool,
    /// How to list them
    #[arg(long, short, value_enum, requires = "list")]
    pub(super) output: Option<Output>,
    /// Show phases and the times of each node too
    #[arg(long, short)]
    pub(super) verbose: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  joinder lint workflows/\n  joinder lint my.yaml --var kubernetes=v1.36.3")]
pub(super) struct LintArgs {
    /// Workflow files, or folders with *.yaml and *.yml files, at any depth
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) vars: VarArgs,
}

/// Values from outside.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct VarArgs {
    /// Give a var a value; wins over the matrix and the file
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = pair)]
    pub(super) vars: Vec<(String, String)>,
}

/// Which cases.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct SelectArgs {
    /// Only the cases with these values of the matrix: 'order=parallel,n=3'; may be given several times
    #[arg(long = "case", value_name = "NAME=VALUE,…")]
    pub(super) cases: Vec<Choice>,
    /// Only this part of the cases, as in 2/6: for jobs that share a matrix
    #[arg(long, value_name = "PART/PARTS")]
    pub(super) partition: Option<Partition>,
}

/// How often, and from which seed.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct RoundArgs {
    /// Run all cases so many times, and say how many passed and how sure that is
    #[arg(long, value_name = "N", value_parser = rounds, conflicts_with = "retain")]
    pub(super) repeat: Option<NonZeroU32>,
    /// Stop behind the first case that fails; without --repeat after 1000 rounds
    #[arg(long, conflicts_with = "retain")]
    pub(super) until_fail: bool,
    /// What is random is drawn from this: round R of a run is the only round of one with SEED + R - 1 [default: a random one, in the command that runs it again]
    #[arg(long, allow_negative_numbers = true, value_parser = seed, value_name = "SEED")]
    pub(super) seed: Option<u64>,
    /// Run again what failed or was undecided in the run with these artifacts, each with the seed that it had
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "cases", "partition", "seed"])]
    pub(super) rerun_failed: Option<PathBuf>,
}

/// What the nodes are made of.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct NodeArgs {
    /// Name of the cluster, in place of the workflow's [default: joinder]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Node image, in place of choosing one by version
    #[arg(long, value_name = "IMAGE")]
    pub(super) image: Option<String>,
    /// Keep what was made, also after a failure
    #[arg(long)]
    pub(super) retain: bool,
    /// Use this kubeadm in all nodes
    #[arg(long, value_name = "PATH")]
    pub(super) kubeadm: Option<PathBuf>,
    /// Use this kubelet in all nodes
    #[arg(long, value_name = "PATH")]
    pub(super) kubelet: Option<PathBuf>,
    /// Use this etcd in all nodes
    #[arg(long, value_name = "PATH")]
    pub(super) etcd: Option<PathBuf>,
}
