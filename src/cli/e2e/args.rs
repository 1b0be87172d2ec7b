//! Their flags, which are kinder's; `--dry-run` is joinder's own.

use clap::{ArgAction, Args};

use super::super::args::NameArgs;
use super::super::pflag::go_bool;

const WHERE: &str = "ginkgo and the suite are looked for below --kube-root: in _output/bin, _output/dockerized/bin, _output/dockerized/go/bin,\n_output/local/bin, _output/local/bin/go, platforms/linux/ARCH, test/bin and the folder itself, the newest of them; where there is none,\n`make` builds it.";

/// What both have.
#[derive(Debug, Args)]
pub(super) struct SuiteArgs {
    #[command(flatten)]
    pub(super) cluster: NameArgs,
    /// Kubernetes' sources, or what its test archive was unpacked to [default: $GOPATH/src/k8s.io/kubernetes]
    // texts: for paths clap refuses what is empty
    #[arg(long, value_name = "DIR")]
    pub(super) kube_root: Option<String>,
    /// Flags for ginkgo, with spaces between them, as in '--focus=x --v=true'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, default_value = "", hide_default_value = true)]
    pub(super) ginkgo_flags: String,
    /// Flags for the suite, with spaces between them, as in '--report-dir=a --report-prefix=b'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, default_value = "", hide_default_value = true)]
    pub(super) test_flags: String,
    /// The kubeconfig that the suite gets [default: the cluster's]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<String>,
    /// Print the command and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = format!("{WHERE}\n\nExamples:\n  joinder test e2e --kube-root ~/kubernetes --test-flags=--report-dir=$ARTIFACTS\n  joinder test e2e --conformance=false --parallel --ginkgo-flags='--focus=\\[sig-node\\] --nodes=4'")
)]
pub(in super::super) struct E2eArgs {
    #[command(flatten)]
    pub(super) suite: SuiteArgs,
    /// Only what conformance asks for
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value = "true",
        default_missing_value = "true",
        value_parser = go_bool
    )]
    pub(super) conformance: bool,
    /// 16 tests at once, or as many as ginkgo's own --nodes or --procs says, and none that has to be alone
    #[arg(long)]
    pub(super) parallel: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = format!("{WHERE}\n\nExamples:\n  joinder test e2e-kubeadm --test-flags='--report-dir=out --report-prefix=e2e-kubeadm'\n  joinder test e2e-kubeadm --single-node --dry-run")
)]
pub(in super::super) struct E2eKubeadmArgs {
    #[command(flatten)]
    pub(super) suite: SuiteArgs,
    /// Leave out what needs several nodes
    #[arg(long)]
    pub(super) single_node: bool,
    /// Have also what tests uploaded certificates
    #[arg(long)]
    pub(super) automatic_copy_certs: bool,
}
